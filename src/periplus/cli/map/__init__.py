"""`periplus map`: `command` parses options and runs it; `output` prints the files and URLs."""

from .command import map  # noqa: A004 - the verb

__all__ = ["map"]

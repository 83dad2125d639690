"""`periplus audit`: `command` parses options and runs it; `terminal` prints it for people."""

from .command import audit

__all__ = ["audit"]

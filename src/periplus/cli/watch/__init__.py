"""`periplus watch`: `command` parses options and runs it; `output` prints its progress."""

from .command import watch

__all__ = ["watch"]

"""Rich consoles for stdout and stderr, as every command uses them.

A terminal gets its own width. Elsewhere a line is as long as its content: a program that reads a table must get whole
URLs, so nothing is wrapped or truncated.
"""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console

from .closed_pipe import discard

_UNLIMITED = 1_000_000
"""Columns of a console that is not a terminal: more than any line has."""


class _Output(Console):
    """A console whose reader may end before it does."""

    def __init__(self, *, stderr: bool) -> None:
        stream: Any = sys.stderr if stderr else sys.stdout
        is_terminal = Console(stderr=stderr).is_terminal
        super().__init__(stderr=stderr, width=None if is_terminal else _UNLIMITED)
        self._descriptor = stream

    def on_broken_pipe(self) -> None:
        """Continue silently without stderr; without stdout, end with code 0."""
        self.quiet = True
        discard(self._descriptor.fileno())
        if not self.stderr:
            raise SystemExit(0)


def stdout_console() -> Console:
    """Return a console for results."""
    return _Output(stderr=False)


def stderr_console() -> Console:
    """Return a console for progress, notes and errors."""
    return _Output(stderr=True)

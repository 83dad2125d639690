"""Rich consoles for stdout and stderr, as every command uses them.

A terminal gets its own width. Elsewhere a line is as long as its content: a program that reads a table must get whole
URLs, so nothing is wrapped or truncated. What pages say reaches no terminal as a command: control characters, and
marks that reorder a line, are replaced wherever they are printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .closed_pipe import discard

_UNLIMITED = 1_000_000
"""Columns of a console that is not a terminal: more than any line has."""


_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey instead of show: C0 without tab and line feed, DEL, C1, and marks of direction."""


class _Output(Console):
    """A console whose reader may end before it does, and which prints nothing that a terminal would obey."""

    def __init__(self, *, stderr: bool) -> None:
        stream: Any = sys.stderr if stderr else sys.stdout
        is_terminal = Console(stderr=stderr).is_terminal
        super().__init__(stderr=stderr, width=None if is_terminal else _UNLIMITED)
        self._descriptor = stream

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with control characters in texts replaced. Rich's own control codes are kept."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else _OBEYED.sub("\ufffd", text), style, control)

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

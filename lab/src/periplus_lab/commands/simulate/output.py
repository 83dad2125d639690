"""How experiments are shown: a table on a terminal, aligned lines elsewhere, and how far they are while they run.

Results go to stdout, progress and the names of files that were written to stderr. Ctrl-C ends an experiment at once:
results come at its end, so that only files that were written by then are kept, and they are named.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from click.exceptions import Exit
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from periplus.cli.app import INTERRUPTED
from periplus.cli.consoles import stderr_console

if TYPE_CHECKING:
    from periplus_lab.simulate.results import ResultRow


def warn(text: str) -> None:
    """Print a warning on stderr."""
    stderr_console().print(Text(f"warning: {text}", style="yellow"), soft_wrap=True)


def print_json(rows: Sequence[ResultRow]) -> None:
    """Print a JSON line for each result."""
    from periplus_lab.simulate.results import json_line

    sys.stdout.buffer.write(b"".join(map(json_line, rows)))
    sys.stdout.buffer.flush()


class ExperimentProgress:
    """Says how far an experiment is: a bar on a terminal, a line every ten seconds elsewhere; all of it on stderr."""

    def __init__(self, what: str, console: Console | None = None) -> None:
        self._what = what
        self._console = console or stderr_console()
        self._began_at = self._said_at = time.monotonic()
        self._bar = (
            Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            if self._console.is_terminal
            else None
        )
        self._task = self._bar.add_task(what, total=None) if self._bar else None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
            return
        from periplus.cli.crawl.live import PLAIN_EVERY
        from periplus.view.wording import lasting

        now = time.monotonic()
        if now - self._said_at >= PLAIN_EVERY:
            self._said_at = now
            line = f"{lasting(now - self._began_at)}: {self._what}, {done / max(total, 1):.0%} done"
            self._console.print(Text(line), soft_wrap=True)


class Files:
    """The files that were written, to be listed at the end."""

    def __init__(self) -> None:
        self._paths: list[Path] = []

    def add(self, path: Path) -> None:
        """Add a file."""
        self._paths.append(path)

    def write(self, path: Path, text: str) -> None:
        """Write a file."""
        from periplus_lab.simulate.results import write_whole

        write_whole(path, text)
        self.add(path)

    def say(self) -> None:
        """Print the paths on stderr."""
        console = stderr_console()
        for path in self._paths:
            console.print(Text(f"wrote {path}"), soft_wrap=True)


@contextmanager
def stoppable(files: Files) -> Iterator[None]:
    """End an experiment on Ctrl-C with an explanation; list the files that were written in any case."""
    try:
        yield
    except KeyboardInterrupt:
        stderr_console().print(Text("interrupted: results are printed at the end, so only these files are kept:"))
        files.say()
        raise Exit(INTERRUPTED) from None
    files.say()


def per_cent(value: float, low: float | None = None, high: float | None = None) -> str:
    """63.5, or 63.5 ±0.4 where there is an interval."""
    if value != value:  # no number
        return "-"
    spread = f" ±{50 * (high - low):.1f}" if low is not None and high is not None and high > low else ""
    return f"{100 * value:.1f}{spread}"


def share_name(share: float) -> str:
    """The head of a column: 5 %, 0.1 %."""
    return f"{100 * share:g} %"

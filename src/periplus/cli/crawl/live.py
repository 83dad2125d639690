"""The display of a running crawl: a few lines that stay in place on a terminal, lines elsewhere, fewer and fewer.

Everything shown is in a `Progress`. All of it goes to stderr. Failures are reported as soon as they happen: a seed that
cannot be reached, and what a crawl is waiting for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Self

from msgspec import Struct
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from periplus.collection.progress import Progress
from periplus.collection.progress_text import hosts, progress_line, time_left, waiting_for
from periplus.collection.wording import by_source, harvest
from periplus.engine.frontier import Setback
from periplus.engine.stats import CrawlStats
from periplus.model import Url
from periplus.urls import site_of
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, lasting, pace, size, top

MAX_WATCHED = 50
"""Seeds whose sites are watched for failures: with more of them, single failures are noise."""
MAX_SHOWN = 10
"""Failures that are reported one by one in a run; all of them are in the summary at its end."""


class SeedFailures:
    """Finds failures at the sites of seeds that were not reported yet, each reason once a site.

    Before the first page, every site counts: seeds may redirect there.
    """

    def __init__(self, seeds: Sequence[Url]) -> None:
        self._sites = frozenset(map(site_of, seeds)) if len(seeds) <= MAX_WATCHED else frozenset()
        self._shown: set[tuple[str, str]] = set()

    def new(self, setbacks: Iterable[Setback], *, has_pages: bool = True) -> Iterator[Setback]:
        """The setbacks that were not shown yet. `has_pages`: some page was fetched."""
        is_watched = self._sites.__contains__ if has_pages or not self._sites else lambda _site: True
        news = (each for each in setbacks if is_watched(each.site) and (each.site, each.reason) not in self._shown)
        for setback in islice(news, MAX_SHOWN - len(self._shown)):
            self._shown.add((setback.site, setback.reason))
            yield setback


PLAIN_EVERY = 10.0
"""Seconds between two lines where there is no terminal, at first; then a tenth of the time so far."""
PLAIN_MOST = 300.0
"""Maximum seconds between two lines: a reader of a log sees within minutes whether a crawl goes on."""
WIDE = 100
"""Minimum columns for two facts a line, unless a view has its own."""
_BAR_WIDTH = 40
"""Columns of the progress bar, at most."""


class Display:
    """Shows how a crawl is going: live on a terminal, as plain lines elsewhere."""

    def __init__(self, console: Console, title: str, aside: str, view: View | None = None) -> None:
        self._console = console
        self._title = title
        self._aside = aside
        self._view = view or PAGES
        self._live = (
            Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
            if console.is_terminal
            else None
        )
        self._last = Progress(CrawlStats())
        self._said_at = 0.0
        self._is_drawing = False
        self._is_stopping = False

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        else:
            print_line(self._console, f"{self._title}  {self._aside}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        """Show the progress."""
        self._last = progress
        if self._live is not None:
            self._draw(self._live)
        elif progress.elapsed - self._said_at >= min(max(PLAIN_EVERY, self._said_at / 10), PLAIN_MOST):
            self._said_at = progress.elapsed
            print_line(self._console, self._view.plain(progress))

    def report(self, line: str) -> None:
        """Print a line that stays, above what is drawn on a terminal."""
        print_line(self._console, line, "yellow")

    def name_aside(self, aside: str) -> None:
        """Set the text beside the title."""
        self._aside = aside

    def stopping(self) -> None:
        """Show that the crawl is stopping. Called by a signal handler, perhaps while a frame is drawn."""
        self._is_stopping = True
        if self._live is None:
            print_line(self._console, STOPPING)
        elif not self._is_drawing:
            self._draw(self._live)

    def _draw(self, live: Live) -> None:
        """Draw a frame, and another if the crawl was stopped meanwhile."""
        is_stopping = not self._is_stopping
        while is_stopping != self._is_stopping:
            is_stopping = self._is_stopping
            self._is_drawing = True
            lines = screen(
                self._last, self._title, self._aside, self._console.width, is_stopping=is_stopping, view=self._view
            )
            live.update(lines, refresh=True)
            self._is_drawing = False


STOPPING = "stopping: requests under way are finished (Ctrl-C again ends at once)"
STOPS = "Ctrl-C stops and keeps everything"


Row = tuple[str, str, Text, Text]


class View(Struct, frozen=True):
    """What is shown of a crawl: rows on a terminal, each with a name, a number and two facts; a plain line elsewhere.

    `work` counts what the rate measures. With at least `wide` columns both facts are on one line.
    """

    rows: Callable[[Progress], list[Row]]
    plain: Callable[[Progress], str]
    work: Callable[[CrawlStats], int]
    wide: int = WIDE


def screen(
    progress: Progress, title: str, aside: str, width: int, *, is_stopping: bool = False, view: View | None = None
) -> RenderableType:
    """Return the lines on a terminal: the title, the rows of the view, a bar towards the limit, and how to stop."""
    head = Table.grid(expand=True, padding=(0, 1, 0, 0))
    head.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    head.add_column(justify="right", no_wrap=True)
    head.add_row(Text(title, style="bold"), Text(aside, style="dim"))
    last = Text(f"  {STOPPING}", style="yellow") if is_stopping else Text(f"  {STOPS}", style="dim")
    last.no_wrap, last.overflow = True, "ellipsis"
    view = view or PAGES
    rows = view.rows(progress)
    return Group(head, _wide(rows) if width >= view.wide else _narrow(rows), *_bar(progress), last)


def _bar(progress: Progress) -> list[RenderableType]:
    """Return a progress bar if the number of pages is limited."""
    if not progress.limit:
        return []
    pages = min(progress.limited_pages, progress.limit)
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(width=_BAR_WIDTH + 2)
    line.add_column(no_wrap=True, overflow="ellipsis")
    bar = ProgressBar(total=progress.limit, completed=pages, width=_BAR_WIDTH)
    line.add_row(Padding(bar, (0, 0, 0, 2)), Text(f"{pages / progress.limit:.0%} of {counted(progress.limit, 'page')}"))
    return [line]


def _page_rows(progress: Progress) -> list[Row]:
    tally = progress.tally
    topic: list[Row] = [("on topic", count(tally.relevant), Text(harvest(tally)), Text())] if tally.appraised else []
    return [
        ("pages", count(progress.tally.pages), _pages(progress), _errors(progress.tally)),
        *topic,
        (
            "known",
            count(progress.known),
            Text(by_source(progress.tally.sources, progress.known)),
            Text(f"queue {count(progress.queued_pages)}"),
        ),
        *host_rows(progress),
    ]


def host_rows(progress: Progress) -> list[Row]:
    """Return the last two rows of any crawl: hosts, and bytes with the time left."""
    return [
        ("hosts", count(progress.sites), Text(hosts(progress)), Text(_next(progress))),
        ("bytes", size(progress.tally.downloaded), Text(_time(progress)), Text()),
    ]


def _wide(rows: list[Row]) -> Table:
    grid = _grid()
    grid.add_column(no_wrap=True, overflow="ellipsis", justify="right")
    for name, number, facts, aside in rows:
        grid.add_row(f"  {name}", Text(number, style="bold"), "▏", facts, aside)
    return grid


def _narrow(rows: list[Row]) -> Table:
    grid = _grid()
    for name, number, facts, aside in rows:
        grid.add_row(f"  {name}", Text(number, style="bold"), "▏", facts)
        if aside.plain:
            grid.add_row("", "", "▏", aside)
    return grid


def _grid() -> Table:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    return grid


def _pages(progress: Progress) -> Text:
    tally = progress.tally
    facts = f"{pace(progress.rate)}   new {count(tally.new)}  changed {count(tally.changed)}"
    return Text(f"{facts}  same {count(tally.same)}  dup {count(tally.copies)}")


def _errors(tally: CrawlStats) -> Text:
    total = sum(tally.errors.values())
    if not total:
        return Text("no errors", style="dim")
    return Text(f"errors {count(total)} ({top(tally.errors)})", style="yellow")


def _next(progress: Progress) -> str:
    if waiting := waiting_for(progress):
        return waiting
    if progress.next_site is None or progress.next_in is None or progress.ready:
        return ""
    return f"next: {progress.next_site} in {progress.next_in:.1f} s"


def _time(progress: Progress) -> str:
    return ", ".join(filter(None, [f"{lasting(progress.elapsed)} so far", time_left(progress)]))


PAGES = View(_page_rows, progress_line, lambda tally: tally.pages)
"""The display of a crawl for pages."""

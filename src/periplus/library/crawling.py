"""A crawl as a program runs it: a thread runs it, the program iterates over the pages that were stored.

The thread runs the same `CrawlRun` as the command line. Pages are read from the collection once their shard has
committed them, so a slow program never delays a request, and what it was given is safe. Leaving the block stops the
crawl as one Ctrl-C does on the command line: requests under way end, and everything is kept.

A page counts as handled when the program asks for the next one or leaves the loop normally. The next crawl of the same
collection hands over what was stored but not handled, so a program that stops or crashes misses no page. After a crash
it may get some pages again: those since the positions were last saved.

The state of a shard that runs in this process cannot be opened a second time here. A collection that is read meanwhile
asks its crawl how far the tables are committed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec

from periplus.collection import collection as plans
from periplus.collection.crawl_parts import prepared
from periplus.collection.progress import Progress
from periplus.collection.progress_text import progress_line
from periplus.collection.running import CrawlRun
from periplus.collection.summary import Summary
from periplus.engine import sharding
from periplus.engine.plugins import OwnParts
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding import Gather
from periplus.model import CollectionDamaged, UsageError
from periplus.store.durable import write_file
from periplus.store.export.captures import Arrival, Arrivals, Capture, Positions, ends, find_original, valid_positions
from periplus.store.items import ItemWriter, positions_of_items
from periplus.store.layout import Layout
from periplus.store.tables import Spooled
from periplus.store.tables.tail import Position
from periplus.view.notebook import ProgressLine

from .page import Page

SAVE_INTERVAL: Final = 5.0
"""Seconds between two saves: how much work a crash repeats, against a small file written while pages are handled."""


class Handover:
    """The positions up to which pages were handled, of one collection."""

    def __init__(self, layout: Layout, spooled: Sequence[Spooled], *, extracts: bool) -> None:
        self._path = layout.handed_over
        self.positions: Positions = _begin(layout, spooled, extracts=extracts)
        self._saved_at = time.monotonic()

    def handled(self, shard: int, position: Position) -> None:
        """Record that a page was handled."""
        self.positions[shard] = position

    @property
    def is_due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() >= self._saved_at + SAVE_INTERVAL

    def save(self) -> None:
        """Write the positions, whole or not at all."""
        write_file(self._path, msgspec.json.encode(self.positions))
        self._saved_at = time.monotonic()


def _begin(layout: Layout, spooled: Sequence[Spooled], *, extracts: bool) -> Positions:
    """The positions where the last program stopped; in a collection that none has iterated over, its present end."""
    saved = _saved(layout)
    if saved is None:
        return ends(spooled)
    if extracts:
        saved = furthest(saved, positions_of_items(layout.tables))
    return valid_positions(saved, spooled)


def _saved(layout: Layout) -> Positions | None:
    try:
        return msgspec.json.decode(layout.handed_over.read_bytes(), type=Positions)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        hint = f"remove {layout.handed_over}: pages stored from then on are handed over"
        raise CollectionDamaged(f"{layout.handed_over} is damaged", hint=hint) from error


def furthest(one: Mapping[int, Position], other: Mapping[int, Position]) -> Positions:
    """The later position of each shard."""
    first = Position()
    return {shard: max(one.get(shard, first), other.get(shard, first)) for shard in {*one, *other}}


class RunningCrawl(Protocol):
    """The part of a running crawl that a collection uses."""

    @property
    def spooled(self) -> tuple[Spooled, ...]:
        """How far each shard has committed its rows."""


_CRAWLS: dict[Path, RunningCrawl] = {}


def register(folder: Path, crawl: RunningCrawl) -> None:
    """A crawl of this folder runs now."""
    _CRAWLS[folder.resolve()] = crawl


def unregister(folder: Path) -> None:
    """Remove the crawl of a folder, which has ended."""
    _CRAWLS.pop(folder.resolve(), None)


def running_crawl(folder: Path) -> RunningCrawl | None:
    """The crawl of this folder, if one runs in this process."""
    return _CRAWLS.get(folder.resolve())


_LOOK_AGAIN = 0.5
"""Seconds after which a waiting program looks for an interrupt (Ctrl-C), in case no shard reports."""

Extract = Callable[[Page], Any]
"""Makes items of a page: a dict, a list of dicts, or `None`."""
Gathering = Callable[[plans.CollectionSetup], AbstractContextManager[tuple[plans.CollectionSetup, Gather | None]]]
"""Chooses where the shards run."""


def items_of(extract: Extract | None, page: Page) -> list[dict[str, Any]]:
    """The items that a function makes of a page. Raises `UsageError` if it raises."""
    if extract is None:
        return []
    try:
        made = extract(page)
        return [] if made is None else [made] if isinstance(made, dict) else list(made)
    except Exception as error:
        own = error.hint if isinstance(error, UsageError) else ""
        raise UsageError(
            f"extract= raised {type(error).__name__} for {page.url}: {error}",
            hint=own or "fix the function and crawl into the same folder again: it continues with this page",
        ) from error


class Crawl:
    """A crawl that was planned and begins with the block: `with periplus.crawl(...) as crawl: for page in crawl: ...`.

    Also `async with` and `async for`. `summary` is there after the block. Without a loop, `run` crawls to the end.
    """

    def __init__(
        self,
        plan: plans.CollectionSetup,
        parts: OwnParts,
        *,
        extract: Extract | None = None,
        gathering: Gathering | None = None,
        watches: bool = False,
    ) -> None:
        self._plan = plan
        self._watches = watches
        self._parts = parts
        self._extract = extract
        self._gathering: Gathering = gathering or (lambda plan: nullcontext((plan, None)))
        self._layout = Layout(plan.folder)
        self._held = ExitStack()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._crawl: sharding.ShardedCrawl | None = None
        self._run: CrawlRun | None = None
        self._spooled: tuple[Spooled, ...] = ()
        self._looks = 0
        self._is_stopping = False
        self._is_over = False
        self._error: BaseException | None = None
        self._summary: Summary | None = None
        self._stream: Iterator[Page] | None = None
        self._items = ItemWriter(self._layout.tables)
        self._pending: tuple[Arrival, Page, list[dict[str, Any]]] | None = None
        self._line = ProgressLine()

    # the block

    def __enter__(self) -> Self:
        """Begin, or continue."""
        if self._thread is not None:
            raise UsageError("this crawl has begun before", hint="call periplus.crawl again: the same out continues")
        with ExitStack() as opened:
            opened.enter_context(plans.held(self._plan.folder))
            self._plan, gather = opened.enter_context(self._gathering(self._plan))
            self._parts.check_sendable(self._plan.workers)
            self._plan = prepared(self._plan)
            if not self._watches:  # a watch has settings of its own for the run, and has saved the others
                self._plan.save()
            self._spooled = self._layout.spooled
            self._handover = Handover(self._layout, self._spooled, extracts=self._extract is not None)
            self._run = CrawlRun(self._plan, gather=gather, parts=self._parts, watches=self._watches)
            self._held = opened.pop_all()
        register(self._plan.folder, self)
        self._thread = Thread(target=self._work, args=(self._run,), name="periplus-crawl", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop gracefully if it is not over, and keep everything. An error of the crawl itself is raised here."""
        self.stop()
        self._finish(is_error=error is not None)
        if self._error is not None and error is None:
            raise self._error

    async def __aenter__(self) -> Self:
        """As `__enter__`, without blocking the event loop."""
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As `__exit__`, without blocking the event loop."""
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def stop(self) -> None:
        """Stop soon: no new requests, those under way end. Any thread may call this."""
        self._is_stopping = True
        if self._crawl is not None and not self._is_over:
            self._crawl.stop()

    def run(self) -> Summary:
        """Crawl to the end without handing pages to the caller (`extract=` still sees them)."""
        with self:
            if self._extract is not None:
                for _ in self:
                    pass
            elif self._thread is not None:
                while self._thread.is_alive():
                    self._thread.join(_LOOK_AGAIN)
                    self._show()
                self._show(is_last=True)
        return self.summary

    # what it did

    @property
    def has_begun(self) -> bool:
        """Whether its block was entered."""
        return self._thread is not None

    @property
    def summary(self) -> Summary:
        """What was done, after the block: what `periplus crawl --json` prints."""
        if self._summary is None:
            raise UsageError("the crawl has no summary yet", hint="read it after the `with` block")
        return self._summary

    @property
    def progress(self) -> Progress:
        """How far the crawl is: pages, rate, queue, time left."""
        if self._run is None:
            raise UsageError("the crawl has not begun", hint="use it in a `with` block")
        return self._run.progress

    @property
    def spooled(self) -> tuple[Spooled, ...]:
        """How far each shard has committed its rows."""
        return self._spooled

    # pages

    def __iter__(self) -> Iterator[Page]:
        """The pages in the order in which they are stored, until the crawl is over."""
        return self._pages()

    def __aiter__(self) -> AsyncIterator[Page]:
        """As `__iter__`, without blocking the event loop: pages arrive parsed."""
        return self._pages_async()

    async def _pages_async(self) -> AsyncIterator[Page]:
        pages = map(_parsed, self._pages())
        while (page := await asyncio.to_thread(next, pages, None)) is not None:
            yield page

    def _pages(self) -> Iterator[Page]:
        """One stream for all loops over this crawl: a second loop goes on where the first stopped."""
        if self._thread is None:
            raise UsageError(
                "the crawl has not begun", hint="with periplus.crawl(...) as crawl: for page in crawl: ..."
            )
        if self._stream is None:
            self._stream = self._handed_over()
        return self._stream

    def _handed_over(self) -> Iterator[Page]:
        """Yield page after page. A page counts as handled when the next is requested."""
        for arrival in self._arrivals():
            page = Page(arrival.capture, self._layout.warc, self._with_body)
            self._pending = arrival, page, items_of(self._extract, page)
            yield page
            self._handle_pending()
            if self._items.is_full or self._handover.is_due:
                self._save_handled()

    def _handle_pending(self) -> None:
        """The program is done with the page that it got last."""
        if self._pending is not None:
            arrival, page, items = self._pending
            self._pending = None
            self._items.add(arrival.capture.url, page.fetched_at, items, time.time())
            self._handover.handled(arrival.shard, arrival.position)

    def _save_handled(self) -> None:
        """Items first: their file has the positions, too, so a crash in between extracts no page twice."""
        self._items.flush(self._handover.positions)
        self._handover.save()

    def _arrivals(self) -> Iterator[Arrival]:
        """Every page that was stored and not handled before, until the crawl is over."""
        arrivals = Arrivals(self._layout.tables, self._handover.positions)
        for spooled in self.commits():
            yield from arrivals.take(spooled)

    def commits(self) -> Iterator[tuple[Spooled, ...]]:
        """How far the shards have committed their rows, each time that they went on, until the crawl is over."""
        looked = -1
        while True:
            with self._changed:
                while self._looks == looked and not self._is_over:
                    self._changed.wait(_LOOK_AGAIN)
                    self._show()
                looked, is_over, spooled = self._looks, self._is_over, self._spooled
            yield spooled
            if is_over:
                break
        self._show(is_last=True)
        if self._error is not None:
            raise self._error

    def _show(self, *, is_last: bool = False) -> None:
        """Show the progress in a notebook."""
        if self._run is not None and self._crawl is not None:
            self._line.show(progress_line(self._run.progress), is_last=is_last)

    def _with_body(self, capture: Capture) -> Capture:
        return find_original(self._layout.tables, self._spooled, capture)

    # the thread

    def _work(self, run: CrawlRun) -> None:
        """Run the crawl to its end, and wake the program whenever something was committed."""
        try:
            with run:
                self._crawl = run.open()
                if self._is_stopping:
                    self._crawl.stop()
                for statuses in self._crawl.progress():
                    run.read(statuses)
                    self._note(statuses)
            self._summary = run.end()
        except BaseException as error:  # it is raised in the program's own thread
            self._error = error
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def _note(self, statuses: list[ShardStatus]) -> None:
        """Remember how far the shards have committed."""
        marks = {shard.shard: shard for shard in self._spooled}
        for status in statuses:
            marks[status.shard] = Spooled(status.shard, self._layout.spool(status.shard), status.tables)
        with self._changed:
            self._spooled = tuple(marks[number] for number in sorted(marks))
            self._looks += 1
            self._changed.notify_all()

    def _finish(self, *, is_error: bool) -> None:
        """Wait for the thread, save what was handled, and release the collection.

        The page that the program got last counts as handled, unless the program failed with it.
        """
        if self._thread is not None:
            self._thread.join()
        try:
            if not is_error:
                self._handle_pending()
            if self._stream is not None:
                self._save_handled()
        finally:
            unregister(self._plan.folder)
            self._held.close()


def _parsed(page: Page) -> Page:
    """The page, read from the archive and parsed in this thread; one that cannot be read says so when it is asked."""
    with suppress(CollectionDamaged):
        _ = page.content
    return page

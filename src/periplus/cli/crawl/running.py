"""A crawl that a command runs: progress on the terminal, seeds that fail, signals, and the exit code.

Signals: the first Ctrl-C (or SIGTERM) lets what is under way end and keeps everything; the second ends at once, which
loses nothing either but what was under way.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from periplus.collection.collection import CollectionSetup
from periplus.collection.progress import Progress
from periplus.collection.progress_text import expected, setback_line
from periplus.collection.resizing import MAX_SHARDS
from periplus.collection.running import CrawlRun
from periplus.collection.summary import Summary
from periplus.collection.wording import dried_up
from periplus.engine.plugins import NO_PARTS, OwnParts
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding import Gather, ShardedCrawl, tune_garbage_collection
from periplus.view.terminal import print_line

from .. import INTERRUPTED, NOTHING_FETCHED
from .live import PAGES, Display, SeedFailures, View
from .resizing import resized, until_asked


def run(
    collection: CollectionSetup,
    console: Console,
    *,
    title: str = "",
    view: View = PAGES,
    watches: bool = False,
    revisits_only: bool = False,
    gather: Gather | None = None,
    most: int = MAX_SHARDS,
    parts: OwnParts = NO_PARTS,
    tell: Callable[[Progress], None] = lambda _progress: None,
    follow: Callable[[Sequence[ShardStatus]], None] | None = None,
) -> Summary:
    """Crawl, and show the progress. The caller holds the lock of the collection. `tell` is called at every step.

    `gather` runs the shards, by default as processes of this machine; `most` is the maximum number of shards.
    `follow` is called with the statuses of all shards after each commit.
    """
    parts = replace(parts, credentials=collection.credentials)
    running = CrawlRun(
        collection, watches=watches, revisits_only=revisits_only, gather=gather, parts=parts, work=view.work
    )
    tune_garbage_collection()
    title = title or title_of("crawl", collection)
    failures = SeedFailures(collection.seeds)
    asked: CollectionSetup | None = collection
    is_dry = False
    if view is PAGES:
        print_line(console, expected(collection, running.progress.tally))
    with running, Display(console, title, _aside(collection), view) as display:
        display.show(running.progress)
        while asked is not None:
            collection = asked
            display.name_aside(_aside(collection))
            crawl = running.open(collection)
            with _stoppable(crawl, display, console):
                for statuses in until_asked(crawl, collection.layout, most, console):
                    if statuses:
                        progress = running.read(statuses)
                        display.show(progress)
                        # Until every shard has reported, it is not known whether the crawl ends without a retry.
                        setbacks = progress.setbacks if len(statuses) >= collection.workers else ()
                        for setback in failures.new(setbacks, has_pages=progress.tally.pages > 0):
                            display.report(setback_line(setback, progress.at, is_last=crawl.is_unreachable))
                        if not is_dry and (warning := dried_up(progress.tally)):
                            is_dry = True
                            display.report(warning)
                        tell(progress)
                        if follow is not None:
                            follow(statuses)
            asked = None if crawl.is_interrupted else resized(collection, lambda: running.elapsed, console)
    return running.end()


def signed_in(
    collection: CollectionSetup, parts: OwnParts, login: Path | None, cookies: Path | None
) -> tuple[CollectionSetup, OwnParts]:
    """A collection with the credentials of these files, and the parts of its crawl with their session."""
    if login is None and cookies is None:
        return collection, parts
    from periplus.library.credentials import access_for

    given, session = access_for(collection.seeds, cookies=cookies, login=login)
    collection = replace(collection, credentials=collection.credentials.merged(given))
    return collection, replace(parts, session=session)


def exit_code(summary: Summary) -> int:
    """Return 130 if it was interrupted, 1 if nothing could be fetched or no login succeeded, else 0."""
    if summary.ended == "interrupted":
        return INTERRUPTED
    return 0 if summary.pages and not summary.has_failed_login else NOTHING_FETCHED


@contextmanager
def _stoppable(crawl: ShardedCrawl, display: Display, console: Console) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the crawl: first gently, then at once."""

    def on_signal(*_: object) -> None:
        if crawl.is_interrupted:
            _end_at_once(console)
        crawl.stop()
        display.stopping()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _end_at_once(console: Console) -> None:
    """Exit as if killed, which a collection survives; the shards are killed, too, so that it is no longer in use."""
    for child in multiprocessing.active_children():
        child.kill()
    console.show_cursor(True)
    os.write(sys.stderr.fileno(), b"\nstopped at once; the same command continues\n")
    os._exit(INTERRUPTED)


def title_of(verb: str, collection: CollectionSetup) -> str:
    """Return the command line of a crawl, shortened."""
    first, *others = collection.seeds
    more = f" and {len(others):,} more" if others else ""
    return f"periplus {verb} {first}{more} -o {collection.folder}"


def _aside(collection: CollectionSetup) -> str:
    workers = collection.workers
    delay = f"{collection.config.politeness.delay:g} s a host"
    return f"{workers} shard{'s' if workers > 1 else ''} · polite: {delay}"

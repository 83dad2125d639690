"""Changes the number of shards of a collection, at once or in the middle of a running crawl, and restarts shards.

The command that runs a crawl looks for a request between two status reports of the shards (`until_asked`), lets the
crawl end as if its time were over, resizes, and continues. Shards are restarted while the crawl goes on.

Ray is loaded only here, and only if a cluster is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace
from rich.console import Console

from periplus.collection.clusters import installed_cluster
from periplus.collection.collection import CollectionSetup
from periplus.collection.resizing import MAX_SHARDS, Resized, ResizingStep, requested, resize
from periplus.collection.restarting import RestartRequest, begin_restart, drop_restart, end_restart, requested_restart
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding import Gather, ShardedCrawl
from periplus.model import CollectionInUse
from periplus.store.layout import Layout
from periplus.view.terminal import print_line
from periplus.view.wording import counted, lasting

from ..consoles import stderr_console
from .live import PLAIN_EVERY


@contextmanager
def gathering(address: str | None, collection: CollectionSetup) -> Iterator[tuple[CollectionSetup, Gather | None, int]]:
    """The collection, the function that runs its shards (`None`: on this machine), and the maximum number of shards.

    A collection that is begun on a cluster without a number of shards gets one for each of its processors.
    """
    if address is None:
        yield collection, None, MAX_SHARDS
        return
    words = "Ray begins on this machine ..." if address == "local" else f"connecting to Ray at {address} ..."
    stderr_console().print(words, style="dim", highlight=False)
    asked = collection.config.crawl.workers
    lease = collection.config.cluster.lease
    coordinator = collection.layout.coordinator.resolve()
    team = installed_cluster().gathered(address, coordinator, asked or collection.workers, lease)
    with team as (gather, processors):
        config = collection.config.with_options({"crawl.workers": asked or processors})
        yield replace(collection, config=config), gather, MAX_SHARDS if address == "local" else processors


_PATIENCE = 15.0
"""Seconds within which stopped shards must have closed."""
_LOOK_AGAIN = 0.1


def until_asked(crawl: ShardedCrawl, layout: Layout, most: int, console: Console) -> Iterator[list[ShardStatus]]:
    """Yield the status of a crawl until it is over, or until another number of shards is requested, which ends it.

    A request for more than `most`, or for as many as there are, is dropped. Shards are restarted if that is requested.
    """
    restarting: RestartRequest | None = None
    drop_restart(layout)
    for statuses in crawl.progress():
        restarting = _restarted(crawl, layout, restarting, console)
        shards = None if crawl.is_stopping else requested(layout)
        if shards is not None and shards > most:
            layout.resize_request.unlink(missing_ok=True)
            say(console, f"{shards} shards were asked for, and the cluster has {most} processors: nothing is changed")
        elif shards == layout.shards:
            layout.resize_request.unlink(missing_ok=True)
        elif shards is not None:
            crawl.is_stopping = True
        yield statuses


def _restarted(
    crawl: ShardedCrawl, layout: Layout, restarting: RestartRequest | None, console: Console
) -> RestartRequest | None:
    """Begin a requested restart of the shards, or end one that is done; the one that is under way."""
    if restarting is not None:
        if crawl.is_restarting:
            return restarting
        end_restart(layout, restarting, crawl.restart_failure)
        say(console, crawl.restart_failure or f"all shards were restarted, by Periplus {restarting.build.version}")
        return None
    asked = requested_restart(layout)
    if asked is None or asked.refused or crawl.is_stopping:
        return None
    refusal = begin_restart(crawl, layout, asked)
    say(console, refusal or "the shards are restarted one after the other")
    return None if refusal else asked


def resized(collection: CollectionSetup, elapsed: Callable[[], float], console: Console) -> CollectionSetup | None:
    """Resize the collection if that was requested: the collection to continue with, or `None` without a request.

    `elapsed` returns the seconds since the crawl began; if it has a duration, the rest of it is left to crawl.
    """
    shards = requested(collection.layout)
    if shards is None:
        return None
    began = time.monotonic()
    try:
        done = resize_patiently(collection, shards, ProgressReporter(console))
    except KeyboardInterrupt:
        say(console, f"stopped on the way: periplus cluster resize {collection.folder} {shards} goes on")
        raise
    say(console, line_of(done, time.monotonic() - began))
    asked: dict[str, object] = {"crawl.workers": shards}
    if collection.config.crawl.duration:
        asked["crawl.for"] = max(collection.config.crawl.duration - elapsed(), 0.001)
    return replace(collection, config=collection.config.with_options(asked))


def resize_patiently(collection: CollectionSetup, shards: int, tell: Callable[[ResizingStep], None]) -> Resized:
    """Resize, as soon as shards that are about to end have ended."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return resize(collection.config, collection.folder, collection.seeds, shards, tell)
        except CollectionInUse:
            if time.monotonic() > until:
                raise
        time.sleep(_LOOK_AGAIN)


class ProgressReporter:
    """Reports progress every few seconds; on a terminal, more often."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._every = 1.0 if console.is_terminal else PLAIN_EVERY
        self._next = time.monotonic() + self._every

    def __call__(self, step: ResizingStep) -> None:
        """Print the progress, if the last time is long enough ago."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            say(self._console, words_of(step))


def words_of(step: ResizingStep) -> str:
    """Words for the progress of a resize."""
    if step.doing == "rest":
        return f"shard {step.shard} of {step.shards} comes to rest"
    sites, urls, rows = step.moved.sites, step.moved.urls, step.moved.rows
    moved = f"{counted(sites, 'site')}, {counted(urls, 'URL')}, {counted(rows, 'row')} moved"
    return f"shard {step.shard} of {step.shards} gives: {moved}" if step.doing == "move" else f"finishing: {moved}"


def line_of(done: Resized, seconds: float) -> str:
    """What was done."""
    if done.before == done.after:
        return f"there are {done.after} shards already"
    return (
        f"from {done.before} to {counted(done.after, 'shard')}: {counted(done.sites, 'site')} with "
        f"{counted(done.urls, 'URL')} moved, in {lasting(seconds)}"
    )


def say(console: Console, line: str) -> None:
    """Print a line without wrapping it."""
    print_line(console, line)

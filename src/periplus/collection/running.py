"""One run of a crawl, from its opening to its summary: what the command line and programs have in common.

The caller holds the lock of the collection, iterates over `progress` of the crawl that `open` returns, gives each list
of statuses to `read`, and calls `end` once. Between two crawls of one run the number of shards may change. In a `with`
block the run answers on its control socket (`control`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from msgspec import to_builtins
from msgspec.structs import replace

from periplus.engine.clock import SystemClock
from periplus.engine.plugins import NO_PARTS, OwnParts
from periplus.engine.shard import Controls, ShardStatus
from periplus.engine.sharding import Gather, ShardedCrawl
from periplus.engine.stats import CrawlStats
from periplus.store.export.pdf_reader import warn_without_reader

from .announcing import CRAWL_ENDED, PAGES_CHANGED, announce, open_work
from .background import BackgroundJobs
from .collection import CollectionSetup, tally_of
from .control_server import ControlServer
from .opening import open_crawl, settle
from .progress import Meter, Progress
from .summary import Summary, summary_of

log = logging.getLogger(__name__)

ANNOUNCED_EVERY = 60.0
"""Seconds after which a watch tells the parts what it found."""
RATES_KEPT = 300
"""Rates that are kept, one a second: a page that shows them begins with five minutes."""


class CrawlRun:
    """Opens the crawl of a collection and measures it.

    Times and rates come from a `SystemClock`, as in the shards: setting the machine's clock changes none of them.
    `work` counts what the rate measures, by default pages; `gather` runs the shards, by default processes of this
    machine.
    """

    def __init__(
        self,
        collection: CollectionSetup,
        *,
        watches: bool = False,
        revisits_only: bool = False,
        gather: Gather | None = None,
        parts: OwnParts = NO_PARTS,
        work: Callable[[CrawlStats], int] | None = None,
    ) -> None:
        self.collection = collection
        self._watches = watches
        self._revisits_only = revisits_only
        self._gather = gather
        self._parts = parts
        self._before = tally_of(collection.layout)
        self._clock = SystemClock()
        self.began_at = self._clock.now()
        limit = collection.config.crawl.limit
        self._meter = Meter(self.began_at, limit=limit, before=self._before, work=work)
        self._jobs = BackgroundJobs(collection, self._before.pages, self.began_at)
        self._crawl: ShardedCrawl | None = None
        self._announced, self._announced_at = self._before, self.began_at
        self._server: ControlServer | None = None
        self.controls = Controls()
        """What clients of the control socket have asked for in this run."""
        self.kind = "watch" if watches else "refresh" if revisits_only else "crawl"
        revisits = self._before.revisits
        self.rates: tuple[float, ...] = ()
        """The rate in each of the last seconds."""
        self._rated = 0
        self.progress = Progress(self._before, shards=collection.workers, limit=limit, revisits_before=revisits)

    def __enter__(self) -> Self:
        """Listen on the control socket; a file system without sockets only costs that."""
        if self.collection.config.media.pdf:
            warn_without_reader()
        try:
            self._server = ControlServer(self)
        except OSError as error:
            log.warning("no control socket in %s: %s", self.folder, error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()

    @property
    def folder(self) -> Path:
        """The collection."""
        return self.collection.folder

    @property
    def crawl(self) -> ShardedCrawl | None:
        """The crawl that was opened last."""
        return self._crawl

    def open(self, collection: CollectionSetup | None = None) -> ShardedCrawl:
        """The crawl, to be iterated over; of the same collection with another number of shards, if one is given."""
        self.collection = collection or self.collection
        current = self.collection
        self._crawl = open_crawl(
            current.config,
            current.folder,
            current.seeds,
            current.workers,
            watches=self._watches,
            revisits_only=self._revisits_only,
            gather=self._gather,
            parts=self._parts,
            ends_unreachable=not self._watches,
        )
        if self.controls != Controls():
            self._crawl.control(self.controls)
        return self._crawl

    def read(self, statuses: Sequence[ShardStatus]) -> Progress:
        """The progress up to now, from the statuses of all shards; the last progress if none has reported yet."""
        if statuses:
            self.progress = self._meter.read(statuses, self._clock.now())
            new = min(int(self.elapsed) - self._rated, RATES_KEPT)
            self.rates = (*self.rates, *[round(self.progress.rate, 1)] * new)[-RATES_KEPT:]
            self._rated = int(self.elapsed)
            cpu_seconds = sum(status.cpu_seconds for status in statuses)
            self._jobs.check(self.progress.tally.pages, self._clock.now(), cpu_seconds)
            if self._watches and self._clock.now() >= self._announced_at + ANNOUNCED_EVERY:
                facts = self._changes_found()
                if facts:  # in a thread: a part may wait for a receiver
                    told = (self.collection, PAGES_CHANGED, facts)
                    Thread(target=announce, args=told, name="periplus-changes", daemon=True).start()
        return self.progress

    def _changes_found(self) -> dict[str, object]:
        """How many pages a watch found changed since this was last asked; empty if none."""
        tally, before, since = self.progress.tally, self._announced, self._announced_at
        self._announced, self._announced_at = tally, self._clock.now()
        changed, new = tally.changed - before.changed, tally.new - before.new
        return {"since": since, "changed": changed, "new": new} if changed > 0 or new > 0 else {}

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock.now() - self.began_at

    def end(self) -> Summary:
        """After the last shard has closed: index the archive, let jobs learn, and return the summary."""
        settle(self.collection.folder)
        is_interrupted = self._crawl is not None and self._crawl.is_interrupted
        self._jobs.end(self.progress.tally.pages, self._clock.now(), is_interrupted=is_interrupted)
        summary = summary_of(
            self.collection,
            self.progress,
            self._before,
            self.elapsed,
            is_interrupted=is_interrupted,
            is_unreachable=self._crawl is not None and self._crawl.is_unreachable,
        )
        if summary.ended == "complete":
            summary = replace(summary, open_work=open_work(self.collection))
        if self._watches and (facts := self._changes_found()):
            announce(self.collection, PAGES_CHANGED, facts)
        if not self._watches and not self._revisits_only:
            announce(self.collection, CRAWL_ENDED, to_builtins(summary))
        return summary

"""The lab watched for weeks in seconds: time passes only while the crawl waits, and then all at once.

`Leaping` is the wire of the real engine on the lab's own clock, which stands still while requests are under way: they
really go to the lab and its answers really come back, and take no time. When nothing is under way the clock goes to the
moment for which the engine waits. So nothing that happens on the machine shows in what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.fetch import CurlWire
from periplus.model import ChangeLevel, FetchOutcome, Freshness, UrlRecord
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

DAY = 86_400.0
_LEAP = 500.0
"""Seconds of the lab for one that the engine wants to wait: it never wants more than a fraction of one."""
OPTIONS: dict[str, object] = {
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "politeness.lease": 1e8,
    "engine.checkpoint_interval": 20_000.0,
}


class LabTime:
    """The clock of the lab, as that of a crawl."""

    speed = _LEAP

    def __init__(self, clock: SteppedClock) -> None:
        self.clock = clock

    def now(self) -> float:
        """When it is there."""
        return self.clock.now()


class Leaping(CurlWire):
    """The real wire; while it would wait for nothing, time passes."""

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Let everything land that is in the air; then leap."""
        ended = super().finished(0.0)
        for _ in range(100):  # who streams a file waits for its reader
            if not self.under_way:
                break
            ended += super().finished(0.02)
        if not ended and not self.under_way:
            assert isinstance(self._clock, LabTime)
            self._clock.clock.advance(max(timeout * _LEAP, 0.001))  # a time to come may be nearer than numbers tell
        return sorted(ended, key=lambda outcome: (outcome.task.url, outcome.task.probe))  # whichever was faster


class Moment(NamedTuple):
    """What a watch said at a time, and what was true: the shares of fresh pages."""

    day: float
    told: Freshness
    fresh: float
    pages: int
    requests: int


class Watched:
    """A web that is crawled once and then watched, in the lab's own time."""

    def __init__(self, world: World, lab: RunningLab, folder: Path, options: dict[str, object]) -> None:
        self.world, self.lab, self.folder = world, lab, folder
        assert isinstance(lab.clock, SteppedClock)
        self.clock = lab.clock
        self._config = Config().with_options({"wire.proxy": lab.base} | OPTIONS | options)
        self._config.check()
        self._seeds = seeds_from([site.url for site in world.sites()])
        self._began_at = 0.0
        self._before = 0

    def crawl(self) -> None:
        """All there is, once."""
        open_crawl(self._config, self.folder, self._seeds, 1).run()
        settle(self.folder)
        self._began_at, self._before = self.clock.now(), self.lab.log.total

    def watch(self, days: float) -> Moment:
        """Go on watching for so long; how it stands then."""
        until = self.clock.now() + days * DAY
        crawl = open_crawl(self._config, self.folder, self._seeds, 1, watches=True)
        told: Freshness | None = None
        for [status] in crawl.progress():
            told = status.freshness or told
            if self.clock.now() >= until:
                crawl.stop()
        assert told is not None
        fresh = [self.is_fresh(record) for record in self.records()]
        day = (self.clock.now() - self._began_at) / DAY
        return Moment(day, told, sum(fresh) / len(fresh), len(fresh), self.lab.log.total - self._before)

    def records(self) -> list[UrlRecord]:
        """Those of the pages that are kept."""
        state = DiskState.read_only(Layout(self.folder).shard(0))
        records = [record for site in state.sites for record in state.records.of_site(site.site)]
        state.close()
        return [record for record in records if record.evidence and record.status in (200, 304)]

    def is_fresh(self, record: UrlRecord) -> bool:
        """Whether a copy says what its page says now."""
        assert record.fetched_at is not None
        return self.world.change_level(record.url, record.fetched_at, self.clock.now()) < ChangeLevel.MAJOR


@contextmanager
def watched(world: World, folder: Path, options: dict[str, Any]) -> Iterator[Watched]:
    """A running lab with a clock that stands still but for leaps."""
    clock = SteppedClock(world.epoch)
    with (
        RunningLab(Server(world, clock)) as lab,
        patch("periplus.collection.shards.SystemClock", lambda _scale=None: LabTime(clock)),
        patch("periplus.collection.opening.SystemClock", lambda _scale=None: LabTime(clock)),
        patch("periplus.collection.shards.CurlWire", Leaping),
    ):
        yield Watched(world, lab, folder, options)

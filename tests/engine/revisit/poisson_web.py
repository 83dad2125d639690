"""A web whose pages change at random times of known rates, revisited by the scheduler that ships, in virtual time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from email.utils import formatdate
from random import Random
from typing import NamedTuple

import numpy as np
from tests.engine.revisit.revisited_pages import DAY, START, ChangingPage, RevisitedWeb

from periplus.engine.revisit.settings import RefreshSettings
from periplus.model import BodyReading, ChangeLevel, Digests, Fetched, FetchOutcome, FetchTask, Freshness, Lane

_BORN = (10.0, 2000.0)
"""Days before the first visit at which pages with dates were born."""
_SPARE = 600.0
"""Seconds that changes go on after the days asked for: the first visits take one second each."""


class Moment(NamedTuple):
    """What was estimated at a time, what was true, and half of the interval of an estimate that knows the rates."""

    told: Freshness
    true: float
    known: float

    @property
    def is_held(self) -> bool:
        """Whether the interval holds the truth."""
        return self.told.low - 1e-9 <= self.true <= self.told.high + 1e-9

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.told.high - self.told.low


class PoissonWeb(RevisitedWeb):
    """Pages on `sites` sites that change `rates` times a day, each independently of its past.

    `dated`: answers have a `Last-Modified`, that of the last change or, of pages that never changed, of the birth.
    """

    def __init__(
        self,
        rates: Sequence[float],
        days: float,
        *,
        seed: int,
        sites: int = 1,
        dated: bool = False,
        visits_per_day: float,
        settings: RefreshSettings | None = None,
    ) -> None:
        random = np.random.default_rng(seed)
        self.rates = {f"http://s{n % sites}.test/p{n}": rate for n, rate in enumerate(rates)}
        days += _SPARE / DAY
        self.changes = {
            url: np.sort(random.uniform(0.0, days, random.poisson(rate * days))).tolist()
            for url, rate in self.rates.items()
        }
        self.before = {
            url: -min(random.exponential(1.0 / rate), random.uniform(*_BORN))
            for url, rate in self.rates.items()
            if dated
        }
        pages = {url: ChangingPage() for url in self.rates}
        super().__init__(pages, visits_per_day=visits_per_day, settings=settings)
        self.random = Random(seed)
        self.open()

    def version(self, url: str, at: float) -> int:
        """How often a page had changed."""
        return bisect_right(self.changes[url], (at - START) / DAY)

    def until(self, at: float) -> Moment:
        """Spend the budget until a time; what is estimated and true then."""
        while self.now < at:
            self.turn()
            self.now += DAY / self.revisits.visits_per_day
        told = self.revisits.freshness(self.now, len(self.waiting(Lane.REFRESH)))
        assert told is not None
        visited = {url: self.record(url).fetched_at or 0.0 for url in self.rates}
        fresh = [self.version(url, then) == self.version(url, self.now) for url, then in visited.items()]
        chances = [math.exp(-self.rates[url] * (self.now - then) / DAY) for url, then in visited.items()]
        known = 1.96 * math.sqrt(sum(chance * (1.0 - chance) for chance in chances)) / len(chances)
        return Moment(told, sum(fresh) / len(fresh), known)

    def _answer(self, task: FetchTask) -> tuple[FetchOutcome, BodyReading | None]:
        self.visits[task.url] += 1
        self.lanes[task.lane] += 1
        before, version = self.record_of(task.url).digests, self.version(task.url, self.now)
        level = None
        if before is not None:
            level = ChangeLevel.SAME if before.raw == version else ChangeLevel.MAJOR
        reading = BodyReading(Digests(version, 0, 0, 0), False, True, level, b"", b"")
        return Fetched(task, 200, self._headers(task.url, version), b"", self.now, 0.0), reading

    def _headers(self, url: str, version: int) -> tuple[tuple[str, str], ...]:
        if not self.before:
            return ()
        changed = self.changes[url][version - 1] if version else self.before[url]
        return (("Last-Modified", formatdate(START + changed * DAY, usegmt=True)),)

"""A collection watched in virtual time by the scheduler that ships, to compare the freshness it states with the truth.

`Revisits` (`crawl.revisit`) decides on every visit and estimates how fresh the copies are, over a state in memory;
here are only the pages, whose changes are known (`PageChanges`), and a clock that goes from visit to visit. Politeness
and the network are left out: the budget alone limits the visits.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.crawl.frontier import SiteRecords
from periplus.crawl.frontier.reports import after_visit
from periplus.crawl.revisit import Freshness, Revisits, Watching, count_first_visit
from periplus.model import (
    ChangeLevel,
    Digests,
    Fetched,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Lane,
    Purpose,
    Queued,
    Reading,
    Source,
    Url,
    UrlRecord,
)
from periplus.policy.refresh import RefreshSettings
from periplus.store import MemoryState
from periplus.urls import site_of

from .histories import DAY

START = 20_000 * DAY
"""When the collection is first crawled, in POSIX time: a midnight."""
_ROUNDING = 1e-9
"""By how much sums of shares may be off."""
_FIRST_LEVEL = 60
"""Queue level of a page that was not visited yet."""


class PageChanges(Struct, frozen=True):
    """The pages of a collection and when they change, in days since the first crawl.

    Page `n` is `urls[n]`, changes at `times[n]` (ascending), is found at `born[n]` and is gone from `gone[n]` on.
    `rates` are its changes a day in the long run, as the process that made the times has them.
    """

    urls: Sequence[str]
    times: Sequence[NDArray[np.float64]]
    born: NDArray[np.float64]
    gone: NDArray[np.float64]
    rates: NDArray[np.float64]


class Stated(Struct, frozen=True):
    """What was stated at a moment (`day`), and what was true.

    `known` and `known_spread` are the mean and the standard deviation of the share of fresh copies for an observer who
    knows the true rate of each page, and takes changes to be independent. `visits` were made since the first crawl.
    """

    day: float
    stated: Freshness
    true: float
    known: float
    known_spread: float
    visits: int

    @property
    def is_held(self) -> bool:
        """Whether the stated interval contains the truth."""
        return self.stated.low - _ROUNDING <= self.true <= self.stated.high + _ROUNDING

    @property
    def width(self) -> float:
        """The width of the stated interval."""
        return self.stated.high - self.stated.low

    @property
    def known_width(self) -> float:
        """The width of the 95 % interval of the observer who knows the rates."""
        low, high = (self.known + sign * 1.96 * self.known_spread for sign in (-1.0, 1.0))
        return min(high, 1.0) - max(low, 0.0)


class WatchedSite:
    """Visits the pages as `Revisits` decides, `visits_per_day` a day at most."""

    def __init__(
        self,
        pages: PageChanges,
        visits_per_day: float,
        *,
        seed: int = 0,
        settings: RefreshSettings | None = None,
    ) -> None:
        self._pages = pages
        self._budget = visits_per_day
        self._number = {Url(url): number for number, url in enumerate(pages.urls)}
        self._times = [times.tolist() for times in pages.times]
        self._state = MemoryState()
        self._sites = SiteRecords(self._state.sites)
        self._settings = settings
        self._random = Random(seed)  # noqa: S311 - not for secrets
        self._revisits = Revisits(self._state, self._sites, settings, random=self._random)
        self._now = START
        self._unborn = sorted((born, number) for number, born in enumerate(pages.born.tolist()))
        self._made = 0

    def moments(self, days: Sequence[float]) -> Iterator[Stated]:
        """Crawl all pages once, then watch them; what is stated and what is true after each of these days."""
        self._appear()
        while self._visit_next():
            self._revisits.end_of_input()
        self._sites.flush()
        saved = self._revisits.snapshot()
        watching = Watching(self._budget)
        self._revisits = Revisits(
            self._state, self._sites, self._settings, watching=watching, random=self._random, saved=saved
        )
        self._made = 0
        for day in days:
            yield self._until(START + day * DAY)

    def _until(self, at: float) -> Stated:
        step = DAY / self._budget
        while self._now + step <= at:
            self._now += step
            self._appear()
            self._turn()
        self._now = at
        return self._measured()

    def _turn(self) -> None:
        self._state.queues.push(self._revisits.due(self._now, self._waiting()))
        if not self._visit_next():
            self._revisits.idle(self._now)
        self._revisits.end_of_input()

    def _waiting(self) -> int:
        queues = self._state.queues
        return sum(queues.length(site, lane) for site, lane, _ in queues.waiting() if lane is Lane.REFRESH)

    def _record(self, url: Url) -> UrlRecord:
        [record] = self._state.records.get([url])
        return record or UrlRecord(url, ())

    # the pages

    def _day(self) -> float:
        return (self._now - START) / DAY

    def _appear(self) -> None:
        """Discover the pages that were born since."""
        new: list[Url] = []
        while self._unborn and self._unborn[0][0] <= self._day():
            new.append(Url(self._pages.urls[self._unborn.pop(0)[1]]))
        seen = (FirstSeen(Source.LINK, self._now),)
        self._state.records.add_new([UrlRecord(url, seen) for url in new])
        self._state.queues.push([Queued(url, site_of(url), Lane.DISCOVERY, _FIRST_LEVEL) for url in new])

    def _version(self, number: int, day: float) -> int:
        return bisect_right(self._times[number], day)

    # visits

    def _visit_next(self) -> bool:
        """Make one visit, if one waits."""
        entry = self._choose()
        if entry is not None:
            self._visit(entry)
        return entry is not None

    def _choose(self) -> Queued | None:
        queues = self._state.queues
        for site in dict.fromkeys(site for site, _, _ in queues.waiting()):
            again, new = (queues.heads(site, lane, 1) for lane in (Lane.REFRESH, Lane.DISCOVERY))
            chosen = again or new
            if again and new:
                level = self._revisits.level_of_new(self._sites.get(site), new[0].entry)
                chosen = again if self._revisits.quota.prefers_revisit(again[0].entry.level < level) else new
            queues.remove(chosen)
            return chosen[0].entry
        return None

    def _visit(self, entry: Queued) -> None:
        before = self._record(entry.url)
        site, is_revisit = self._sites.get(entry.site), entry.lane is Lane.REFRESH
        self._revisits.quota.count(is_revisit=is_revisit)
        if is_revisit:
            self._revisits.granted(before, self._now)
        task = FetchTask(entry.url, entry.site, Purpose.PAGE, entry.lane, math.inf)
        outcome, reading = self._answer(task, before)
        after = after_visit(before, outcome, reading, "" if reading else "not-found")
        self._state.records.put([self._revisits.visited(site, before, after, outcome, reading, self._now)])
        if not is_revisit:
            count_first_visit(site, entry.lane, reading is not None)
            self._sites.changed(site)
        self._made += 1

    def _answer(self, task: FetchTask, before: UrlRecord) -> tuple[FetchOutcome, Reading | None]:
        number, day = self._number[task.url], self._day()
        if day >= self._pages.gone[number]:
            return Fetched(task, 404, (), b"", self._now, 0.0), None
        version, level = self._version(number, day), None
        if before.digests is not None:
            level = ChangeLevel.SAME if before.digests.raw == version else ChangeLevel.MAJOR
        return Fetched(task, 200, (), b"", self._now, 0.0), Reading(Digests(version, 0, 0, 0), False, True, level)

    # the truth

    def _measured(self) -> Stated:
        stated = self._revisits.freshness(self._now, self._waiting())
        if stated is None:
            raise ValueError("freshness is stated only while pages are watched")
        fresh, chances, day = [], [], self._day()
        for url, number in self._number.items():
            record = self._record(url)
            if record.status != 200 or record.fetched_at is None:
                continue
            then = (record.fetched_at - START) / DAY
            is_same = self._version(number, then) == self._version(number, day) and day < self._pages.gone[number]
            fresh.append(is_same)
            chances.append(math.exp(-self._pages.rates[number] * (day - then)))
        known = np.array(chances)
        spread = math.sqrt(float((known * (1.0 - known)).sum())) / len(known)
        return Stated(day, stated, sum(fresh) / len(fresh), float(known.mean()), spread, self._made)

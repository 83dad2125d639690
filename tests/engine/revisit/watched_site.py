"""Watches generated sites in virtual time with the shipped scheduler, and compares stated freshness with the truth.

`Revisits` (`engine.revisit`) decides on every visit and estimates how fresh the copies are, over a state in memory.
This module has only the pages, whose changes are known (`PageChanges`) and come steadily, at night, in bursts, all at
once or never, and a clock that goes from visit to visit. Politeness and the network are left out: the budget alone
limits the visits.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from periplus.engine.frontier import SiteRecords
from periplus.engine.frontier.reports import after_visit
from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.revisit.settings import RefreshSettings
from periplus.model import (
    BodyReading,
    ChangeLevel,
    Digests,
    Fetched,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Freshness,
    Lane,
    Purpose,
    Queued,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import MemoryState
from periplus.urls import site_of
from periplus_lab.simulate.histories import DAY

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
        self._random = Random(seed)
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
        self._state.put_meta(self._revisits.snapshot())
        watching = Watching(self._budget)
        self._revisits = Revisits(self._state, self._sites, self._settings, watching=watching, random=self._random)
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
        self._state.queues.push([told.entry for told in self._revisits.told() if not told.is_waiting])
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
                is_first = self._revisits.prefers_revisit(self._sites.get(site), again[0].entry, new[0].entry)
                chosen = again if is_first else new
            queues.remove(chosen)
            return chosen[0].entry
        return None

    def _visit(self, entry: Queued) -> None:
        before = self._record(entry.url)
        site, is_revisit = self._sites.get(entry.site), entry.lane is Lane.REFRESH
        self._revisits.granted(before, self._now, is_revisit=is_revisit)
        task = FetchTask(entry.url, entry.site, Purpose.PAGE, entry.lane, math.inf)
        outcome, reading = self._answer(task, before)
        after = after_visit(before, outcome, reading, "" if reading else "not-found")
        self._state.records.put([self._revisits.visited(site, before, after, outcome, reading, self._now)])
        if not is_revisit:
            self._revisits.first_visited(site, entry.lane, is_good=reading is not None)
            self._sites.changed(site)
        self._made += 1

    def _answer(self, task: FetchTask, before: UrlRecord) -> tuple[FetchOutcome, BodyReading | None]:
        number, day = self._number[task.url], self._day()
        if day >= self._pages.gone[number]:
            return Fetched(task, 404, (), b"", self._now, 0.0), None
        version, level = self._version(number, day), None
        if before.digests is not None:
            level = ChangeLevel.SAME if before.digests.raw == version else ChangeLevel.MAJOR
        text = number << 32 | version  # each page has its own: copies with the same text would change together
        digests = Digests(version, text, 0, 0)
        return Fetched(task, 200, (), b"", self._now, 0.0), BodyReading(digests, False, True, level)

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


Floats = NDArray[np.float64]
_NEVER = np.inf
STATED_SITES = 50
"""Generated sites on which the stated freshness is compared with the truth."""
STATED_HOURS = (1, 3, 8, 16, 30, 50, 80, 120, 170, 240)
"""Hours after the first crawl at which it is compared; up to a third later, at another time of day on each site."""
_DAYS = 14.0
"""How long the changes of a generated site go on."""
_FASTER = 1440.0
"""How much faster the sites are that change by the minute: a day becomes a minute."""


class SiteKind(Struct, frozen=True):
    """A generated site: its name, its pages, how long they are watched, with which budget."""

    name: str
    pages: PageChanges
    visits_per_day: float
    shortest: float = 3600.0
    seed: int = 0


def _steady(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Changes at random times."""
    return [np.sort(random.uniform(0.0, days, random.poisson(rate * days))) for rate in rates]


def _regular(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Changes after equal times, each page with a phase of its own."""
    return [np.arange(random.random(), rate * days) / rate for rate in rates]


def _cycle(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Changes between 8 and 20 o'clock only, twice as often then."""
    times = []
    for rate in rates:
        clock = np.sort(random.uniform(0.0, days, random.poisson(rate * days)))
        times.append(np.floor(clock) + (8.0 + 12.0 * (clock % 1.0)) / 24.0)
    return times


def _nightly(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """A rebuild at two o'clock at night publishes what was written since: a page changes then or not."""
    nights = np.arange(0.0, days) + 2.0 / 24.0
    return [nights[random.random(len(nights)) < -np.expm1(-rate)] for rate in rates]


def _rebuilt(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """A rebuild at night changes all pages, on one night of three; besides, pages change steadily."""
    nights = np.arange(0.0, days) + 2.0 / 24.0
    nights = nights[random.random(len(nights)) < 1 / 3]
    return [np.sort(np.concatenate((nights, times))) for times in _steady(rates, days, random)]


def _redesigned(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """All pages change at once at a random time, about once in four days; besides, pages change steadily."""
    together = random.uniform(0.0, days, random.poisson(days / 4))
    return [np.sort(np.concatenate((together, times))) for times in _steady(rates, days, random)]


def _bursts(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Changes come eight at a time on average, within about two hours."""
    times = []
    for rate in rates:
        first = random.uniform(0.0, days, random.poisson(rate * days / 8))
        each = [at + np.concatenate(([0.0], random.exponential(1 / 12, random.geometric(1 / 8) - 1))) for at in first]
        times.append(np.sort(np.concatenate([np.zeros(0), *each])))
    return times


Process = Callable[[Floats, float, Generator], list[Floats]]
Mix = Callable[[Generator, int], Floats]


def _wide(random: Generator, pages: int) -> Floats:
    return np.exp(random.uniform(np.log(0.003), np.log(5.0), pages))


def _slow(random: Generator, pages: int) -> Floats:
    return np.exp(random.normal(np.log(0.02), 1.0, pages))


def _fast(random: Generator, pages: int) -> Floats:
    return np.exp(random.uniform(np.log(0.5), np.log(50.0), pages))


def _few(random: Generator, pages: int) -> Floats:
    return np.where(random.random(pages) < 0.2, 5.0, 1e-6)


def _gamma(random: Generator, pages: int) -> Floats:
    return random.gamma(0.5, 0.6, pages) + 1e-6


PROCESSES: dict[str, Process] = {
    "steady": _steady,
    "regular": _regular,
    "by day": _cycle,
    "nightly": _nightly,
    "rebuilt": _rebuilt,
    "redesigned": _redesigned,
    "bursts": _bursts,
}
MIXES: dict[str, Mix] = {"wide": _wide, "slow": _slow, "fast": _fast, "few": _few, "gamma": _gamma}


def _clustered(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Times between changes are Weibull with the shape 0.6: short ones follow short ones, then long rests."""
    times = []
    for rate in rates:
        gaps = random.weibull(0.6, int(rate * days * 3) + 5) / (rate * 1.5046)
        times.append(np.cumsum(gaps) - random.random() * gaps[0])
    return [each[each < days] for each in times]


def _weekdays(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Changes on five days of seven only."""
    return [each[each % 7.0 < 5.0] for each in _steady(rates * 7 / 5, days, random)]


def _sections(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Besides steady changes, each quarter of the pages changes together, about once in five days."""
    times = _steady(rates, days, random)
    for first in range(4):
        together = random.uniform(0.0, days, random.poisson(days / 5))
        times[first::4] = [np.sort(np.concatenate((together, each))) for each in times[first::4]]
    return times


def _settling(rates: Floats, days: float, random: Generator) -> list[Floats]:
    """Pages change ever more seldom: a tenth as often after ten days."""
    return [each[random.random(len(each)) < 10.0 ** (-each / 10.0)] for each in _steady(2.0 * rates, days, random)]


def _pareto(random: Generator, pages: int) -> Floats:
    return 0.01 * (1.0 + random.pareto(0.8, pages)).clip(None, 1e3)


def _alike(random: Generator, pages: int) -> Floats:
    return random.lognormal(np.log(0.3), 0.3, pages)


UNSEEN: dict[str, Process] = {
    "clustered": _clustered,
    "weekdays": _weekdays,
    "sections": _sections,
    "settling": _settling,
}
"""Processes on which nothing was chosen, for a check."""
UNSEEN_MIXES: dict[str, Mix] = {"pareto": _pareto, "alike": _alike}
UNSEEN_FROM = 1_000
"""The number from which sites are of these."""
_EXTRA = {"sections": 1 / 5, "rebuilt": 1 / 3, "redesigned": 1 / 4}
"""Changes a day that a process adds to the rates of all pages."""


def stated_moments(site: SiteKind, hours: Sequence[float] = STATED_HOURS) -> Iterator[Stated]:
    """Watch a site: what is stated and what is true after each of these hours.

    On sites that change by the minute a hundredth of these times is waited.
    """
    number = site.seed
    later = (1.0 + 0.3 * np.random.default_rng(number).random()) / (24.0 if site.shortest >= 60.0 else 2400.0)
    settings = RefreshSettings(shortest=site.shortest)
    watched = WatchedSite(site.pages, site.visits_per_day, seed=number, settings=settings)
    return watched.moments([hour * later for hour in hours])


def changing_site(number: int, days: float = _DAYS) -> SiteKind:
    """One of the generated sites: each number is another, with changes for this number of days."""
    random = np.random.default_rng(7_000 + number)
    processes, rate_mixes = (UNSEEN, UNSEEN_MIXES) if number >= UNSEEN_FROM else (PROCESSES, MIXES)
    kinds, mixes = list(processes), list(rate_mixes)
    kind, mix = kinds[number % len(kinds)], mixes[number // len(kinds) % len(mixes)]
    pages = int(random.choice((20, 50, 100)))
    rates = rate_mixes[mix](random, pages)
    speed = _FASTER if number % 10 == 9 and kind in ("steady", "regular", "bursts") else 1.0
    hosts = int(random.choice((1, 1, 1, 5)))
    times: list[Floats] = [np.zeros(0)] * pages
    for host in range(hosts):
        drawn = processes[kind](rates[host::hosts], days * speed, random)
        times[host::hosts] = [each / speed for each in drawn]
    born, gone = np.zeros(pages), np.full(pages, _NEVER)
    moves = number % 3 == 2
    if moves:
        late = random.random(pages) < 0.4
        born[late] = random.uniform(0.0, days, int(late.sum()))
        ends = born + random.exponential(8.0, pages)
        gone = np.where(random.random(pages) < 0.5, ends, _NEVER)
    urls = [f"http://s{page % hosts}.test/p{page}" for page in range(pages)]
    budget = float(random.choice((0.2, 0.5, 1.0, 3.0))) * pages * speed
    truth = (rates + _EXTRA.get(kind, 0.0)) * speed + np.where(np.isfinite(gone), 1 / 8, 0.0)
    name = f"{number}: {kind}, {mix}, {pages} pages, {hosts} sites, {budget / pages:g} a day" + (
        ", pages come and go" if moves else ""
    )
    changes = PageChanges(urls, times, born, gone, truth)
    return SiteKind(name, changes, budget, 5.0 if speed > 1.0 else 3600.0, number)

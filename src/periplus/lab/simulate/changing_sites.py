"""Generates sites whose pages change in different ways: steadily, at night, in bursts, all at once, never."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from periplus.policy.refresh import RefreshSettings

from .watched_site import PageChanges, Stated, WatchedSite

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
_EXTRA = {"rebuilt": 1 / 3, "redesigned": 1 / 4}
"""Changes a day that a process adds to the rates of all pages."""


def stated_moments(number: int, hours: Sequence[float] = STATED_HOURS) -> Iterator[Stated]:
    """Watch one of the generated sites: what is stated and what is true after each of these hours.

    On sites that change by the minute a hundredth of these times is waited.
    """
    site = changing_site(number)
    later = (1.0 + 0.3 * np.random.default_rng(number).random()) / (24.0 if site.shortest >= 60.0 else 2400.0)
    settings = RefreshSettings(shortest=site.shortest)
    watched = WatchedSite(site.pages, site.visits_per_day, seed=number, settings=settings)
    return watched.moments([hour * later for hour in hours])


def changing_site(number: int, days: float = _DAYS) -> SiteKind:
    """One of the generated sites: each number is another, with changes for this number of days."""
    random = np.random.default_rng(7_000 + number)
    kinds, mixes = list(PROCESSES), list(MIXES)
    kind, mix = kinds[number % len(kinds)], mixes[number // len(kinds) % len(mixes)]
    pages = int(random.choice((20, 50, 100)))
    rates = MIXES[mix](random, pages)
    speed = _FASTER if number % 10 == 9 and kind in ("steady", "regular", "bursts") else 1.0
    hosts = int(random.choice((1, 1, 1, 5)))
    times: list[Floats] = [np.zeros(0)] * pages
    for host in range(hosts):
        drawn = PROCESSES[kind](rates[host::hosts], days * speed, random)
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

"""Does the stated 95 % interval of freshness hold the truth, from the first hour on, and is it no wider than needed?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from tests.unit.crawl.poisson_web import Moment, PoissonWeb

from periplus.policy.refresh import RefreshSettings

Rates = Callable[[Generator, int], NDArray[np.float64]]
RATES: dict[str, Rates] = {
    "from once a year to five times a day": lambda random, n: np.exp(random.uniform(np.log(0.003), np.log(5), n)),
    "slow": lambda random, n: np.exp(random.normal(np.log(0.02), 1.0, n)),
    "fast or hardly at all": lambda random, n: np.where(random.random(n) < 0.2, 5.0, 0.005),
    "gamma": lambda random, n: random.gamma(0.5, 0.6, n),
    "fast": lambda random, n: np.exp(random.uniform(np.log(0.5), np.log(50), n)),
    "alike": lambda _random, n: np.full(n, 0.3),
}
PAGES = 50
HOURS = (1, 3, 12, 24, 48)


def moments(
    rates: Rates,
    seed: int,
    hours: tuple[float, ...] = HOURS,
    *,
    speed: float = 1.0,
    shortest: float = 3600.0,
    sites: int = 1,
    dated: bool = False,
) -> list[Moment]:
    """50 pages with a visit a page and day. `speed`: how much faster than that all of it happens."""
    drawn = rates(np.random.default_rng(1000 + seed), PAGES) * speed
    days = max(hours) / 24 / speed
    settings = RefreshSettings(shortest=shortest)
    web = PoissonWeb(
        drawn.tolist(), days, seed=seed, sites=sites, dated=dated, visits_per_day=PAGES * speed, settings=settings
    )
    web.crawl(*web.rates)
    began_at = web.now
    return [web.until(began_at + hour * 3600.0 / speed) for hour in hours]


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 10), marks=pytest.mark.slow)], ids=["few", "many"])
def test_the_interval_holds_the_truth_from_the_first_hour_on(seeds: range) -> None:
    """At 90 of 100 moments at least, on sites with all kinds of rates; and soon it is not much wider than one that
    knows the rates."""
    found = [moments(rates, 10 * kind + seed) for kind, rates in enumerate(RATES.values()) for seed in seeds]
    every = [moment for of_site in found for moment in of_site]
    held = np.mean([moment.is_held for moment in every])
    assert held >= 0.9
    for place in range(len(HOURS)):
        assert np.mean([of_site[place].is_held for of_site in found]) >= 0.8
    later = [of_site[-1] for of_site in found]
    assert np.mean([moment.width for moment in later]) < 2.5 * np.mean([2 * moment.known for moment in later])


def test_dates_of_pages_do_not_mislead() -> None:
    """The dates of pages say something of their rates, but less than it seems: those of the last hour are dropped."""
    found = [moment for n, rates in enumerate(RATES.values()) for moment in moments(rates, n, sites=4, dated=True)]
    assert np.mean([moment.is_held for moment in found]) >= 0.85


def test_nothing_is_checked_until_a_page_was_visited_twice() -> None:
    """In the first minute there are no revisits: the estimate says so, and is not sure of itself."""
    [first, later] = moments(RATES["gamma"], 1, (1 / 60, 48.0))
    assert first.told.checked == 0
    assert later.told.checked > 0
    [day] = moments(RATES["gamma"], 1, (12.0,))
    assert day.told.pages == PAGES


def test_pages_that_change_by_the_minute() -> None:
    """Where pages may be revisited after five seconds and do change within minutes, copies are not taken for fresh."""
    found = [
        moment
        for seed, kind in enumerate(("from once a year to five times a day", "fast", "gamma"))
        for moment in moments(RATES[kind], seed, (12, 24, 48, 96), speed=1440.0, shortest=5.0)
    ]
    assert np.mean([moment.is_held for moment in found]) >= 0.8
    assert np.mean([moment.told.fresh - moment.true for moment in found]) == pytest.approx(0.0, abs=0.08)

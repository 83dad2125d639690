"""Does the stated 95 % interval of freshness hold the truth, from the first hour on, and is it no wider than needed?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from tests.engine.revisit.poisson_web import Moment, PoissonWeb
from tests.engine.revisit.watched_site import (
    STATED_SITES,
    UNSEEN_FROM,
    PageChanges,
    Stated,
    WatchedSite,
    changing_site,
    stated_moments,
)

from periplus.engine.revisit.settings import RefreshSettings
from periplus_lab.simulate.histories import DAY, Histories, read_histories

FEW = (31,)
"""A generated site that is watched quickly: nightly changes."""
Rates = Callable[[Generator, int], NDArray[np.float64]]
RATES: dict[str, Rates] = {
    "from once a year to five times a day": lambda random, n: np.exp(random.uniform(np.log(0.003), np.log(5), n)),
    "slow": lambda random, n: np.exp(random.normal(np.log(0.02), 1.0, n)),
    "fast or hardly at all": lambda random, n: np.where(random.random(n) < 0.2, 5.0, 0.005),
    "gamma": lambda random, n: random.gamma(0.5, 0.6, n),
    "alike": lambda _random, n: np.full(n, 0.3),
}
PAGES = 50


def shown(moments: Sequence[Stated]) -> tuple[float, float]:
    """Of the moments at which freshness is stated: how many hold the truth, and how much wider than with rates."""
    stated = [moment for moment in moments if moment.stated.checked]
    width, known = (sum(getattr(each, name) for each in stated) for name in ("width", "known_width"))
    return float(np.mean([moment.is_held for moment in stated])), width / known


@pytest.mark.parametrize(
    "sites", [FEW, pytest.param(range(STATED_SITES), marks=pytest.mark.slow)], ids=["few", "all fifty"]
)
def test_the_interval_holds_the_truth_on_all_kinds_of_sites(sites: Sequence[int]) -> None:
    """At 90 of 100 moments at least: where pages change at night, in bursts, all at once, come and go, or never
    change; and it is not many times as wide as that of an observer who knows all rates."""
    held, wider = shown([moment for site in sites for moment in stated_moments(changing_site(site))])
    assert held >= 0.9
    assert wider < 6.0


def part_of_histories(histories: Histories, start: float, days: float, pages: int, seed: int = 0) -> PageChanges:
    """Some pages of recorded histories, sampled at random, as they changed in the `days` from `start` on."""
    begin, owner = (histories.begins_at - start) / DAY, histories.is_gone
    gone = np.full(len(histories), np.inf)
    for page in np.flatnonzero(owner).tolist() if owner is not None else ():
        gone[page] = (histories.of(page)[-1] - start) / DAY
    here = np.random.default_rng(seed).permutation(np.flatnonzero((begin < days) & (gone > np.maximum(begin, 0.0))))
    chosen = here[:pages].tolist()
    times = [(histories.of(page) - start) / DAY for page in chosen]
    times = [each[(each > max(begin[page], 0.0)) & (each < days)] for page, each in zip(chosen, times, strict=True)]
    return PageChanges(
        [f"http://{histories.sites[histories.site[page]]}/{page}" for page in chosen],
        times,
        np.maximum(begin[chosen], 0.0),
        gone[chosen],
        np.array([len(each) / days for each in times]),
    )


@pytest.mark.slow
@pytest.mark.corpus
def test_the_interval_holds_the_truth_of_real_histories(corpus: Path) -> None:
    """Two sites over fifteen years, with months in which all pages were moved at once."""
    histories = read_histories(corpus / "change_histories" / "changes.tsv.gz")
    found: list[Stated] = []
    for start in np.linspace(1.3e9, histories.ends_at - 130 * 86_400.0, 8):
        pages = part_of_histories(histories, float(start), 130.0, 150)
        found += WatchedSite(pages, 0.2 * 150).moments([1, 2, 4, 7, 12, 20, 35, 50, 80, 120])
    assert shown(found)[0] >= 0.9


@pytest.mark.slow
def test_pages_that_change_by_the_minute() -> None:
    """Where pages may be revisited after five seconds and do change within minutes, copies are not taken for fresh."""
    moments = list(stated_moments(changing_site(49), (1, 3, 8, 16, 30)))
    assert shown(moments)[0] >= 0.8
    assert np.mean([moment.stated.fresh - moment.true for moment in moments[1:]]) == pytest.approx(0.0, abs=0.2)


def dated(rates: Rates, seed: int, hours: tuple[float, ...]) -> list[Moment]:
    """50 pages with dates on four sites, with a visit a page and day."""
    drawn = rates(np.random.default_rng(1000 + seed), PAGES)
    settings = RefreshSettings()
    web = PoissonWeb(
        drawn.tolist(), max(hours) / 24, seed=seed, sites=4, dated=True, visits_per_day=PAGES, settings=settings
    )
    web.crawl(*web.rates)
    began_at = web.now
    return [web.until(began_at + hour * 3600.0) for hour in hours]


@pytest.mark.slow
def test_dates_of_pages_do_not_mislead() -> None:
    """The dates of pages say something of their rates, but less than it seems: those of the last hour are dropped."""
    found = [moment for n, rates in enumerate(RATES.values()) for moment in dated(rates, n, (12, 24, 48))]
    assert np.mean([moment.is_held for moment in found]) >= 0.85


def test_nothing_is_checked_until_a_page_was_visited_twice() -> None:
    """In the first minute there are no revisits: the estimate says so, and is not sure of itself."""
    first, later = dated(RATES["gamma"], 1, (1 / 60, 12.0))
    assert first.told.checked == 0
    assert later.told.checked > 0
    assert later.told.pages == PAGES


@pytest.mark.proof
def test_the_interval_holds_where_nothing_was_chosen() -> None:
    """On sites of other processes than those by which its width was chosen, from the first hours on."""
    moments = [
        moment
        for number in (1, 7, 11)
        for moment in stated_moments(changing_site(UNSEEN_FROM + number), (3, 8, 16, 30, 50))
        if moment.stated.checked
    ]
    assert len(moments) >= 8
    assert sum(moment.is_held for moment in moments) >= 0.93 * len(moments)

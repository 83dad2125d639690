"""Which share of the copies is fresh, with an interval that holds the truth: from the visits to all pages.

The scheduler needs one number a page, its change rate. An honest interval needs more: how uncertain these rates are,
and how uncertain the distribution is from which the rates of pages come that were hardly visited. So rates are not
estimated one by one. Each page has a likelihood on a grid of rates (`_likelihood`); the distribution of rates on a site
is fitted to the likelihoods of its pages without assuming a form (Kiefer & Wolfowitz 1956, by EM); and the whole fit is
repeated `_REPLICATES` times with random weights of the pages and random pages added from a vague prior. This is the
posterior bootstrap (Newton & Raftery 1994; Fong, Lyddon & Holmes 2019): the spread of the replicates is the
uncertainty of the fit. At first all is prior and the interval is wide; every visit narrows it.

The fit is conditional on what was seen, so it does not matter that the scheduler chose which pages to visit and when:
it chose by what had been seen before. Three things that a fit alone would leave out are added: copies that happen to
be fresh or stale though the rates are known; pages that are not in the sample; and dates of pages, which may be false
(each replicate has its own share of false dates).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from .appraisal import boost_of, nothing_unheard
from .evidence import BY_DATE, DAY, PageEvidence, observations_of
from .reckoning import pages_of
from .signals import SiteEvidence

Floats = NDArray[np.float64]

_RATES: Floats = np.geomspace(1e-4, 1e4, 81)
"""Changes a day: from once in 27 years to every nine seconds, ten steps for each power of ten."""
_PRIOR_RANGE = (1e-3, 30.0)
"""Changes a day between which the rates of the prior lie, all powers of ten alike."""
_PRIOR_PER_AGE = 3.0
"""The prior goes on to this number of changes in the mean age of the copies: before visits have shown it, no copy,
however young, is taken for fresh."""
_PRIOR_PAGES, _PRIOR_DRAWS = 1.5, 3
"""Weight of the prior, in visited pages, and rates that a replicate draws from it: few, so that replicates differ."""
_COMMON_PAGES, _COMMON_DRAWS = 5.0, 5
"""The same for what all sites have in common, of which a site's own distribution is a variation."""
_REPLICATES = 48
"""Fits with other weights: the ends of a 95 % interval vary by about a tenth of its width between other numbers."""
_ITERATIONS = 25
"""Steps of EM; later ones move the share by less than a tenth of a point."""
_MAX_GROUPS = 40
"""Groups of pages (a site; on it, pages of which signals were heard) with a distribution of their own. The others, with
the fewest visited pages, share one."""
_NOISE = np.array([-2.0, -1.4, -0.9, -0.5, -0.16, 0.16, 0.5, 0.9, 1.4, 2.0])
"""Standard normal quantiles: the chance that remains when the rates are known, for each replicate."""
_DATE_TRUST = 2.0
"""Weight of the first guess at a site's share of false dates, in dates that visits have checked."""
_SEED = 731
"""All measurements use the same random numbers: from one to the next, only evidence moves the result."""


class FreshShare(Struct, frozen=True):
    """The expected share of fresh copies, and its 95 % interval."""

    mean: float
    low: float
    high: float


NOTHING_KNOWN = FreshShare(0.0, 0.0, 1.0)
"""The share of no pages."""


def fresh_share(
    pages: Sequence[PageEvidence],
    site: Sequence[int],
    sites: Sequence[SiteEvidence],
    now: float,
    population: int | None = None,
) -> FreshShare:
    """The share of copies that are as their page is now, from a random sample `pages` of `population` pages.

    Page `n` is on the site `sites[site[n]]`.
    """
    if not pages:
        return NOTHING_KNOWN
    chances = _replicates(pages, site, sites, now)
    count = len(pages)
    sampled = min(count / max(population or count, count), 1.0)
    shares = chances.mean(axis=0)
    known = (chances * (1.0 - chances)).mean(axis=0) * sampled
    drawn = np.maximum(shares * (1.0 - shares), 0.25 / count) * (1.0 - sampled)
    spread = np.sqrt((known + drawn) / count)
    possible = np.clip(shares + _NOISE[:, None] * spread, 0.0, 1.0)
    low, high = np.quantile(possible, (0.025, 0.975))
    mean, half_a_page = float(shares.mean()), 0.5 / count * sampled
    return FreshShare(
        mean, max(min(float(low), mean) - half_a_page, 0.0), min(max(float(high), mean) + half_a_page, 1.0)
    )


def fresh_chances(
    pages: Sequence[PageEvidence], site: Sequence[int], sites: Sequence[SiteEvidence], now: float
) -> Floats:
    """For each page the probability that its copy is as the page is now."""
    if not pages:
        return np.zeros(0)
    chances: Floats = _replicates(pages, site, sites, now).mean(axis=1)
    return chances


class _Evidence(Struct, frozen=True):
    """Likelihoods of pages (rows) under each rate: `true * of_true + of_false`, the last two for each replicate.

    `weights` are those of the pages in each replicate; a page of which nothing was seen has none. `owner` is its group.
    """

    true: Floats
    of_true: Floats
    of_false: Floats
    weights: Floats
    owner: NDArray[np.int64]

    def of(self, rows: NDArray[np.bool_]) -> _Evidence:
        """Some of the pages."""
        return _Evidence(self.true[rows], self.of_true[rows], self.of_false[rows], self.weights[rows], self.owner[rows])

    def total(self, common: Floats) -> Floats:
        """The likelihood of each page in each replicate, whose distributions of rates are the columns of `common`."""
        return np.maximum(self.of_true * (self.true @ common) + self.of_false, 1e-300)

    def fit(self, prior: Floats) -> Floats:
        """The distribution of rates in each replicate. `prior` sums to the weight of the prior."""
        common = prior / prior.sum(axis=0)
        for _ in range(_ITERATIONS if len(self.true) else 0):
            share = self.weights / self.total(common)
            expected = self.true.T @ (share * self.of_true) + (share * self.of_false).sum(axis=0)
            common = common * expected + prior
            common = common / common.sum(axis=0)
        return common

    def still(self, common: Floats, ages: Floats) -> Floats:
        """The probability that a page has not changed for that many days, in each replicate."""
        none = np.exp(-ages[:, None] * _RATES)
        without = self.of_true * ((self.true * none) @ common) + self.of_false * (none @ common)
        chances: Floats = without / self.total(common)
        return chances


def _replicates(
    pages: Sequence[PageEvidence], site: Sequence[int], sites: Sequence[SiteEvidence], now: float
) -> Floats:
    """The probability of each page (row) that its copy is fresh, in each replicate (column)."""
    random = np.random.default_rng(_SEED)
    number = np.asarray(site, np.int64)
    kept = pages_of(b"".join(page.pack() for page in pages))
    seen = _evidence(kept, number, sites, random)
    ages = np.maximum(now - kept["visited_at"], 0.0) / DAY
    common = seen.fit(_drawn_prior(random, _PRIOR_PER_AGE / max(float(ages.mean()), 1e-6)))
    chances = np.empty_like(seen.weights)
    for group in range(int(seen.owner.max()) + 1):
        rows = seen.owner == group
        mine = seen.of(rows)
        is_visited = mine.weights[:, 0] > 0.0
        fitted = mine.of(is_visited).fit(_redrawn(common, random))
        chances[rows] = mine.still(fitted, ages[rows])
    told = [boost_of(page, sites[each]) for page, each in zip(pages, site, strict=True)]
    heard = [nothing_unheard(page, sites[each], now) for page, each in zip(pages, site, strict=True)]
    return chances * (np.exp(-np.array(told)) * np.array(heard))[:, None]


def _evidence(
    kept: NDArray[np.void], site: NDArray[np.int64], sites: Sequence[SiteEvidence], random: Generator
) -> _Evidence:
    true = _likelihood(kept, site, sites)
    is_dated = (kept["ring"][:, 0] == 0) & (kept["old_changes"] == BY_DATE)
    is_seen = is_dated | (kept["ring"][:, 0] != 0)
    doubt = np.array([_false_dates(each, random) for each in sites])[site]
    of_false = np.where(is_dated[:, None], doubt / 2.0, 0.0)
    of_true = np.where(is_dated[:, None], 1.0 - doubt, 1.0)
    weights = np.where(is_seen[:, None], random.exponential(1.0, (len(kept), _REPLICATES)), 0.0)
    return _Evidence(true, of_true, of_false, weights, _groups(2 * site + (kept["heard"] > 0), is_seen))


def _groups(group: NDArray[np.int64], is_seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number the groups, those with the most visited pages first; all beyond the limit have the last number."""
    names, numbers = np.unique(group, return_inverse=True)
    order = np.argsort(-np.bincount(numbers, is_seen, len(names)), kind="stable")
    places = np.empty(len(names), np.int64)
    places[order] = np.minimum(np.arange(len(names)), _MAX_GROUPS)
    return places[numbers]


def _likelihood(kept: NDArray[np.void], site: NDArray[np.int64], sites: Sequence[SiteEvidence]) -> Floats:
    """Of what was seen of each page (a row) under each rate (a column); the best has 1."""
    seen = observations_of(kept)
    kappas = np.array([each.kappas for each in sites])
    reasons = (seen.signals * kappas[site[seen.page]]).sum(axis=1)
    is_again = kept["ring"][:, 0] != 0
    changes, days = np.where(is_again, kept["old_changes"], 0.0), np.where(is_again, kept["old_days"], 0.0)
    quiet = ~seen.is_changed
    days = days + np.bincount(seen.page[quiet], seen.days[quiet], len(kept))
    logs: Floats = changes[:, None] * np.log(_RATES) - days[:, None] * _RATES
    found = np.flatnonzero(seen.is_changed)
    expected = seen.days[found, None] * _RATES + reasons[found, None]
    np.add.at(logs, seen.page[found], np.log(-np.expm1(-np.maximum(expected, 1e-12))))
    likely: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    dated = np.flatnonzero(~is_again & (kept["old_changes"] == BY_DATE))
    ages = kept["old_days"][dated, None].astype(np.float64) * _RATES
    # the date of the last change, which speaks for rates near one in that time; or of the birth, against higher ones
    likely[dated] = BY_DATE * ages * np.exp(1.0 - ages) + (1.0 - BY_DATE) * np.exp(-ages)
    return likely


def _false_dates(site: SiteEvidence, random: Generator) -> Floats:
    """The share of false dates in each replicate: a Beta around what is known, wide until visits have checked some."""
    checked = _DATE_TRUST + site.date_expected + site.date_otherwise
    share = min(max(site.false_dates, 0.02), 0.98)
    return random.beta(checked * share, checked * (1.0 - share), _REPLICATES)


def _drawn_prior(random: Generator, highest: float) -> Floats:
    """For each replicate a few rates from the prior, which goes to `highest` or further."""
    slowest, fastest = _PRIOR_RANGE
    logs = random.uniform(np.log(slowest), np.log(max(fastest, highest)), (_PRIOR_DRAWS, _REPLICATES))
    places = np.abs(np.log(_RATES)[:, None, None] - logs).argmin(axis=0)
    return _weighted(places, _PRIOR_PAGES, random)


def _redrawn(common: Floats, random: Generator) -> Floats:
    """For each replicate a few rates from its distribution: that of a site like others."""
    sums = np.cumsum(common, axis=0)
    draws = random.random((_COMMON_DRAWS, _REPLICATES))
    places = np.minimum((sums[:, None, :] < draws).sum(axis=0), len(_RATES) - 1)
    return _weighted(places, _COMMON_PAGES, random)


def _weighted(places: NDArray[np.int64], pages: float, random: Generator) -> Floats:
    """Random weights at these places of the grid, which sum to `pages` in the mean; a little everywhere else."""
    prior = np.full((len(_RATES), _REPLICATES), 1e-3 / len(_RATES))
    shares = random.exponential(pages / len(places), places.shape)
    np.add.at(prior, (places, np.arange(_REPLICATES)), shares)
    return prior

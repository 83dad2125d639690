"""Estimates the share of fresh copies, with an interval, from the visits to all pages.

The scheduler needs one number a page, its change rate. An honest interval needs more: how uncertain these rates are,
and how uncertain the distribution is from which the rates of pages come that were hardly visited. So rates are not
estimated one by one. Each page has a likelihood on a grid of rates (`_likelihood`); the distribution of rates on a site
is fitted to the likelihoods of its pages without assuming a form (Kiefer & Wolfowitz 1956, by EM); and the whole fit is
repeated `_REPLICATES` times with random weights of the pages and random pages added from a vague prior. This is the
posterior bootstrap (Newton & Raftery 1994; Fong, Lyddon & Holmes 2019): the spread of the replicates is the
uncertainty of the fit. At first all is prior and the interval is wide; every visit narrows it.

The fit is conditional on what was seen, so it does not matter that the scheduler chose which pages to visit and when:
it chose by what had been seen before. Three things that a fit alone would leave out are added: copies that happen to
be fresh or stale though the rates are known; pages that are not in the sample; and dates. The date that a page had when
it was first visited may be that of its last change, of its birth, or false: each replicate has its own shares of these.
Pages without a date have a distribution of their own: a date of the last hour is taken for a clock and dropped, so it
is the fast pages that have none.

Estimates the change rates and signals of one site from the packed evidence of its pages.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.random import Generator
from numpy.typing import NDArray

from .appraisal import boost_of, nothing_unheard
from .estimation import DEFAULTS, EstimationSettings, SiteBeliefs, estimate_pages
from .evidence import BY_DATE, DAY, PAGE, PageEvidence, observations_of
from .signals import NO_EVIDENCE, SiteEvidence, believed, without_signals

_LIKELY_FALSE = 0.9
_FEW = 10
_NEARLY = 300.0
"""Seconds within which two dates count as the same: they are rounded where they are kept."""


def pages_of(kept: bytes) -> NDArray[np.void]:
    """Packed evidence of many pages, one after the other, as an array of `PAGE`."""
    return np.frombuffer(kept, PAGE)


def fit_site(
    site: SiteEvidence, pages: NDArray[np.void], now: float, settings: EstimationSettings = DEFAULTS
) -> tuple[SiteEvidence, NDArray[np.float64]]:
    """The evidence of a site as its pages show it, and for each page the changes a day that no signal reports."""
    priors = np.array([kind.prior for kind in site.kinds])
    old = np.array([(kind.old_right, kind.old_judged) for kind in site.kinds])
    beliefs = SiteBeliefs((priors + old)[None, :, 0], (priors + old)[None, :, 1])
    dated = (pages["ring"][:, 0] == 0) & (pages["old_changes"] == BY_DATE)
    site = replace(site, date_doubt=_LIKELY_FALSE if _is_one_date(pages[dated]) else NO_EVIDENCE.date_doubt)
    doubt = np.where(dated, site.false_dates, 0.0)
    one = np.zeros(len(pages), np.int64)
    found = estimate_pages(pages, one, now, beliefs, settings, doubt=doubt)
    if pages["heard"].any():
        found = believed(
            pages, one, found, estimate_pages(without_signals(pages), one, now, beliefs, settings, doubt=doubt)
        )
    right, judged = found.right[0] - priors[:, 0], found.judged[0] - priors[:, 1]
    kinds = tuple(
        replace(kind, right=float(max(right[number], 0.0)), judged=float(max(judged[number], 0.0)))
        for number, kind in enumerate(site.kinds)
    )
    rate, signals, shape = float(found.site_alpha[0]), float(found.site_gamma[0]), float(found.site_shape[0])
    heard, _ = found.heard(one)
    again = int((pages["ring"][:, 0] != 0).sum())
    useful = float(heard[heard + found.alpha < 1.0].sum())
    site = replace(site, kinds=kinds, rate=rate, signals=signals, shape=shape, useful=useful)
    return replace(site, pages=len(pages), again=again), found.alpha


def _is_one_date(pages: NDArray[np.void]) -> bool:
    """Whether most pages have one date, that of a build, which is not evidence about them."""
    if len(pages) < _FEW:
        return False
    dates = np.sort(pages["visited_at"] - pages["old_days"].astype(np.float64) * DAY)
    most = np.searchsorted(dates, dates + _NEARLY, "right") - np.arange(len(dates))
    return bool(most.max() > len(pages) / 2)


Floats = NDArray[np.float64]

_RATES: Floats = np.geomspace(1e-4, 1e4, 81)
"""Changes a day: from once in 27 years to every nine seconds, ten steps for each power of ten."""
_PRIOR_RANGE = (1e-3, 30.0)
"""Bounds of the rates of the prior, in changes a day; uniform over powers of ten."""
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
"""Groups of pages (of a site; dated or not; of which signals were heard or not) with a distribution of their own. The
others, with the fewest visited pages, share one."""
_NOISE = np.array([-2.0, -1.4, -0.9, -0.5, -0.16, 0.16, 0.5, 0.9, 1.4, 2.0])
"""Standard normal quantiles: the randomness that remains when the rates are known, for each replicate."""
_DATE_TRUST = 2.0
"""Weight of the first guess at the shares of births and of false dates, in dates that visits have checked."""
_BIRTHS = (0.5, 1.5)
"""Beta distribution of the share of births among dates, before visits: mostly few, since a page that never changed has
an old date, which says the same either way; but nearly all on a site that grows."""
_BIRTH_ROUNDS = 3
"""Fits of the pages with dates, each with a better share of dates that are those of births."""
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
    """Likelihoods of pages (rows) under each rate (columns): the sum of three tables, each times a share.

    `visits` is what the visits say; `changed` the same if the date that a page had at first is that of its last change,
    `born` if it is that of its birth. The shares (`of_visits` and so on) differ between replicates. `weights` are those
    of the pages in each replicate; a page of which nothing is known has none.
    """

    visits: Floats
    changed: Floats
    born: Floats
    of_visits: Floats
    of_changed: Floats
    of_born: Floats
    weights: Floats

    def rows(self, rows: NDArray[np.bool_]) -> _Evidence:
        """Some of the pages."""
        return _Evidence(*(getattr(self, name)[rows] for name in self.__struct_fields__))

    def sums(self, common: Floats, factor: Floats | None = None) -> Floats:
        """The likelihood of each page in each replicate, whose distributions of rates are the columns of `common`."""
        sums: Floats = np.full_like(self.weights, 1e-300)
        for table, share in self._used():
            sums += share * ((table if factor is None else table * factor) @ common)
        return sums

    def _used(self) -> list[tuple[Floats, Floats]]:
        """The tables with their shares: of pages without dates the first alone."""
        tables = [(self.visits, self.of_visits), (self.changed, self.of_changed), (self.born, self.of_born)]
        return tables if self.of_changed.any() else tables[:1]

    def with_births(self, first: Floats) -> _Evidence:
        """With another share of births among the dates, in each replicate."""
        dated = self.of_changed + self.of_born
        return replace(self, of_changed=dated * (1.0 - first), of_born=dated * first)

    def births(self, common: Floats, first: Floats) -> Floats:
        """The share of births among the dates of pages that were visited again; `first` is a guess before any was."""
        share = self.weights / self.sums(common)
        born = (share * self.of_born * (self.born @ common)).sum(axis=0)
        changed = (share * self.of_changed * (self.changed @ common)).sum(axis=0)
        births: Floats = (_DATE_TRUST * first + born) / (_DATE_TRUST + born + changed)
        return births

    def fit(self, prior: Floats) -> Floats:
        """The distribution of rates in each replicate. `prior` sums to the weight of the prior."""
        common: Floats = prior / prior.sum(axis=0)
        for _ in range(_ITERATIONS if len(self.visits) else 0):
            weights = self.weights / self.sums(common)
            expected = np.zeros_like(prior)
            for table, share in self._used():
                expected += table.T @ (weights * share)
            common = common * expected + prior
            common = common / common.sum(axis=0)
        return common

    def still(self, common: Floats, ages: Floats) -> Floats:
        """The probability that a page has not changed for that many days, in each replicate."""
        chances: Floats = self.sums(common, np.exp(-ages[:, None] * _RATES)) / self.sums(common)
        return chances


def _replicates(
    pages: Sequence[PageEvidence], site: Sequence[int], sites: Sequence[SiteEvidence], now: float
) -> Floats:
    """The probability of each page (row) that its copy is fresh, in each replicate (column)."""
    random = np.random.default_rng(_SEED)
    number = np.asarray(site, np.int64)
    kept = pages_of(b"".join(page.pack() for page in pages))
    is_dated = (kept["old_changes"] == BY_DATE) & (kept["ring"][:, -1] == 0)
    seen = _evidence(kept, is_dated, number, sites, random)
    is_known = seen.weights[:, 0] > 0.0
    ages = np.maximum(now - kept["visited_at"], 0.0) / DAY
    highest = _PRIOR_PER_AGE / max(float(ages.mean()), 1e-6)
    common = {False: seen.rows(is_known & ~is_dated).fit(_prior(random, highest))}
    first, prior = random.beta(*_BIRTHS, _REPLICATES), _prior(random, highest)
    births = first
    for _ in range(_BIRTH_ROUNDS):
        seen = seen.with_births(births)
        common[True] = seen.rows(is_dated).fit(prior)
        births = seen.rows(is_dated & (kept["ring"][:, 0] != 0)).births(common[True], first)
    group = _groups(4 * number + 2 * is_dated + (kept["heard"] > 0), is_known)
    chances = np.empty_like(seen.weights)
    for each in range(int(group.max()) + 1):
        for has in (False, True):
            rows = (group == each) & (is_dated == has)
            if rows.any():
                fitted = seen.rows(rows & is_known).fit(_redrawn(common[has], random))
                chances[rows] = seen.rows(rows).still(fitted, ages[rows])
    told = [boost_of(page, sites[each]) for page, each in zip(pages, site, strict=True)]
    heard = [nothing_unheard(page, sites[each], now) for page, each in zip(pages, site, strict=True)]
    chances *= (np.exp(-np.array(told)) * np.array(heard))[:, None]
    return chances


def _evidence(
    kept: NDArray[np.void],
    is_dated: NDArray[np.bool_],
    site: NDArray[np.int64],
    sites: Sequence[SiteEvidence],
    random: Generator,
) -> _Evidence:
    visits = _likelihood(kept, is_dated, site, sites)
    ages = np.where(is_dated, kept["old_days"], 0.0).astype(np.float64)[:, None] * _RATES
    false = np.array([_false_dates(each, random) for each in sites])[site]
    dated = is_dated[:, None]
    is_known = is_dated | (kept["ring"][:, 0] != 0)
    return _Evidence(
        visits,
        visits * ages * np.exp(1.0 - ages),
        visits * np.exp(-ages),
        np.where(dated, false / 2.0, 1.0),
        np.where(dated, 1.0 - false, 0.0),
        np.zeros_like(false),
        np.where(is_known[:, None], random.exponential(1.0, (len(kept), _REPLICATES)), 0.0),
    )


def _groups(group: NDArray[np.int64], is_known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number the groups, those with the most known pages first; all beyond the limit share the last number."""
    names, numbers = np.unique(group, return_inverse=True)
    order = np.argsort(-np.bincount(numbers, is_known, len(names)), kind="stable")
    places = np.empty(len(names), np.int64)
    places[order] = np.minimum(np.arange(len(names)), _MAX_GROUPS)
    return places[numbers]


def _likelihood(
    kept: NDArray[np.void], is_dated: NDArray[np.bool_], site: NDArray[np.int64], sites: Sequence[SiteEvidence]
) -> Floats:
    """Of the visits to each page (a row) under each rate (a column); the best has 1."""
    seen = observations_of(kept)
    kappas = np.array([each.kappas for each in sites])
    reasons = (seen.signals * kappas[site[seen.page]]).sum(axis=1)
    changes, days = (np.where(is_dated, 0.0, kept[name]) for name in ("old_changes", "old_days"))
    quiet = ~seen.is_changed
    days = days + np.bincount(seen.page[quiet], seen.days[quiet], len(kept))
    logs: Floats = changes[:, None] * np.log(_RATES) - days[:, None] * _RATES
    found = np.flatnonzero(seen.is_changed)
    expected = seen.days[found, None] * _RATES + reasons[found, None]
    np.add.at(logs, seen.page[found], np.log(-np.expm1(-np.maximum(expected, 1e-12))))
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _false_dates(site: SiteEvidence, random: Generator) -> Floats:
    """The share of false dates in each replicate: a Beta around what is known, wide until visits have checked some."""
    checked = _DATE_TRUST + site.date_expected + site.date_otherwise
    share = min(max(site.false_dates, 0.02), 0.98)
    return random.beta(checked * share, checked * (1.0 - share), _REPLICATES)


def _prior(random: Generator, highest: float) -> Floats:
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
    """Random weights at these places of the grid, which sum to `pages` on average; a little everywhere else."""
    prior = np.full((len(_RATES), _REPLICATES), 1e-3 / len(_RATES))
    shares = random.exponential(pages / len(places), places.shape)
    np.add.at(prior, (places, np.arange(_REPLICATES)), shares)
    return prior

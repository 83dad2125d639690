"""Samples how often pages change, and when their site changed, from the visits to all pages: a Gibbs sampler.

Page `i` changes at the rate `rate_i * pace_s(t)`. The pace of its site `s` is 1 in the long run and goes up and down
with the calendar: where pages are rebuilt at night it is high for a moment and 0 else. It is a gamma process
(Kalbfleisch 1978) on bins of time that end with visits: visits that found changes after the night, and none before, say
that all copies of before are stale. How unsteady the pace is (`_STEADINESS`) is sampled with the rest, so a site of
steady changes is not taken for one that changes at once, nor the reverse; until visits show it, both are possible. The
rates of a group of pages have a distribution without a form (a Dirichlet process mixture of log-normal ones, on a grid;
those of groups are variations of a common one).

A site that is built at the same hour each night is unsteady, but regular: the mean of its pace depends on the hour of
the day (`_sample_day`). So a build is expected at its hour, before anything of it was read or visited, and no other
change until the next one.

A visit that found a change says that there was at least one since the visit before. Its time is sampled (data
augmentation, Tanner & Wong 1987): then rates, pace and steadiness have simple distributions each, given the others.
What was sampled depends only on what visits found, so it does not matter that the scheduler chose the visits by what
earlier ones had found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from operator import add, mul

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from .evidence import DAY
from .signal_posterior import SignalPosterior

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RATES: Floats = np.geomspace(1e-4, 1e5, 46)
"""Changes a day: from once in 27 years to every second, five steps for each power of ten."""
_SINGLE_RATES: Singles = RATES.astype(np.float32)
_LOG_RATES: Singles = np.log(RATES).astype(np.float32)
_KERNEL_SPREAD = 0.8
"""The standard deviation of the natural logarithm of rates that count as alike: a factor of 2.2 up or down. Without it
the distributions collapse to a few rates, at which the draws stay."""
_KERNELS: Floats = np.exp(-0.5 * ((np.log(RATES) - np.log(RATES)[:, None]) / _KERNEL_SPREAD) ** 2)
_KERNELS /= _KERNELS.sum(axis=1, keepdims=True)
_STEADINESS: Floats = np.geomspace(0.03, 3e4, 9)
"""Values of the steadiness: the pace of `d` typical times between visits has the mean 1 and the variance
`1 / (d * steadiness)`. At 0.03 a site changes all at once after 30 visits or so; at 30,000 its pace is steady."""
_HOURS = 24
_LIKENESS: Floats = np.array([0.03, 0.3, 3.0, 1000.0])
"""Values of how alike the hours of the day are on a site: the shape of the distribution of their usual pace. At 0.03
nearly all changes come at one hour, at 1,000 all hours are alike. As many sites are of each kind, at first."""
_STEADY_SITES, _UNSTEADY_SITES = 1.0, 1.0
"""Weight of the prior of steadiness, in sites: for the last value, and for all others together."""
_MEDIAN_RATE, _SPREAD = 1 / 240, 3.0
"""The prior of rates: the median, in changes in the shortest time between two visits, and the standard deviation of the
natural logarithm. With an hour, the default, a quarter of the pages change more than once a day and a quarter less than
once a quarter (Brandman et al. 2000, Figure 2). A user who sets seconds has pages that change by the minute."""
_PRIOR_PAGES, _COMMON_PAGES = 5.0, 5.0
"""Weight of the prior, in visited pages; and of what all groups have in common for the distribution of one group. With
a prior of less weight the first sites that are visited twice decide what is believed of all others."""
_BURN_IN, _LEAST_DRAWS, _MOST_DRAWS, _PAGES_DRAWN = 25, 50, 120, 60_000
"""Draws that are dropped, until they no longer depend on where they began; draws that are used, at least and at most,
and the number of pages, all draws together, beyond which fewer are used: more take longer."""
_MISSED = 0.25
"""The pace of a site is sampled for the time since which at most this share of the changes was found on pages of which
earlier visits are not known one by one; before, it is the usual one."""
_DATE_DENSITY = 0.12
"""Density of the logarithm of the age of a page, and of a false date: from a day to ten years, all alike."""
_OLDEST_DATE = 3650.0
"""Days: the age up to which pages are taken to be distributed so."""
_LEAST = 1e-12
"""Added to, or the minimum of, what is divided by or has its logarithm taken."""


class Visits(Struct, frozen=True):
    """The results of visits, as columns. All times are in days before now, so `begin >= end >= 0`.

    `page` is whose visit it was, in ascending order; `begin` the visit before, `end` this one.
    """

    page: Ints
    begin: Floats
    end: Floats
    is_changed: Bools


class Pages(Struct, frozen=True):
    """The other data of each page.

    `site` and `group` are numbers from 0; `age` is days since the last visit; `old_changes` in `old_days` are visits
    that are not known one by one; `is_cut`: there were any. `dated` are the days since the last change by the page's
    date at the first visit, 0 without one. How many of such dates are false has the Beta distributions `false_dates`,
    one for each site as it was given, of which `dates` is the number.
    """

    site: Ints
    group: Ints
    age: Floats
    old_changes: Floats
    old_days: Floats
    is_cut: Bools
    dated: Floats
    dates: Ints
    false_dates: tuple[Floats, Floats]


class _Bins(Struct, frozen=True):
    """Times as places in bins: the bin and the part of it that lies before the time. Bins count from the oldest.

    `cell` and `sum` are the places of the bin and of its beginning among those of all sites.
    """

    bin: Ints
    part: Floats
    cell: Ints
    sum: Ints

    def paced(self, pace: Floats, sums: Floats) -> Floats:
        """The days until these times, at the pace of the sites."""
        paced: Floats = sums.ravel().take(self.sum) + self.part * pace.ravel().take(self.cell)
        return paced


class ChangePosterior:
    """Draws, for each page, the probability that its copy is as the page is now."""

    def __init__(
        self,
        pages: Pages,
        visits: Visits,
        signals: SignalPosterior,
        random: Generator,
        shortest: float,
        now: float = 0.0,
    ) -> None:
        self._pages, self._visits, self._signals, self._random = pages, visits, signals, random
        self._site = pages.site[visits.page]
        self._edges = _edges(visits, pages.age)
        self._width = -np.diff(self._edges)
        self._hours = hours_of(self._edges, now)
        self._begin, self._end = self._placed(visits.begin, self._site), self._placed(visits.end, self._site)
        self._copies = self._placed(pages.age, pages.site)
        self._is_dated, self._uses_dates = pages.dated > 0.0, True
        self._is_seen = pages.old_days > 0.0
        self._is_seen[visits.page] = True
        self._prior = np.exp(-0.5 * (np.log(RATES * shortest / _MEDIAN_RATE) / _SPREAD) ** 2)
        self._prior *= _PRIOR_PAGES / self._prior.sum()
        sites, groups = int(pages.site.max()) + 1, int(pages.group.max()) + 1
        self._pace = np.tile(self._width, (sites, 1))
        self._usual = np.tile(self._width, (sites, 1))
        self._day = np.ones((sites, _HOURS))
        self._common = np.tile(self._prior / self._prior.sum(), (2, 1))
        self._kind = self._group_is_dated(groups)
        self._mixes = self._common[self._kind]
        between = visits.begin - visits.end
        self._steadiness = _STEADINESS / (float(np.median(between)) if len(between) else float(self._width.sum()))
        self._prior_of_steadiness = np.full(len(_STEADINESS), _UNSTEADY_SITES / (len(_STEADINESS) - 1))
        self._prior_of_steadiness[-1] = _STEADY_SITES
        self._chosen: Ints = np.full(sites, len(_STEADINESS) - 1)
        self._is_whole = self._edges[:-1] <= self._whole_since(sites)[:, None]
        self._reasons = signals.reasons()
        self._of_true_dates = _of_true_dates(pages.dated[self._is_dated])
        self._quiet, self._found = np.flatnonzero(~visits.is_changed), np.flatnonzero(visits.is_changed)
        self._first, self._later = _ranked(visits.page[self._found])
        self._prior_of_likeness = np.full(len(_LIKENESS), 1.0 / len(_LIKENESS))
        self._chosen_likeness: Ints = np.full(sites, len(_LIKENESS) - 1)

    def draws(self) -> Iterator[Floats]:
        """The chances of all pages, once for each draw. Where pages have dates, half of the draws do without them.

        Dates mislead as often as they help: those of the last hour are missing, others are of births. Without dates,
        pages that were visited for a recent date are taken for a random choice. The truth is mostly in between.
        """
        trusts = (True, False) if self._is_dated.any() else (True,)
        used = min(max(_PAGES_DRAWN // len(self._pages.age), _LEAST_DRAWS), _MOST_DRAWS)
        for self._uses_dates in trusts:
            for number in range(_BURN_IN + used // len(trusts)):
                chances = self._sweep()
                if number >= _BURN_IN:
                    yield chances

    def _sweep(self) -> Floats:
        """Draw everything once, given what was drawn before; the chances of all pages."""
        pages = self._pages
        sums = _sums_of(self._pace)
        passed = self._end.paced(self._pace, sums) - self._begin.paced(self._pace, sums)
        passed = np.maximum(passed, _LEAST)
        weights = self._likelihood(passed)
        weights *= (self._mixes @ _KERNELS).astype(np.float32)[pages.group]
        weights /= weights.sum(axis=1, keepdims=True)
        since = sums[pages.site, -1] - self._copies.paced(self._pace, sums)
        unchanged = np.exp(-np.maximum(since, 0.0).astype(np.float32)[:, None] * _SINGLE_RATES)
        chances = np.einsum("ij,ij->i", weights, unchanged) * self._signals.chances()
        place = self._sample_rates(weights)
        self._sample_mixes(place)
        rates = RATES[place]
        expected = np.maximum(rates[self._visits.page] * passed, _LEAST)
        self._signals.draw(expected)
        self._reasons = self._signals.reasons()
        self._sample_pace(rates[self._visits.page], expected, sums)
        return np.asarray(np.clip(chances, 0.0, 1.0), np.float64)

    # preparing

    def _placed(self, times: Floats, site: Ints) -> _Bins:
        """Where times, in days before now, lie in the bins."""
        place = np.clip(np.searchsorted(-self._edges, -times, "right") - 1, 0, len(self._width) - 1)
        part = np.clip((self._edges[place] - times) / self._width[place], 0.0, 1.0)
        return _Bins(place, part, site * len(self._width) + place, site * len(self._edges) + place)

    def _whole_since(self, sites: int) -> Floats:
        """Since when, in days before now, nearly all visits to the pages of each site are known one by one.

        Where a page changed it is visited more often, and the visits that are known of it begin later: of the time
        before mostly those pages tell that did not change then.
        """
        pages, visits = self._pages, self._visits
        oldest = np.zeros(len(pages.age))
        np.maximum.at(oldest, visits.page, visits.begin)
        changes = np.bincount(visits.page, visits.is_changed, len(pages.age))
        since = np.full(sites, np.inf)
        for site in range(sites):
            mine = np.flatnonzero((pages.site == site) & (changes > 0.0))
            order = mine[np.argsort(np.where(pages.is_cut[mine], oldest[mine], np.inf))]
            missed = np.cumsum(changes[order])
            if len(order) and pages.is_cut[last := order[np.searchsorted(missed, _MISSED * missed[-1])]]:
                since[site] = oldest[last]
        return since

    def _group_is_dated(self, groups: int) -> Ints:
        dated = np.zeros(groups, np.int64)
        dated[self._pages.group[self._is_dated]] = 1
        return dated

    # rates

    def _likelihood(self, passed: Floats) -> Singles:
        """Of what visits found at a page (a row) under each rate (a column), given the paced days; the best has 1.

        The sums of older visits count as the share of paced days after which the known visits found no change. A visit
        that found one was added as the number of changes expected at the rate that was estimated then: where nearly
        every visit finds one, or every visit after a build, that number is not an observation, and the page may change
        a hundred times as often.
        """
        pages, visits = self._pages, self._visits
        days = np.bincount(visits.page[self._quiet], passed[self._quiet], len(pages.age)).astype(np.float64)
        trust = days / np.maximum(np.bincount(visits.page, passed, len(pages.age)), _LEAST)
        days = days + trust * pages.old_days
        changes = (trust * pages.old_changes).astype(np.float32)
        logs: Singles = np.multiply.outer(changes, _LOG_RATES)
        logs -= np.multiply.outer(days.astype(np.float32), _SINGLE_RATES)
        found = self._found
        if len(found):
            each = self._of_changes(passed[found], self._reasons[found])
            others = np.zeros((len(self._first), len(RATES)), np.float32)
            for place, later in self._later:
                others[place] += each[later]
            logs[visits.page[found[self._first]]] += each[self._first] + others
        logs -= logs.max(axis=1, keepdims=True)
        likelihood: Singles = np.exp(logs, out=logs)
        if self._uses_dates and len(self._of_true_dates):
            likelihood[self._is_dated] *= self._of_dates()
        return likelihood

    def _of_changes(self, passed: Floats, reasons: Floats) -> Singles:
        """The logarithm of the probability of a change at each visit under each rate."""
        table = _log_of_change()
        row = np.rint((np.log(passed) - _FIRST_LOG) * (_ROWS_IN_STEP / _STEP))
        logs: Singles = table[row.clip(0, len(table) - 1).astype(np.int64)]
        told = np.flatnonzero(reasons)
        if len(told):
            expected = passed[told].astype(np.float32)[:, None] * _SINGLE_RATES
            expected += reasons[told].astype(np.float32)[:, None]
            logs[told] = np.log(1.0 - np.exp(-expected))
        return logs

    def _of_dates(self) -> Floats:
        """The likelihood of dates, for the logarithm of the time since: of the last change, of the birth, or false."""
        drawn = self._random.beta(*self._pages.false_dates)
        false = drawn[self._pages.dates[self._is_dated]][:, None]
        likelihood: Floats = false * _DATE_DENSITY + (1.0 - false) * self._of_true_dates
        return likelihood

    def _sample_rates(self, weights: Singles) -> Ints:
        """A rate for each page, as its place in the grid."""
        sums = np.cumsum(weights, axis=1)
        drawn = self._random.random((len(weights), 1), np.float32)
        place: Ints = (sums < drawn * sums[:, -1:]).sum(axis=1)
        return np.asarray(np.minimum(place, len(RATES) - 1))

    def _sample_mixes(self, place: Ints) -> None:
        """Sample the distributions of rates, from the rates of the pages with evidence."""
        pages, groups = self._pages, len(self._mixes)
        known = self._is_seen | (self._is_dated & self._uses_dates)
        size = len(RATES)
        counts = np.bincount(pages.group[known] * size + place[known], minlength=groups * size)
        group, rate = np.divmod(np.flatnonzero(counts), size)
        kernels = self._mixes[group] * _KERNELS[:, rate].T
        kernels /= kernels.sum(axis=1, keepdims=True)
        of_kernels = self._random.multinomial(counts[counts > 0], kernels)
        of_groups = _sums_by(group, of_kernels, groups)
        expected = _COMMON_PAGES * self._common[self._kind] + _LEAST
        shared = expected * np.log1p(of_groups / expected)
        self._common = self._dirichlet(self._prior + [shared[self._kind == each].sum(axis=0) for each in (0, 1)])
        self._mixes = self._dirichlet(_COMMON_PAGES * self._common[self._kind] + of_groups)

    def _dirichlet(self, weights: Floats) -> Floats:
        drawn = self._random.gamma(weights) + 1e-9 / len(RATES)
        shares: Floats = drawn / drawn.sum(axis=-1, keepdims=True)
        return shares

    # the pace of sites

    def _sample_pace(self, rate: Floats, expected: Floats, sums: Floats) -> None:
        """Sample the pace of each site in each bin, given rates: first times of changes, then the unsteadiness.

        `rate` is that of each visit's page, `expected` the number of changes that no signal reported before the visit.
        """
        random, found = self._random, self._found
        own = np.expm1(-expected[found]) / np.expm1(-(expected + self._reasons)[found])
        found = found[random.random(len(found)) < own]
        wait = -np.log1p(random.random(len(found)) * np.expm1(-expected[found])) / rate[found]
        site = self._site[found]
        at = self._begin.paced(self._pace, sums)[found] + wait
        apart = float(sums[:, -1].max()) + 1.0
        shifted = (sums + apart * np.arange(len(sums))[:, None]).ravel()
        place = np.searchsorted(shifted, at + apart * site, "right") - 1 - site * sums.shape[1]
        place = np.clip(place, self._begin.bin[found], self._end.bin[found])
        part = np.clip((at - sums[site, place]) / np.maximum(self._pace[site, place], 1e-300), 0.0, 1.0)
        last, last_part = self._end.bin.copy(), self._end.part.copy()
        last[found], last_part[found] = place, part
        shape = self._pace.shape
        changes = np.bincount(site * shape[1] + place, minlength=self._pace.size).reshape(shape).astype(np.float64)
        exposed = self._exposures(rate, last, last_part)
        self._pace = self._drawn_pace(changes, exposed)

    def _exposures(self, rate: Floats, last: Ints, last_part: Floats) -> Floats:
        """For each site and bin the sum of the rates of pages, each times the part of the bin in which it is seen.

        `last` and `last_part` are where the observation of each visit ends.
        """
        sites, bins = self._pace.shape
        steps = np.bincount(self._begin.sum, rate, sites * (bins + 1))
        steps -= np.bincount(self._site * (bins + 1) + last, rate, sites * (bins + 1))
        seen = np.cumsum(steps.reshape(sites, bins + 1), axis=1)[:, :-1]
        seen = seen.ravel()
        seen -= np.bincount(self._begin.cell, rate * self._begin.part, sites * bins)
        seen += np.bincount(self._site * bins + last, rate * last_part, sites * bins)
        return np.maximum(seen.reshape(sites, bins), 0.0)

    def _drawn_pace(self, changes: Floats, exposed: Floats) -> Floats:
        """The pace, given how often pages changed in each bin and how much they were seen."""
        usual, is_whole = self._usual, self._is_whole
        known, seen = changes * is_whole, exposed * is_whole
        likelihood = _likelihood_of_shapes(self._steadiness, usual, known, seen)
        self._chosen = self._chosen_again(self._chosen, likelihood, self._prior_of_steadiness)
        steadiness = self._steadiness[self._chosen][:, None]
        self._sample_day(changes, exposed, steadiness)
        pace = (self._random.gamma(steadiness * self._usual + known) + _LEAST) / (steadiness + seen)
        return np.where(is_whole, pace, self._usual)

    def _sample_day(self, changes: Floats, exposed: Floats, steadiness: Floats) -> None:
        """Sample the pace that each site usually has at each hour of the day, whatever it was in each bin.

        The changes of a bin are negative binomial. They fall into a number of clusters, which is Poisson with a mean
        that is linear in the usual pace, and therefore is sampled first (Zhou & Carin 2015).
        """
        random, sites = self._random, len(changes)
        shape = np.maximum(steadiness * self._usual, _LEAST)
        site, bin_ = np.nonzero(changes)
        count = changes[site, bin_].astype(np.int64)
        before = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        at = np.repeat(shape[site, bin_], count)
        is_first = random.random(len(at)) * (at + before) < at
        clusters = np.bincount(np.repeat(np.arange(len(count)), count), is_first, len(count)).astype(np.int64)
        weights = self._day[site] * self._hours[bin_] + _LEAST**2
        of_hours = random.multinomial(clusters, weights / weights.sum(axis=1, keepdims=True))
        hours = _sums_by(site, of_hours, sites)
        seen = (steadiness * np.log1p(exposed / steadiness)) @ self._hours
        likelihood = _likelihood_of_shapes(_LIKENESS, np.ones((1, _HOURS)), hours, seen)
        self._chosen_likeness = self._chosen_again(self._chosen_likeness, likelihood, self._prior_of_likeness)
        likeness = _LIKENESS[self._chosen_likeness][:, None]
        day = (random.gamma(likeness + hours) + _LEAST) / (likeness + seen)
        self._day = day / day.mean(axis=1, keepdims=True)
        self._usual = self._day @ self._hours.T

    def _chosen_again(self, chosen: Ints, likelihood: Floats, prior: Floats) -> Ints:
        """Sample for each site (a column) one of some values (rows): each site is likely as the others are."""
        counts, before = np.bincount(chosen, minlength=len(prior)).tolist(), chosen.tolist()
        weights, first, after = likelihood.T.tolist(), prior.tolist(), []
        for number, each in zip(before, weights, strict=True):
            counts[number] -= 1
            sums = list(accumulate(map(mul, each, map(add, first, counts))))
            after.append(bisect_right(sums, self._random.random() * sums[-1]))
            counts[after[-1]] += 1
        return np.array(after, np.int64)


def _likelihood_of_shapes(values: Floats, usual: Floats, counts: Floats, exposed: Floats) -> Floats:
    """The likelihood of the counts of each site (a column), under each value (a row); the best has 1.

    A count is Poisson, with `exposed` times a Gamma of the mean `usual` and of the shape `usual` times the value.
    """
    value = values[:, None, None]
    prior = value * usual
    logs = prior * np.log(value) - (prior + counts) * np.log(value + exposed)
    site, found = np.nonzero(counts)
    mine = np.broadcast_to(prior, logs.shape)[:, site, found]
    more, less = _log_gamma(np.stack((mine + counts[site, found], mine)))
    logs[:, site, found] += more - less
    sums = logs.sum(axis=2)
    likelihood: Floats = np.exp(sums - sums.max(axis=0))
    return likelihood


def hours_of(edges: Floats, now: float) -> Floats:
    """The days of each bin (a row) that lie in each hour of the day (a column); `edges` are in days before now.

    Of each edge it is counted how much of each hour passed before it, so the memory does not grow with the length of
    the time: imported pages may have been visited decades ago.
    """
    at = now / DAY - edges  # days of the calendar, the oldest first
    day = np.floor(at)
    hours = np.clip((at - day)[:, None] * _HOURS - np.arange(_HOURS), 0.0, 1.0)
    passed = ((day - day[0])[:, None] + hours) / _HOURS
    days: Floats = np.maximum(np.diff(passed, axis=0), 0.0)
    return days


_STEP = float(np.log(RATES[1] / RATES[0]))
_ROWS_IN_STEP = 32
_FIRST_LOG, _LAST_LOG = float(np.log(1e-7)), float(np.log(1e5))
"""Of a table: the logarithm of the days in its first row and in its last, and rows for a step of `RATES`."""


@lru_cache(1)
def _log_of_change() -> Singles:
    """The logarithm of the probability of a change, for days (rows) and rates (columns), without signals."""
    days = np.exp(np.arange(_FIRST_LOG, _LAST_LOG, _STEP / _ROWS_IN_STEP))
    logs: Floats = np.log(-np.expm1(-days[:, None] * RATES))
    return logs.astype(np.float32)


def _of_true_dates(dated: Floats) -> Floats:
    """The likelihood under each rate of dates that are those of changes or of births, this number of days old."""
    ages = dated[:, None] * RATES
    older = np.clip(_DATE_DENSITY * np.log(_OLDEST_DATE / np.maximum(dated, _LEAST)), 0.05, 1.0)[:, None]
    likelihood: Floats = (older * ages + _DATE_DENSITY) * np.exp(-ages)
    return likelihood


def _log_gamma(values: Floats) -> Floats:
    """The logarithm of the gamma function; by Stirling's formula, from `values` + 8 on."""
    shifted = values + 8.0
    steps = np.multiply.reduce(np.add.outer(np.arange(8.0), values))
    stirling = (shifted - 0.5) * np.log(shifted) - shifted + 1.0 / (12.0 * shifted) - 1.0 / (360.0 * shifted**3)
    return np.asarray(stirling - np.log(np.maximum(steps, 1e-300)))


def _sums_by(group: Ints, rows: Ints, groups: int) -> Floats:
    """The sums of the rows of each group."""
    sums: Floats = (np.arange(groups)[:, None] == group).astype(np.float64) @ rows.astype(np.float64)
    return sums


def _ranked(page: Ints) -> tuple[Ints, list[tuple[Ints, Ints]]]:
    """The first place of each page; and the second places, the third and so on, with the numbers of their pages.

    Pages stand together. Adding a place of all pages at once is quicker than adding up page after page.
    """
    first = np.flatnonzero(np.diff(page, prepend=-1))
    number = np.repeat(np.arange(len(first)), np.diff(first, append=len(page)))
    rank = np.arange(len(page)) - first[number]
    later = [np.flatnonzero(rank == each) for each in range(1, int(rank.max(initial=0)) + 1)]
    return first, [(number[places], places) for places in later]


def _sums_of(pace: Floats) -> Floats:
    """The paced days before each bin of each site, and of all bins."""
    sums = np.zeros((len(pace), pace.shape[1] + 1))
    np.cumsum(pace, axis=1, out=sums[:, 1:])
    return sums


_BINS = 128
"""Bins that end with visits of all times; and the same number with the last visits of pages. Within a bin the pace is
even: where a build lies in a long one, pages seem not to have changed at a part of it, and rates are too low."""


def _edges(visits: Visits, ages: Floats) -> Floats:
    """Where bins begin and end, in days before now, the oldest first: at visits, each after equally many of them."""
    shares = np.linspace(0.0, 1.0, _BINS + 1)
    times = [np.quantile(ages, shares)]
    if len(visits.page):
        times.append(np.quantile(np.concatenate((visits.begin, visits.end)), shares))
    oldest = max(float(each[-1]) for each in times)
    edges = np.unique(np.concatenate(([0.0, oldest + 1e-5], *times)))
    far = np.concatenate(([True], np.diff(edges) > 1e-6))
    return edges[far][::-1].copy()

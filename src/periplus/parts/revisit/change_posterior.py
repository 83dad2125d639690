"""Samples how often pages change, and when their site changed, from the visits to all pages: a Gibbs sampler.

Page `i` changes at the rate `rate_i * pace_s(t)`. The pace of its site `s` is 1 in the long run and goes up and down
with the calendar: where pages are rebuilt at night it is high for a moment and 0 else. It is a gamma process
(Kalbfleisch 1978) on bins of time that end with visits: visits that found changes after the night, and none before, say
that all copies of before are stale. How unsteady the pace is (`_STEADINESS`) is sampled with the rest, so a site of
steady changes is not taken for one that changes at once, nor the reverse; until visits show it, both are possible. The
rates of a group of pages have a distribution without a form (a Dirichlet process on a grid; those of groups are
variations of a common one).

A visit that found a change says that there was at least one since the visit before. Its time is sampled (data
augmentation, Tanner & Wong 1987): then rates, pace and steadiness have simple distributions each, given the others.
What was sampled depends only on what visits found, so it does not matter that the scheduler chose the visits by what
earlier ones had found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RATES: Floats = np.geomspace(1e-4, 1e5, 46)
"""Changes a day: from once in 27 years to every second, five steps for each power of ten."""
_STEADINESS: Floats = np.geomspace(0.03, 3e4, 9)
"""Values of the steadiness: the pace of `d` typical times between visits has the mean 1 and the variance
`1 / (d * steadiness)`. At 0.03 a site changes all at once after 30 visits or so; at 30,000 its pace is steady."""
_STEADY_SITES, _UNSTEADY_SITES = 1.0, 1.0
"""Weight of the prior of steadiness, in sites: for the last value, and for all others together."""
_MEDIAN_RATE, _SPREAD = 1 / 240, 3.0
"""The prior of rates: the median, in changes in the shortest time between two visits, and the standard deviation of the
natural logarithm. With an hour, the default, a quarter of the pages change more than once a day and a quarter less than
once a quarter (Brandman et al. 2000, Figure 2). A user who sets seconds has pages that change by the minute."""
_PRIOR_PAGES, _COMMON_PAGES = 5.0, 5.0
"""Weight of the prior, in visited pages; and of what all groups have in common for the distribution of one group. With
a prior of less weight the first sites that are visited twice decide what is believed of all others."""
_BURN_IN, _DRAWS = 15, 50
"""Draws that are dropped, until they no longer depend on where they began; and draws that are used."""
_DATE_DENSITY = 0.12
"""Density of the logarithm of the age of a page, and of a false date: from a day to ten years, all alike."""
_OLDEST_DATE = 3650.0
"""Days: the age up to which pages are taken to be distributed so."""
_LEAST = 1e-12
"""Added to, or the minimum of, what is divided by or has its logarithm taken."""


class Visits(Struct, frozen=True):
    """The results of visits, as columns. All times are in days before now, so `begin >= end >= 0`.

    `page` is whose visit it was, in ascending order; `begin` the visit before, `end` this one; `reasons` the expected
    changes that signals reported in between.
    """

    page: Ints
    begin: Floats
    end: Floats
    is_changed: Bools
    reasons: Floats


class Pages(Struct, frozen=True):
    """The other data of each page.

    `site` and `group` are numbers from 0; `age` is days since the last visit; `old_changes` in `old_days` are visits
    that are not known one by one. `dated` are the days since the last change by the page's date at the first visit, 0
    without one. How many of such dates are false has the Beta distributions `false_dates`, one for each site as it was
    given, of which `dates` is the number.
    """

    site: Ints
    group: Ints
    age: Floats
    old_changes: Floats
    old_days: Floats
    dated: Floats
    dates: Ints
    false_dates: tuple[Floats, Floats]


class _Bins(Struct, frozen=True):
    """Times as places in bins: the bin and the part of it that lies before the time. Bins count from the oldest."""

    bin: Ints
    part: Floats

    def paced(self, site: Ints, pace: Floats, sums: Floats) -> Floats:
        """The days until these times, at the pace of the sites."""
        paced: Floats = sums[site, self.bin] + self.part * pace[site, self.bin]
        return paced


class ChangePosterior:
    """Draws, for each page, the probability that its copy is as the page is now."""

    def __init__(self, pages: Pages, visits: Visits, random: Generator, shortest: float) -> None:
        self._pages, self._visits, self._random = pages, visits, random
        self._site = pages.site[visits.page]
        self._edges = _edges(visits, pages.age)
        self._width = -np.diff(self._edges)
        self._begin, self._end = self._placed(visits.begin), self._placed(visits.end)
        self._copies = self._placed(pages.age)
        self._is_dated, self._uses_dates = pages.dated > 0.0, True
        self._is_seen = pages.old_days > 0.0
        self._is_seen[visits.page] = True
        self._prior = np.exp(-0.5 * (np.log(RATES * shortest / _MEDIAN_RATE) / _SPREAD) ** 2)
        self._prior *= _PRIOR_PAGES / self._prior.sum()
        sites, groups = int(pages.site.max()) + 1, int(pages.group.max()) + 1
        self._pace = np.tile(self._width, (sites, 1))
        self._common = np.tile(self._prior / self._prior.sum(), (2, 1))
        self._mixes = self._common[self._group_is_dated(groups)]
        between = visits.begin - visits.end
        self._steadiness = _STEADINESS / (float(np.median(between)) if len(between) else float(self._width.sum()))
        self._prior_of_steadiness = np.full(len(_STEADINESS), _UNSTEADY_SITES / (len(_STEADINESS) - 1))
        self._prior_of_steadiness[-1] = _STEADY_SITES
        self._chosen: Ints = np.full(sites, len(_STEADINESS) - 1)

    def draws(self) -> Iterator[Floats]:
        """The chances of all pages, once for each draw. Where pages have dates, half of the draws do without them.

        Dates mislead as often as they help: those of the last hour are missing, others are of births. Without dates,
        pages that were visited for a recent date are taken for a random choice. The truth is mostly in between.
        """
        trusts = (True, False) if self._is_dated.any() else (True,)
        for self._uses_dates in trusts:
            for number in range(_BURN_IN + _DRAWS // len(trusts)):
                chances = self._sweep()
                if number >= _BURN_IN:
                    yield chances

    def _sweep(self) -> Floats:
        """Draw everything once, given what was drawn before; the chances of all pages."""
        pages = self._pages
        sums = np.concatenate((np.zeros((len(self._pace), 1)), np.cumsum(self._pace, axis=1)), axis=1)
        passed = self._end.paced(self._site, self._pace, sums) - self._begin.paced(self._site, self._pace, sums)
        passed = np.maximum(passed, _LEAST)
        weights = self._likelihood(passed) * self._mixes[pages.group]
        weights /= weights.sum(axis=1, keepdims=True)
        since = sums[pages.site, -1] - self._copies.paced(pages.site, self._pace, sums)
        chances = (weights * np.exp(-np.maximum(since, 0.0)[:, None] * RATES)).sum(axis=1)
        place = self._sample_rates(weights)
        self._sample_mixes(place)
        self._sample_pace(RATES[place], passed, sums)
        return np.asarray(np.clip(chances, 0.0, 1.0))

    # preparing

    def _placed(self, times: Floats) -> _Bins:
        """Where times, in days before now, lie in the bins."""
        place = np.clip(np.searchsorted(-self._edges, -times, "right") - 1, 0, len(self._width) - 1)
        part = np.clip((self._edges[place] - times) / self._width[place], 0.0, 1.0)
        return _Bins(place, part)

    def _group_is_dated(self, groups: int) -> Ints:
        dated = np.zeros(groups, np.int64)
        dated[self._pages.group[self._is_dated]] = 1
        return dated

    # rates

    def _likelihood(self, passed: Floats) -> Floats:
        """Of what visits found at a page (a row) under each rate (a column), given the paced days; the best has 1."""
        pages, visits = self._pages, self._visits
        quiet = ~visits.is_changed
        days = pages.old_days + np.bincount(visits.page[quiet], passed[quiet], len(pages.age))
        logs: Floats = pages.old_changes[:, None] * np.log(RATES) - days[:, None] * RATES
        found = np.flatnonzero(visits.is_changed)
        if len(found):
            owner = visits.page[found]
            first = np.flatnonzero(np.diff(owner, prepend=-1))
            expected = passed[found, None] * RATES + visits.reasons[found, None]
            logs[owner[first]] += np.add.reduceat(_log_of_change(expected), first, axis=0)
        likelihood: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
        if self._uses_dates and self._is_dated.any():
            likelihood[self._is_dated] *= self._of_dates()
        return likelihood

    def _of_dates(self) -> Floats:
        """The likelihood of dates, for the logarithm of the time since: of the last change, of the birth, or false."""
        dated = self._pages.dated[self._is_dated][:, None]
        drawn = self._random.beta(*self._pages.false_dates)
        false = drawn[self._pages.dates[self._is_dated]][:, None]
        ages = dated * RATES
        older = np.clip(_DATE_DENSITY * np.log(_OLDEST_DATE / dated), 0.05, 1.0)
        true = (older * ages + _DATE_DENSITY) * np.exp(-ages)
        likelihood: Floats = false * _DATE_DENSITY + (1.0 - false) * true
        return likelihood

    def _sample_rates(self, weights: Floats) -> Ints:
        """A rate for each page, as its place in the grid."""
        sums = np.cumsum(weights, axis=1)
        place: Ints = (sums < self._random.random((len(weights), 1)) * sums[:, -1:]).sum(axis=1)
        return np.asarray(np.minimum(place, len(RATES) - 1))

    def _sample_mixes(self, place: Ints) -> None:
        """Sample the distributions of rates, from the rates of the pages with evidence."""
        pages, groups = self._pages, len(self._mixes)
        known = self._is_seen | (self._is_dated & self._uses_dates)
        counts = np.zeros((groups, len(RATES)))
        np.add.at(counts, (pages.group[known], place[known]), 1.0)
        kind = self._group_is_dated(groups)
        expected = _COMMON_PAGES * self._common[kind] + _LEAST
        shared = expected * np.log1p(counts / expected)
        for each in (0, 1):
            self._common[each] = self._dirichlet(self._prior + shared[kind == each].sum(axis=0))
        self._mixes = self._dirichlet(_COMMON_PAGES * self._common[kind] + counts)

    def _dirichlet(self, weights: Floats) -> Floats:
        drawn = self._random.gamma(weights) + 1e-9 / len(RATES)
        shares: Floats = drawn / drawn.sum(axis=-1, keepdims=True)
        return shares

    # the pace of sites

    def _sample_pace(self, rates: Floats, passed: Floats, sums: Floats) -> None:
        """Sample the pace of each site in each bin, given the rates: first times of changes, then the unsteadiness."""
        visits, random = self._visits, self._random
        rate = rates[visits.page]
        expected = np.maximum(rate * passed, _LEAST)
        own = np.expm1(-expected) / np.expm1(-np.maximum(expected + visits.reasons, _LEAST))
        found = np.flatnonzero(visits.is_changed & (random.random(len(rate)) < own))
        wait = -np.log1p(random.random(len(found)) * np.expm1(-expected[found])) / rate[found]
        site = self._site[found]
        at = self._begin.paced(self._site, self._pace, sums)[found] + wait
        place = np.clip((sums[site] <= at[:, None]).sum(axis=1) - 1, self._begin.bin[found], self._end.bin[found])
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
        first = self._site * (bins + 1)
        steps = np.bincount(first + self._begin.bin, rate, sites * (bins + 1))
        steps -= np.bincount(first + last, rate, sites * (bins + 1))
        seen = np.cumsum(steps.reshape(sites, bins + 1), axis=1)[:, :-1]
        row = self._site * bins
        seen = seen.ravel()
        seen -= np.bincount(row + self._begin.bin, rate * self._begin.part, sites * bins)
        seen += np.bincount(row + last, rate * last_part, sites * bins)
        return np.maximum(seen.reshape(sites, bins), 0.0)

    def _drawn_pace(self, changes: Floats, exposed: Floats) -> Floats:
        """The pace, given how often pages changed in each bin and how much they were seen."""
        steadiness = self._steadiness[:, None, None]
        prior = steadiness * self._width
        logs = prior * np.log(steadiness) - (prior + changes) * np.log(steadiness + exposed)
        site, found = np.nonzero(changes)
        logs[:, site, found] += _log_gamma_ratio(prior[:, 0, found], changes[site, found])
        logs = logs.sum(axis=2)
        likelihood = np.exp(logs - logs.max(axis=0))
        counts = np.bincount(self._chosen, minlength=len(_STEADINESS)).astype(np.float64)
        for number in range(len(self._chosen)):  # each is likely as the others are
            counts[self._chosen[number]] -= 1.0
            sums = np.cumsum(likelihood[:, number] * (self._prior_of_steadiness + counts))
            self._chosen[number] = np.searchsorted(sums, self._random.random() * sums[-1], "right")
            counts[self._chosen[number]] += 1.0
        chosen = self._steadiness[self._chosen][:, None]
        pace: Floats = self._random.gamma(chosen * self._width + changes) / (chosen + exposed)
        return pace


def _log_of_change(expected: Floats) -> NDArray[np.float32]:
    """The logarithm of the probability of a change, where this many are expected; in single precision, for speed."""
    few = np.maximum(expected, _LEAST).astype(np.float32)
    return np.log(np.where(few < 1e-2, few * (1.0 - few / 2.0), 1.0 - np.exp(-few)))


def _log_gamma_ratio(shape: Floats, counts: Floats) -> Floats:
    """The logarithm of gamma(shape + counts) / gamma(shape); by Stirling's formula, from shape + 8 on."""
    return _log_gamma(shape + counts) - _log_gamma(shape)


def _log_gamma(values: Floats) -> Floats:
    shifted = values + 8.0
    steps = np.ones_like(values)
    for step in range(8):
        steps = steps * (values + step)
    stirling = (shifted - 0.5) * np.log(shifted) - shifted + 1.0 / (12.0 * shifted) - 1.0 / (360.0 * shifted**3)
    return np.asarray(stirling - np.log(np.maximum(steps, 1e-300)))


_BINS = 32
"""Bins that end with visits of all times; and the same number with the last visits of pages."""


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

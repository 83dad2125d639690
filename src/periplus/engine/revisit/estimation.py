"""Change rates of all pages and the worth of all signals, together: batch EM with what the pages of a site share.

A page changes at a rate `alpha` without a signal, and a share p of its signals is right (the noisy
change-indicating signals of Busa-Fekete et al., WWW 2025, arXiv 2502.02430). A visit after a time t with n signals
finds no change with probability e^(-alpha t) (1-p)^n = e^-H, since every one of the reasons must be absent. Where it
does find one, alpha t/(1 - e^-H) unsignalled changes and n p/(1 - e^-H) right signals are expected: only these two sums
are needed to estimate alpha and p again. Sixty rounds of that from a cold start are enough; after twelve, good signals
are still underrated.

Rates of a site's pages are Gamma with one mean and one shape, which is fitted: where some pages change every day and
most hardly ever, a page is believed sooner to be one or the other than where all are alike (empirical Bayes; Minka's
step for the shape of a Gamma). p is one number a site and kind of signal, shrunk towards what is believed of such a
site at first. How often signals come needs no visit. The mean of a site is that of its pages' rates, not changes over
days of all together: slow pages are known for longer, and would pull the others down.

Where pages that change more often have more signals, as on most sites, the number of signals is evidence of a rate as
well, which needs no visit (`_ties`). Signals that are ignored may be such evidence, too.

Kinds of signals that turn out to be right less than one time in ten are noise: after two thirds of the rounds they are
ignored on that site, and the changes they announced count as unsignalled. So they can do no harm.

A version that goes from visit to visit without what sites share was tried, and loses most of what signals are worth.
Pages of different sites have nothing to do with each other here: many may be estimated in `parts`, as memory allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .evidence import DAY, KINDS
from .evidence_columns import Observations, observations_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class EstimationSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How change rates are estimated."""

    rounds: int = 60
    """rounds of EM"""
    strength: float = 0.5
    """how much a page is shrunk towards its site before it is known how much its pages are alike: as if this number of
    changes had been seen at the site's mean rate"""
    usual: float = 0.2
    """Changes a day of a page anywhere: the prior of a site until its own pages have data"""
    fastest: float = 2.0
    """maximum of a site's mean changes a day; a page that was seen to change may have more"""
    least_precision: float = 0.1
    """Kinds of signals with a lower precision are ignored"""
    most_precision: float = 0.995
    """nor more often"""


DEFAULTS = EstimationSettings()
_REFIT = 5
"""Rounds after which the likeness of pages is estimated again."""
_ALIKE = 10.0
"""Pages for which the usual counts in that."""
_ELSEWHERE = 3.0
"""Weight of the usual rate in the mean of a site, in pages."""
_SHAPES = 0.1, 4.0
_TIES = 2.0, 8.0, 32.0
"""Shapes of the number of signals of pages, given what is expected of each."""
_TIED_ROUNDS = 20
"""Rounds of EM with the number of signals as evidence of rates, after their precision is known: estimated together, a
rate that follows the signals would explain what they announced, and their precision could be anything."""
_LEAST = 1e-12
"""The minimum of what is divided by."""
_HASTE = 1.8
"""EM creeps where signals say little; steps that are longer, by less than twice, still converge, and sooner."""


class SiteBeliefs(Struct, frozen=True):
    """Prior knowledge of sites: `right` of `judged` signals, a row a site, a column a kind; never 0."""

    right: Floats
    judged: Floats

    @classmethod
    def none(cls, sites: int) -> SiteBeliefs:
        """Beliefs without any evidence: Beta(1, 1)."""
        return cls(np.ones((sites, KINDS)), np.full((sites, KINDS), 2.0))


class Estimates(Struct, frozen=True):
    """Per page: `alpha`, unsignalled changes a day, and `gamma`, signals a day. Per site: the mean `alpha` and `gamma`.

    `precision` is the share of signals that are right, and 0 where they are ignored; `right` and `judged` are the
    evidence for it: one row per site, one column per kind.
    """

    alpha: Floats
    gamma: Floats
    site_alpha: Floats
    site_gamma: Floats
    site_shape: Floats
    """how much a site's pages are alike: the shape of the Gamma distribution of their rates"""
    precision: Floats
    right: Floats
    judged: Floats
    unsignalled: Floats
    """changes that no signal announced, by site"""
    shape: Floats
    """how much is known of `alpha`, by page: the number of changes that would say as much"""
    site_tie: Floats
    """how far the signals of a page follow its rate (see `_ties`), by site; 0: not at all"""
    site_told: Floats
    """signals for each unsignalled change, by site, where they follow the rates"""

    @property
    def kappa(self) -> Floats:
        """What one signal adds to the reasons to expect a change: -ln(1 - p)."""
        return -np.log1p(-self.precision)

    def heard(self, site: Ints) -> tuple[Floats, Floats]:
        """Per page: the rate of its trusted signals, and the mean value of one of them."""
        judged = self.judged * (self.precision > 0.0)
        total = judged.sum(axis=1)
        share = total / np.maximum(self.judged.sum(axis=1), 1e-12)
        kappa = (judged * self.kappa).sum(axis=1) / np.maximum(total, 1e-12)
        return self.gamma * share[site], kappa[site]

    @property
    def recall(self) -> Floats:
        """The share of a site's changes that each kind of signal reports."""
        signalled = np.maximum(self.right - 1.0, 0.0)
        share: Floats = signalled / np.maximum(signalled.sum(axis=1) + self.unsignalled, 1e-12)[:, None]
        return share


def estimate_pages(
    pages: NDArray[np.void],
    site: Ints,
    now: float,
    beliefs: SiteBeliefs,
    settings: EstimationSettings = DEFAULTS,
    *,
    doubt: Floats | float = 0.0,
) -> Estimates:
    """Estimate the pages of an array of `PAGE`; `site[i]` is the row in `beliefs` of page i's site."""
    watched = np.where(pages["watched_from"] > 0, np.maximum(now - pages["watched_from"], 0.0), 0.0) / DAY
    return estimate(
        observations_of(pages),
        site,
        beliefs,
        heard=pages["heard"].astype(np.float64),
        watched=watched,
        old_changes=pages["old_changes"].astype(np.float64),
        old_days=pages["old_days"].astype(np.float64),
        start=pages["rate"].astype(np.float64),
        doubt=doubt,
        settings=settings,
    )


def estimate(
    seen: Observations,
    site: Ints,
    beliefs: SiteBeliefs,
    *,
    heard: Floats,
    watched: Floats,
    old_changes: Floats | float = 0.0,
    old_days: Floats | float = 0.0,
    start: Floats | None = None,
    doubt: Floats | float = 0.0,
    settings: EstimationSettings = DEFAULTS,
) -> Estimates:
    """Estimate rates and precisions from these visits to pages of the sites `site`.

    `heard` signals were received for each page in `watched` days. `old_changes` in `old_days` are visits that were
    folded; `start` is the last estimate, 0 where there was none; `doubt` is the probability that the folded visits are
    misleading and the page is like the others of its site.
    """
    pages, sites = len(site), len(beliefs.right)
    kinds = np.flatnonzero(seen.signals.any(axis=0))
    days = _sums(seen.page, seen.days, pages) + old_days
    site_days = _sums(site, days, sites)
    counts = np.bincount(site, minlength=sites)
    owner = site[seen.page]
    judged = beliefs.judged.copy()
    for kind in kinds:
        judged[:, kind] += _sums(owner, seen.signals[:, kind], sites)
    changed = np.flatnonzero(seen.is_changed)
    step = _Step(seen.page[changed], seen.days[changed], seen.signals[np.ix_(changed, kinds)].astype(np.float64), site)
    precision = np.minimum(beliefs.right / beliefs.judged, settings.most_precision)
    is_heard = np.ones(precision.shape, bool)
    right = beliefs.right.copy()
    counted = np.bincount(seen.page[changed], minlength=pages) + old_changes
    mean = (0.5 + _sums(site, counted, sites)) / (1.0 + site_days)
    alpha = mean[site] if start is None else np.where(start > 0.0, start, mean[site])
    unsignalled = np.zeros(pages)
    site_shape = np.full(sites, settings.strength)
    quiet = np.flatnonzero(~seen.is_changed)
    calm = _sums(seen.page[quiet], seen.days[quiet], pages) + old_days * (1.0 - np.asarray(doubt))

    def known(alpha: Floats, precision: Floats) -> Floats:
        """The precision of each rate from visits and dates, as an equivalent number of changes."""
        return alpha * calm + step.information(alpha, precision)

    for done in range(settings.rounds):
        if done >= settings.rounds * 2 // 3:
            is_heard &= precision >= settings.least_precision
            precision = precision * is_heard
        unsignalled, signalled = step.expect(alpha, precision[:, kinds])
        unsignalled += old_changes
        pooled = (0.5 + _sums(site, unsignalled, sites)) / (1.0 + site_days)
        mean = (_sums(site, alpha, sites) + _ELSEWHERE * settings.usual) / (counts + _ELSEWHERE)
        mean = np.minimum(np.maximum(mean, pooled), settings.fastest)
        strength = site_shape[site]
        own = (strength + unsignalled) / (strength / mean[site] + days)
        alpha *= (((1.0 - doubt) * own + doubt * mean[site]) / alpha) ** _HASTE
        right[:, kinds] = np.where(is_heard[:, kinds], beliefs.right[:, kinds] + signalled, right[:, kinds])
        precision = _towards(precision, right / judged, settings.most_precision) * is_heard
        if done % _REFIT == _REFIT - 1:
            shape = strength + known(alpha, precision[:, kinds])
            site_shape = _fitted(site, alpha, shape, mean, settings.strength)
    gamma, site_gamma = signal_rates(heard, watched, site, sites)
    shape = site_shape[site] + known(alpha, precision[:, kinds])
    totals = _sums(site, unsignalled, sites)
    site_tie, told = _ties(site, heard, watched, alpha, shape, site_gamma), np.zeros(sites)
    tie, all_heard = site_tie[site], _sums(site, heard, sites)
    for _ in range(_TIED_ROUNDS if site_tie.any() else 0):
        told = all_heard / np.maximum(_sums(site, alpha * watched, sites), _LEAST)
        unsignalled = step.expect(alpha, precision[:, kinds])[0] + old_changes
        weight = tie / np.maximum(tie + alpha * told[site] * watched, _LEAST)
        own = site_shape[site] + unsignalled + weight * heard
        own /= site_shape[site] / mean[site] + days + weight * told[site] * watched
        scale = (0.5 + _sums(site, unsignalled, sites)) / (0.5 + _sums(site, own * days, sites))
        scale = np.where(site_tie > 0.0, scale, 1.0)
        mean, own = mean * scale, own * scale[site]
        alpha *= np.where(tie > 0.0, ((1.0 - doubt) * own + doubt * mean[site]) / alpha, 1.0) ** _HASTE
    by_tie = (tie + heard) / np.maximum(tie / np.maximum(told[site] * alpha, _LEAST) + watched, _LEAST)
    gamma, told = np.where(tie > 0.0, by_tie, gamma), np.where(site_tie > 0.0, told, 0.0)
    return Estimates(
        alpha, gamma, mean, site_gamma, site_shape, precision, right, judged, totals, shape, site_tie, told
    )


def _ties(site: Ints, heard: Floats, watched: Floats, alpha: Floats, shape: Floats, site_gamma: Floats) -> Floats:
    """How far the signals of pages follow their rates, by site: the shape of what is left of their numbers.

    Pages that change often are reported often, on most sites: then signals tell of the rate of a page, also of one that
    was hardly visited. Two explanations of the numbers are compared, that all pages are reported alike and that they
    are in proportion to their rates, of which visits say as much as `shape`. Where signals come to all pages, or to
    others than those that change, they say nothing of rates.
    """
    from scipy.special import gammaln  # loaded only where rates are estimated

    sites = len(site_gamma)
    best, tie = np.full(sites, -np.inf), np.zeros(sites)
    if not heard.any():
        return tie
    told = _sums(site, heard, sites) / np.maximum(_sums(site, alpha * watched, sites), _LEAST)
    for means, known, is_tied in ((site_gamma[site], math.inf, False), (told[site] * alpha, shape, True)):
        expected = np.maximum(means * watched, _LEAST)
        for spread in _TIES:
            left = 1.0 / (1.0 / spread + 1.0 / known)
            logs = gammaln(heard + left) - gammaln(left)
            logs -= left * np.log1p(expected / left) + heard * np.log1p(left / expected)
            found = _sums(site, logs, sites)
            tie = np.where(found > best, spread if is_tied else 0.0, tie)
            best = np.maximum(found, best)
    return tie


def _fitted(site: Ints, alpha: Floats, shape: Floats, mean: Floats, usual: float) -> Floats:
    """The similarity of the pages of each site: the shape of their rates, shrunk towards the usual one."""
    from scipy.special import psi  # loaded only where rates are estimated

    spread = np.log(mean)[site] - psi(shape) + np.log(shape / alpha)
    counts = np.bincount(site, minlength=len(mean))
    common = math.log(usual) - float(psi(usual))
    gap = np.maximum((_sums(site, spread, len(mean)) + _ALIKE * common) / (counts + _ALIKE), 1e-3)
    fitted: Floats = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    return np.clip(fitted, *_SHAPES)


def _towards(before: Floats, after: Floats, most: float) -> Floats:
    """A little farther than EM would go, in odds."""
    low, high = 1e-6, 1.0 - 1e-6
    old, new = np.clip(before, low, high), np.clip(after, low, high)
    odds = old / (1 - old) * (new / (1 - new) * (1 - old) / old) ** _HASTE
    return np.minimum(odds / (1 + odds), most)


def information(quiet: Floats, reasons: Floats) -> Floats:
    """The information of a visit that found a change about the logarithm of a rate; `reasons` include signals."""
    grown = np.expm1(np.minimum(reasons, 300.0))  # its square must be a number
    return np.asarray(np.maximum(quiet * (quiet * (grown + 1.0) - grown) / grown**2, 0.0))


def parts(site: Ints, most: int = 100_000) -> Iterator[tuple[slice, slice]]:
    """Where to cut many pages, sorted by site, so that no site is cut: slices of pages, and of the sites' numbers.

    A part has about `most` pages, or one site that has more.
    """
    begin = 0
    while begin < len(site):
        end = int(np.searchsorted(site, site[min(begin + most, len(site)) - 1], "right"))
        yield slice(begin, end), slice(int(site[begin]), int(site[end - 1]) + 1)
        begin = end


def signal_rates(heard: Floats, watched: Floats, site: Ints, sites: int) -> tuple[Floats, Floats]:
    """Signals a day of each page, shrunk towards the mean of its site, and that mean."""
    mean = (0.5 + _sums(site, heard, sites)) / (1.0 + _sums(site, watched, sites))
    return (0.5 + heard) / (0.5 / mean[site] + watched), mean


class _Step:
    """The expectations: only visits that found a change have any."""

    def __init__(self, page: Ints, days: Floats, signals: Floats, site: Ints) -> None:
        self._page, self._days, self._signals, self._site = page, days, signals, site
        self._owner = site[page]

    def information(self, alpha: Floats, precision: Floats) -> Floats:
        """The information of these visits about the logarithm of each page's rate: close to zero after a long time.

        The second derivative of ln(1 - e^-H); a visit that found nothing says as much as changes were expected.
        """
        quiet = alpha[self._page] * self._days
        reasons = quiet - (self._signals * np.log1p(-precision)[self._owner]).sum(axis=1)
        return _sums(self._page, information(quiet, np.clip(reasons, 1e-9, 500.0)), len(alpha))

    def expect(self, alpha: Floats, precision: Floats) -> tuple[Floats, Floats]:
        """Untold changes by page, and right signals by site and kind."""
        quiet = alpha[self._page] * self._days
        reasons = quiet.copy()
        surprise = -np.log1p(-precision)
        for kind in range(self._signals.shape[1]):
            reasons += self._signals[:, kind] * surprise[self._owner, kind]
        chance = -np.expm1(-np.maximum(reasons, 1e-12))
        unsignalled = _sums(self._page, quiet / chance, len(alpha))
        signalled = np.empty_like(precision)
        for kind in range(self._signals.shape[1]):
            count = self._signals[:, kind]
            found = np.minimum(count, count * precision[self._owner, kind] / chance)
            signalled[:, kind] = _sums(self._owner, found, len(precision))
        return unsignalled, signalled


def _sums(place: Ints, what: NDArray[Any], places: int) -> Floats:
    """Added up by place; floats also where there is nothing (bincount would give whole numbers)."""
    return np.bincount(place, what, places).astype(np.float64, copy=False)

"""How fresh is a collection? The chance of each of some pages to be as it was fetched, from the visits to all of them.

Schedules need one number a page, its rate, and a Gamma for what is not known of it. To tell the truth about freshness
that is not good enough: on one site some pages change every hour and most hardly ever do, a page that was found changed
at all of four visits may change twice or twenty times a day, and only the first kind of rate leaves a copy fresh. So
rates are looked for on a grid of them, without a form: how common each is on a site is what makes the visits to its
pages likeliest (Kiefer & Wolfowitz 1956; by EM, smoothed, and drawn towards what is common on all sites), and a page's
chance is the mean over all rates that its own visits leave possible.

A date that a page bore at its first visit speaks for rates near one in so many days if it is that of a change, and
against higher ones if it is that of its birth; some dates are false. Pages that signals tell of are a kind of their
own: they change untold less often than their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .appraisal import boost_of, nothing_unheard
from .evidence import BY_DATE, DAY, PageEvidence, observations_of
from .reckoning import pages_of
from .signals import SiteEvidence

Floats = NDArray[np.float64]

_RATES: Floats = np.geomspace(1e-4, 1e2, 61)
"""Changes a day."""
_FIRST: Floats = 1.0 / (1.0 + _RATES) ** 2
"""How common they are as far as nobody knows. Visits do not tell once a day from ever: that is rarer."""
_ROUNDS = 40
_IN_COMMON = 10.0
"""So many pages is what all sites have in common worth for each."""
_BLUR = (0.25, 0.5, 0.25)


def fresh_chances(
    pages: Sequence[PageEvidence], site: Sequence[int], sites: Sequence[SiteEvidence], now: float
) -> Floats:
    """For each page, on the site of that number, the probability that a copy is as its page is now."""
    if not pages:
        return np.zeros(0)
    owner = np.asarray(site, np.int64)
    kept = pages_of(b"".join(page.pack() for page in pages))
    left = _possible(_likelihood(kept, owner, sites), 2 * owner + (kept["heard"] > 0), 2 * len(sites))
    ages = np.maximum(now - kept["visited_at"], 0.0) / DAY
    told = [boost_of(page, sites[number]) for page, number in zip(pages, site, strict=True)]
    heard = [nothing_unheard(page, sites[number], now) for page, number in zip(pages, site, strict=True)]
    still = (left * np.exp(-ages[:, None] * _RATES)).sum(axis=1)
    chances: Floats = still * np.exp(-np.array(told)) * np.array(heard)
    return chances


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
    _date(likely, kept, site, sites)
    return likely


def _date(likely: Floats, kept: NDArray[np.void], site: NDArray[np.int64], sites: Sequence[SiteEvidence]) -> None:
    """Of pages that were visited once, the date that they bore then is all that is known."""
    dated = np.flatnonzero((kept["ring"][:, 0] == 0) & (kept["old_changes"] == BY_DATE))
    false = np.array([each.false_dates for each in sites])[site[dated], None]
    ages = kept["old_days"][dated, None].astype(np.float64) * _RATES
    true = BY_DATE * ages * np.exp(1.0 - ages) + (1.0 - BY_DATE) * np.exp(-ages)
    likely[dated] = (1.0 - false) * true + false / 2.0


def _possible(likely: Floats, site: NDArray[np.int64], sites: int) -> Floats:
    """How probable each rate is for each page, given how common it is on its site."""
    common = np.tile(_FIRST / _FIRST.sum(), (sites, 1))
    counts = np.bincount(site, minlength=sites)[:, None]
    left = likely
    for _ in range(_ROUNDS):
        left = likely * common[site]
        left /= left.sum(axis=1, keepdims=True)
        anywhere = _blurred(left.mean(axis=0))
        sums = np.zeros_like(common)
        np.add.at(sums, site, left)
        common = np.apply_along_axis(_blurred, 1, sums + _IN_COMMON * anywhere) / (counts + _IN_COMMON)
    return left


def _blurred(shares: Floats) -> Floats:
    """Neighbouring rates are about as common: what a few pages show is no spike."""
    wide = np.concatenate((shares[:1], shares, shares[-1:]))
    return np.asarray(np.convolve(wide, _BLUR, "valid"))

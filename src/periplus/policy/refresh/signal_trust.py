"""Tests whether a site's signals explain anything: rates are estimated with and without them; the better fit is kept.

Signals that come more often for pages that change more often look right even if they carry no information: visits after
a signal find changes because fast pages are visited, and the estimation cannot know that they would have found them
anyway. On webs whose pages differ much, a precision of 3 % was estimated as 45 %. So everything is estimated a second
time without signals. If that explains the visits better, by odds of twenty to one, the site's signals are ignored and
its pages get the rates of the second estimate. Until then signals are used: requiring them to prove their worth first
was tried, and costs more than it saves where visits are few.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from .estimation import Estimates, Floats, Ints
from .evidence import KINDS, Observations, observations_of, shift_of

_ODDS = math.log(20.0)
_FEW = 10
"""Minimum number of visits after a signal; fewer are not enough evidence about a site."""
_DISBELIEVED = 0.05
"""Of the signals of such a site no more than this share is taken to be right: below what is heard."""
_SIGNALS = np.uint32(sum(7 << shift_of(kind) for kind in range(KINDS)))


def without_signals(pages: NDArray[np.void]) -> NDArray[np.void]:
    """The evidence of these pages (an array of `PAGE`) without its signals, and with no estimate yet."""
    bare = pages.copy()
    bare["ring"] &= ~_SIGNALS
    bare["rate"] = 0.0
    return bare


def believed(pages: NDArray[np.void], site: Ints, heard: Estimates, deaf: Estimates) -> Estimates:
    """For each site the better of two estimates: `heard` uses the signals of its pages, `deaf` does not."""
    seen, sites = observations_of(pages), len(heard.precision)
    owner = site[seen.page]
    told = np.bincount(owner[seen.signals.any(axis=1)], minlength=sites)
    against = likelihoods(seen, site, deaf) - likelihoods(seen, site, heard)
    is_distrusted = (told >= _FEW) & (against > _ODDS)
    if not is_distrusted.any():
        return heard
    by_page = is_distrusted[site]
    right = np.where(is_distrusted[:, None], np.minimum(heard.right, _DISBELIEVED * heard.judged), heard.right)
    return replace(
        heard,
        alpha=np.where(by_page, deaf.alpha, heard.alpha),
        shape=np.where(by_page, deaf.shape, heard.shape),
        site_alpha=np.where(is_distrusted, deaf.site_alpha, heard.site_alpha),
        site_shape=np.where(is_distrusted, deaf.site_shape, heard.site_shape),
        untold=np.where(is_distrusted, deaf.untold, heard.untold),
        precision=np.where(is_distrusted[:, None], 0.0, heard.precision),
        right=right,
    )


def likelihoods(seen: Observations, site: Ints, found: Estimates) -> Floats:
    """The logarithm of the likelihood of all visits to each site, if its rates and signals are as was found."""
    owner = site[seen.page]
    reasons = found.alpha[seen.page] * seen.days + (seen.signals * found.kappa[owner]).sum(axis=1)
    reasons = np.maximum(reasons, 1e-12)
    each = np.where(seen.is_changed, np.log(-np.expm1(-reasons)), -reasons)
    return np.bincount(owner, each, len(found.precision)).astype(np.float64, copy=False)

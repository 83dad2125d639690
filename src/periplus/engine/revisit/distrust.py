"""Whether the signals of a site are believed at all: its visits, explained with them and without.

Signals that come more often for pages that change more often look right even if they carry no information.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from .estimation import Estimates, Floats, Ints
from .evidence import KINDS, shift_of
from .evidence_columns import Observations, observations_of

_ODDS = math.log(20.0)
_FEW = 10
"""Minimum number of visits after a signal; fewer are not enough evidence about a site."""
_DISBELIEVED = 0.05
"""The largest precision assumed for signals of such a site: below the threshold from which signals are used."""
_SIGNALS = np.uint32(sum(7 << shift_of(kind) for kind in range(KINDS)))


def without_signals(pages: NDArray[np.void]) -> NDArray[np.void]:
    """The evidence of these pages (an array of `PAGE`) without its signals, and with no estimate yet."""
    bare = pages.copy()
    bare["ring"] &= ~_SIGNALS
    bare["rate"] = 0.0
    return bare


def believed(pages: NDArray[np.void], site: Ints, heard: Estimates, deaf: Estimates) -> Estimates:
    """For each site the better of two estimates: `heard` uses the signals of its pages, `deaf` does not.

    Signals that come more often for pages that change more often look right even if they carry no information: visits
    after a signal find changes because fast pages are visited, and the estimation cannot see that they would have found
    them anyway. If the estimate without signals explains the visits better, by odds of twenty to one, the site's
    signals are ignored and its pages get the rates of that estimate. Until then signals are used: requiring proof first
    costs more than it saves where visits are few.
    """
    seen, sites = observations_of(pages), len(heard.precision)
    owner = site[seen.page]
    signalled = np.bincount(owner[seen.signals.any(axis=1)], minlength=sites)
    against = likelihoods(seen, site, deaf) - likelihoods(seen, site, heard)
    is_distrusted = (signalled >= _FEW) & (against > _ODDS)
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
        site_tie=np.where(is_distrusted, deaf.site_tie, heard.site_tie),
        site_told=np.where(is_distrusted, deaf.site_told, heard.site_told),
        unsignalled=np.where(is_distrusted, deaf.unsignalled, heard.unsignalled),
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

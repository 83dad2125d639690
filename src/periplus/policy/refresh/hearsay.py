"""Are a site's signals worth hearing at all? What was seen is explained without them too, and the better tale is kept.

Signals that come more often for pages that change more often look right though they tell nothing: visits after a signal
find changes, since it is the fast pages that are visited, and the estimation cannot know that they would have found
them anyway. Precisions of 3 % were taken for 45 % so, on webs where pages differ much. So all is reckoned once more as
if nobody had told anything. Where visits are then explained better, by odds of twenty to one, the site's signals are
not heard, and its pages have the rates of that other tale. Until visits speak so clearly, signals have the benefit of
the doubt: to require that they prove their worth first was tried, and costs more than it saves where visits are few.
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
"""Visits after a signal; fewer say nothing of a site."""
_DISBELIEVED = 0.05
"""Of the signals of such a site no more than this share is taken to be right: below what is heard."""
_SIGNALS = np.uint32(sum(7 << shift_of(kind) for kind in range(KINDS)))


def deafened(pages: NDArray[np.void]) -> NDArray[np.void]:
    """The evidence of these pages (an array of `PAGE`) as if nobody had told anything, and nothing were known yet."""
    bare = pages.copy()
    bare["ring"] &= ~_SIGNALS
    bare["rate"] = 0.0
    return bare


def believed(pages: NDArray[np.void], site: Ints, heard: Estimates, deaf: Estimates) -> Estimates:
    """Of two estimates of the same pages, with their signals and without (`deafened`), the better one for each site."""
    seen, sites = observations_of(pages), len(heard.precision)
    owner = site[seen.page]
    told = np.bincount(owner[seen.signals.any(axis=1)], minlength=sites)
    against = likelihoods(seen, site, deaf) - likelihoods(seen, site, heard)
    is_hearsay = (told >= _FEW) & (against > _ODDS)
    if not is_hearsay.any():
        return heard
    by_page = is_hearsay[site]
    right = np.where(is_hearsay[:, None], np.minimum(heard.right, _DISBELIEVED * heard.judged), heard.right)
    return replace(
        heard,
        alpha=np.where(by_page, deaf.alpha, heard.alpha),
        shape=np.where(by_page, deaf.shape, heard.shape),
        site_alpha=np.where(is_hearsay, deaf.site_alpha, heard.site_alpha),
        site_shape=np.where(is_hearsay, deaf.site_shape, heard.site_shape),
        untold=np.where(is_hearsay, deaf.untold, heard.untold),
        precision=np.where(is_hearsay[:, None], 0.0, heard.precision),
        right=right,
    )


def likelihoods(seen: Observations, site: Ints, found: Estimates) -> Floats:
    """The logarithm of the likelihood of all visits to each site, if its rates and signals are as was found."""
    owner = site[seen.page]
    reasons = found.alpha[seen.page] * seen.days + (seen.signals * found.kappa[owner]).sum(axis=1)
    reasons = np.maximum(reasons, 1e-12)
    each = np.where(seen.is_changed, np.log(-np.expm1(-reasons)), -reasons)
    return np.bincount(owner, each, len(found.precision)).astype(np.float64, copy=False)

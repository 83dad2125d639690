"""What all pages of a site say of it, from what is kept of each: the estimation, for a crawl with its state on disk."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from .estimation import DEFAULTS, EstimationSettings, SiteBeliefs, estimate_pages
from .evidence import PAGE
from .signals import SiteEvidence


def pages_of(kept: bytes) -> NDArray[np.void]:
    """Packed evidence of many pages, one after the other, as an array of `PAGE`."""
    return np.frombuffer(kept, PAGE)


def reckoned(
    site: SiteEvidence, pages: NDArray[np.void], now: float, settings: EstimationSettings = DEFAULTS
) -> tuple[SiteEvidence, NDArray[np.float64]]:
    """The site as its pages show it, and the untold changes a day of each of them."""
    priors = np.array([kind.prior for kind in site.kinds])
    old = np.array([(kind.old_right, kind.old_judged) for kind in site.kinds])
    beliefs = SiteBeliefs((priors + old)[None, :, 0], (priors + old)[None, :, 1])
    found = estimate_pages(pages, np.zeros(len(pages), np.int64), now, beliefs, settings)
    right, judged = found.right[0] - priors[:, 0], found.judged[0] - priors[:, 1]
    kinds = tuple(
        replace(kind, right=float(max(right[number], 0.0)), judged=float(max(judged[number], 0.0)))
        for number, kind in enumerate(site.kinds)
    )
    rate, signals = float(found.site_alpha[0]), float(found.site_gamma[0])
    return replace(site, kinds=kinds, rate=rate, signals=signals, pages=len(pages)), found.alpha

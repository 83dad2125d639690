"""Estimates the change rates and signals of one site from the packed evidence of its pages."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from .estimation import DEFAULTS, EstimationSettings, SiteBeliefs, estimate_pages
from .evidence import BY_DATE, DAY, PAGE
from .signals import NO_EVIDENCE, SiteEvidence, believed, without_signals

_LIKELY_FALSE = 0.9
"""The share of dates taken to be false where most pages have the date of a build."""
_FEW = 10
"""Dated pages below which one common date says nothing."""
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

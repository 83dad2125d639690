"""The evidence of many pages as columns, and what is made of it: for simulations, and for sites that fit in memory.

What `PageEvidence` and `SiteEvidence` do to one page and one site, here is done to many at once, in the same 64 bytes a
page: signals and visits are kept, observations that leave a ring are folded, and from time to time all is estimated
again. Between two estimates a page keeps its rates.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from .crawl_value import CrawlValue, Ints
from .distrust import believed, without_signals
from .estimation import DEFAULTS, Estimates, EstimationSettings, SiteBeliefs, estimate_pages, information
from .evidence import BY_DATE, DAY, KEEP, KINDS, MOST_SIGNALS, RING, SignalKind, shift_of
from .evidence_columns import PAGE, observations, observations_of
from .objectives import Floats
from .signals import NO_EVIDENCE, SiteEvidence


class VisitLedger:
    """Pages on sites, by number. All were visited for the first time at `now`, or will be (`first_visited`)."""

    def __init__(self, site: Ints, now: float, settings: EstimationSettings = DEFAULTS) -> None:
        self._site, self._settings = site, settings
        self._sites = int(site.max(initial=0)) + 1
        self.pages: NDArray[np.void] = np.zeros(len(site), PAGE)
        self.pages["visited_at"] = now
        self.pages["watched_from"] = max(int(now), 1)
        self._old_right = np.zeros((self._sites, KINDS))
        self._old_judged = np.zeros((self._sites, KINDS))
        self._is_told = False
        self.estimates = self.estimate_all(now)

    def first_visited(self, pages: Ints, now: float) -> None:
        """Add these pages after their first visit."""
        self.pages["visited_at"][pages] = now
        self.pages["watched_from"][pages] = max(int(now), 1)

    def signalled(self, pages: Ints, kind: SignalKind = SignalKind.SITEMAP) -> None:
        """Record a signal for each of these; a page may be among them several times."""
        self._is_told |= len(pages) > 0
        counts = np.bincount(pages, minlength=len(self.pages))
        shift = np.uint32(shift_of(kind))
        before = self.pages["pending"] >> shift & np.uint32(MOST_SIGNALS)
        more = np.minimum(counts, MOST_SIGNALS - before.astype(np.int64)).astype(np.uint32)
        self.pages["pending"] += more << shift
        self.pages["heard"] += counts

    def visited(self, pages: Ints, is_changed: NDArray[np.bool_], now: float) -> None:
        """Record visits to these pages, each visited once."""
        rows = self.pages[pages]
        full = rows["ring"][:, -1] != 0
        if full.any():
            self._fold(rows, np.flatnonzero(full), pages)
        place = (rows["ring"] != 0).sum(axis=1)
        codes = observations(now - rows["visited_at"], is_changed, rows["pending"])
        rows["ring"][np.arange(len(rows)), place] = codes
        rows["pending"], rows["visited_at"] = 0, now
        self.pages[pages] = rows

    def _fold(self, rows: NDArray[np.void], full: Ints, pages: Ints) -> None:
        """Remove the oldest visit of full rings, and fold it into the sums."""
        oldest = np.zeros(len(full), PAGE)
        oldest["ring"][:, 0] = rows["ring"][full, 0]
        seen = observations_of(oldest)
        site = self._site[pages[full]]
        quiet = rows["rate"][full] * seen.days
        reasons = quiet + (seen.signals * self.estimates.kappa[site]).sum(axis=1)
        chance = -np.expm1(-np.maximum(reasons, 1e-12))
        reasons = np.clip(reasons, 1e-9, 500.0)
        evidence = information(quiet, reasons)
        changes = np.where(seen.is_changed, evidence + quiet / np.expm1(reasons), 0.0)
        days = np.where(seen.is_changed, evidence / rows["rate"][full], seen.days)
        rows["old_changes"][full] = KEEP * rows["old_changes"][full] + changes
        rows["old_days"][full] = KEEP * rows["old_days"][full] + days
        right = np.minimum(seen.signals, seen.signals * self.estimates.precision[site] / chance[:, None])
        np.add.at(self._old_right, site, right * seen.is_changed[:, None])
        np.add.at(self._old_judged, site, seen.signals)
        rows["ring"][full, : RING - 1] = rows["ring"][full, 1:]
        rows["ring"][full, RING - 1] = 0

    def estimate_all(self, now: float) -> Estimates:
        """Estimate rates and trust again, from all evidence."""
        self.estimates = self._estimate(now)
        self.pages["rate"] = self.estimates.alpha
        return self.estimates

    def _estimate(self, now: float) -> Estimates:
        beliefs = SiteBeliefs(1.0 + self._old_right, 2.0 + self._old_judged)
        with_signals = estimate_pages(self.pages, self._site, now, beliefs, self._settings)
        if not self._is_told:
            return with_signals
        without = estimate_pages(without_signals(self.pages), self._site, now, beliefs, self._settings)
        return believed(self.pages, self._site, with_signals, without)

    def outlooks(self, tables: CrawlValue) -> tuple[Ints, Floats]:
        """The classes and rates of all pages."""
        return tables.outlooks(self.estimates.alpha, *self.estimates.heard(self._site), self.estimates.shape)

    def boosts(self) -> Floats:
        """What pending signals add to the reasons to expect a change, of all pages."""
        pending = self.pages["pending"]
        kappa, boost = self.estimates.kappa, np.zeros(len(pending))
        for kind in range(KINDS):
            count = pending >> np.uint32(shift_of(kind)) & np.uint32(MOST_SIGNALS)
            boost += count * kappa[self._site, kind]
        return boost

    def ages(self, now: float) -> Floats:
        """Days since the last visit of each."""
        return np.asarray(np.maximum(now - self.pages["visited_at"], 0.0) / DAY)


_LIKELY_FALSE = 0.9
"""The share of dates taken to be false where most pages have the date of a build."""
_FEW = 10
"""Dated pages below which one common date says nothing."""
_NEARLY = 300.0
"""Seconds within which two dates count as the same: they are rounded where they are kept."""


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
    site = replace(site, tie=float(found.site_tie[0]), told=float(found.site_told[0]))
    return replace(site, pages=len(pages), again=again), found.alpha


def _is_one_date(pages: NDArray[np.void]) -> bool:
    """Whether most pages have one date, that of a build, which is not evidence about them."""
    if len(pages) < _FEW:
        return False
    dates = np.sort(pages["visited_at"] - pages["old_days"].astype(np.float64) * DAY)
    most = np.searchsorted(dates, dates + _NEARLY, "right") - np.arange(len(dates))
    return bool(most.max() > len(pages) / 2)

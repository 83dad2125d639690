"""The evidence of many pages as columns, and what is made of it: for simulations, and for sites that fit in memory.

What `PageEvidence` and `SiteEvidence` do to one page and one site, here is done to many at once, in the same 64 bytes a
page: signals and visits are kept, observations that leave a ring are folded, and from time to time all is estimated
again. Between two estimates a page keeps its rates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .crawl_value import CrawlValue, Ints
from .estimation import DEFAULTS, Estimates, EstimationSettings, SiteBeliefs, estimate_pages, information
from .evidence import (
    DAY,
    KEEP,
    KINDS,
    MOST_SIGNALS,
    PAGE,
    RING,
    SignalKind,
    observations,
    observations_of,
    shift_of,
)
from .objectives import Floats
from .signals import believed, without_signals


class Ledger:
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
        """These are there from now on."""
        self.pages["visited_at"][pages] = now
        self.pages["watched_from"][pages] = max(int(now), 1)

    def told(self, pages: Ints, kind: SignalKind = SignalKind.SITEMAP) -> None:
        """A signal for each of these; a page may be among them several times."""
        self._is_told |= len(pages) > 0
        counts = np.bincount(pages, minlength=len(self.pages))
        shift = np.uint32(shift_of(kind))
        before = self.pages["pending"] >> shift & np.uint32(MOST_SIGNALS)
        more = np.minimum(counts, MOST_SIGNALS - before.astype(np.int64)).astype(np.uint32)
        self.pages["pending"] += more << shift
        self.pages["heard"] += counts

    def visited(self, pages: Ints, is_changed: NDArray[np.bool_], now: float) -> None:
        """Visits to these, each once."""
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
        told = information(quiet, reasons)
        changes = np.where(seen.is_changed, told + quiet / np.expm1(reasons), 0.0)
        days = np.where(seen.is_changed, told / rows["rate"][full], seen.days)
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
        heard = estimate_pages(self.pages, self._site, now, beliefs, self._settings)
        if not self._is_told:
            return heard
        deaf = estimate_pages(without_signals(self.pages), self._site, now, beliefs, self._settings)
        return believed(self.pages, self._site, heard, deaf)

    def outlooks(self, tables: CrawlValue) -> tuple[Ints, Floats]:
        """Classes and rates of all pages."""
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

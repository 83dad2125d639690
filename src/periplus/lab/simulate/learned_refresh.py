"""The crawler's refresh policy in virtual days, and variants with more or less knowledge for comparison.

`policy.refresh` decides, as in a crawl: the pages with the highest value of a visit are visited. `Learned` learns rates
and signal precision from its own visits, with or without signals; `Informed` has the true parameters; `Trusting` has
them too, and believes every signal.
"""

from __future__ import annotations

import numpy as np

from periplus.policy.refresh import CrawlValue, Ledger

from .day_signals import DaySignals
from .histories import DAY
from .refresh_days import Today
from .window import Floats, Ints, Window

_EPOCH = 1e9
"""Start of virtual time in seconds: evidence has whole seconds."""
_UPDATED_AFTER = 2
"""Rates are estimated again when the visits since the last time are at least 1/2 of the pages."""


class Learned:
    """The crawler's default: rates learned from its own visits, and the page with the most valuable visit.

    It starts without data, sees only pages that it fetches, and uses signals if there are any.
    """

    def __init__(self, window: Window, signals: DaySignals | None = None, objective: str = "mixed") -> None:
        self._tables = CrawlValue(objective)
        self._ledger = Ledger(window.site.astype(np.int64), _EPOCH)
        self._known = np.zeros(len(window), bool)
        self._weights, self._signals = window.weights, signals
        self._visits = self._heard = 0
        self._kind, self._rate = self._ledger.outlooks(self._tables)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """Nothing."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The most worthy; then learn from what they were found to be."""
        now = _EPOCH + today.now * DAY
        self._meet(np.flatnonzero(today.here & ~self._known), now - DAY)
        if self._signals is not None:
            self._ledger.told(self._signals.between(self._heard, today.day + 1))
            self._heard = today.day + 1
        chosen = _best(self._worths(now), today)
        self._ledger.visited(chosen, today.is_stale[chosen], now)
        self._visits += len(chosen)
        if self._visits * _UPDATED_AFTER >= np.count_nonzero(today.here):
            self._visits = 0
            self._ledger.estimate_all(now)
            self._kind, self._rate = self._ledger.outlooks(self._tables)
        return chosen

    def _meet(self, born: Ints, now: float) -> None:
        self._known[born] = True
        self._ledger.first_visited(born, now)

    def _worths(self, now: float) -> Floats:
        boosts = None if self._signals is None else self._ledger.boosts()
        return self._tables.values(self._kind, self._rate, self._weights, self._ledger.ages(now), boosts)


class Informed:
    """The same index with the true rates of changes and signals, and their true precision."""

    def __init__(
        self, window: Window, rates: Floats, signals: DaySignals | None = None, objective: str = "mixed"
    ) -> None:
        self._tables = CrawlValue(objective)
        self._weights, self._signals = window.weights, signals
        self._visited_at = window.born_at.copy()
        self._pending, self._heard = np.zeros(len(window)), 0
        self._is_still = rates <= 0.0
        alpha, self._kappa, gamma = rates, np.zeros(len(window)), np.zeros(len(window))
        if signals is not None:
            alpha, gamma, self._kappa = signals.alpha, signals.gamma, -np.log1p(-signals.precision)
        self._kind, self._rate = self._tables.outlooks(np.maximum(alpha, 1e-9), gamma, self._kappa)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """Nothing."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The most worthy; pages that never change are not visited."""
        if self._signals is not None:
            told = self._signals.between(self._heard, today.day + 1)
            self._pending += np.bincount(told, minlength=len(self._pending))
            self._heard = today.day + 1
        worth = np.where(self._is_still, -1.0, self._worths(np.maximum(today.now - self._visited_at, 0.0)))
        chosen = _best(worth, today)
        self._visited_at[chosen], self._pending[chosen] = today.now, 0.0
        return chosen

    def _worths(self, ages: Floats) -> Floats:
        return self._tables.values(self._kind, self._rate, self._weights, ages, self._pending * self._kappa)


class Trusting(Informed):
    """Pages with a signal go first, whatever the precision of signals."""

    def _worths(self, ages: Floats) -> Floats:
        ages = np.where(self._pending > 0, 1e6, ages)
        return self._tables.values(self._kind, self._rate, self._weights, ages, np.zeros(len(ages)))


def _best(worth: Floats, today: Today) -> Ints:
    """As many as may be fetched, of those that are there."""
    worth = np.where(today.here, worth, -1.0)
    chosen = np.argpartition(-worth, min(today.limit, len(worth) - 1))[: today.limit]
    return chosen[worth[chosen] >= 0.0]

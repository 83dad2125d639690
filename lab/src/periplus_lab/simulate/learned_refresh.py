"""The crawler's refresh policy in virtual days, and variants with more or less knowledge for comparison.

`engine.revisit` decides, as in a crawl: the pages with the highest value of a visit are visited. `Learned` learns rates
and signal precision from its own visits, with or without signals; `Informed` has the true parameters; `Trusting` has
them too, and believes every signal.

A policy is given a day of the collection (`Today`), and returns the pages to fetch on it.

Each site has a precision and a recall, drawn from one quality (`noisy_refresh` has the same in finer steps, for Poisson
changes only). Here signals are added to any history, also a recorded one. False signals come to a page in proportion to
its true ones, so precision is the same for all pages of a site.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.engine.revisit.crawl_value import CrawlValue
from periplus.engine.revisit.ledger import VisitLedger

from .histories import DAY, Floats, Ints, Window
from .noisy_refresh import SignalQuality, quality


class Today(Struct):
    """One day, at its end: up to `limit` of the pages that are `here` may be fetched.

    `is_stale` states which of the copies are out of date, and `next_change` on what day pages change again: the truth,
    for policies with metadata. `now` is the day's end.
    """

    day: int
    limit: int
    here: NDArray[np.bool_]
    is_stale: NDArray[np.bool_]
    next_change: Callable[[Ints, int], Floats]

    @property
    def now(self) -> float:
        """The moment, in days."""
        return self.day + 1.0


class RefreshPolicy(Protocol):
    """A way to spend a day's budget."""

    def cost(self, sites: int) -> float:
        """What a day takes from the budget before any page is fetched, in pages, for a number of sites."""
        ...

    def choose(self, today: Today) -> Ints:
        """The pages to fetch, each at most once."""
        ...


_SEED = 2_000_003
"""Separates the random numbers of signals from those of changes."""


class DaySignals(Struct, frozen=True):
    """On day `d` signals came for `pages[starts[d]:starts[d + 1]]`, some of them several times.

    The true parameters, for policies that know them: changes without a signal (`alpha`) and signals (`gamma`) a day of
    each page, and the `precision` of its site's.
    """

    starts: Ints
    pages: Ints
    alpha: Floats
    gamma: Floats
    precision: Floats

    def between(self, first: int, end: int) -> Ints:
        """The pages with a signal from the day `first` on, before the day `end`."""
        return self.pages[self.starts[first] : self.starts[end]]


def day_signals(window: Window, name: str | SignalQuality, seed: int = 0, rates: Floats | None = None) -> DaySignals:
    """Signals of a quality, by its name or itself. The same seed gives the same ones.

    `rates` are the true changes a day for policies that know them, if not those that came true in the window.
    """
    wanted = quality(name) if isinstance(name, str) else name
    random = np.random.default_rng(seed + _SEED)
    precision = random.uniform(*wanted.precision, window.sites)[window.site]
    recall = random.uniform(*wanted.recall, window.sites)[window.site]
    is_signalled = random.random(len(window.changed)) < recall[window.changed]
    changed_on = np.repeat(np.arange(window.days), np.diff(window.starts))
    false_rate = recall * window.rates * (1.0 - precision) / precision
    lived = np.maximum(np.minimum(window.gone_at, window.days) - window.born_at, 0.0)
    false = np.repeat(np.arange(len(window)), random.poisson(false_rate * lived))
    false_at = window.born_at[false] + random.random(len(false)) * lived[false]
    page = np.concatenate((window.changed[is_signalled], false))
    late = (wanted.delay + random.random(int(is_signalled.sum()))).astype(np.int64)
    day = np.concatenate((changed_on[is_signalled] + late, false_at.astype(np.int64)))
    in_time = day < window.days
    page, day = page[in_time], day[in_time]
    order = np.argsort(day, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(day, minlength=window.days))))
    known = window.rates if rates is None else rates
    return DaySignals(starts, page[order], (1.0 - recall) * known, recall * known / precision, precision)


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
        self._ledger = VisitLedger(window.site.astype(np.int64), _EPOCH)
        self._known = np.zeros(len(window), bool)
        self._weights, self._signals = window.weights, signals
        self._visits = self._heard = 0
        self._kind, self._rate = self._ledger.outlooks(self._tables)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The most worthy; then learn from what they were found to be."""
        now = _EPOCH + today.now * DAY
        self._meet(np.flatnonzero(today.here & ~self._known), now - DAY)
        if self._signals is not None:
            self._ledger.signalled(self._signals.between(self._heard, today.day + 1))
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
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The most worthy; pages that never change are not visited."""
        if self._signals is not None:
            signals = self._signals.between(self._heard, today.day + 1)
            self._pending += np.bincount(signals, minlength=len(self._pending))
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
    """The pages with the highest values that are there, as many as may be fetched."""
    worth = np.where(today.here, worth, -1.0)
    chosen = np.argpartition(-worth, min(today.limit, len(worth) - 1))[: today.limit]
    return chosen[worth[chosen] >= 0.0]

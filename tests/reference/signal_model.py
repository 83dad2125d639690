"""The value of a visit where signals of change are noisy, in closed form for binary freshness.

Each change is signalled with probability `recall`; false signals come at a rate of their own. After a time t with n
signals a copy is fresh with probability e^-s, s = alpha t + kappa n: a signal counts as much as a time kappa/alpha
without one. A policy that visits when s reaches a threshold does so every `interval` days on average, and the copy is
fresh for `fresh_days` of them; `value` is the price of a visit at which that threshold is best (Busa-Fekete et al., WWW
2025, arXiv 2502.02430). The tables of `periplus.engine.revisit.crawl_value` are compared with it. Rates are per day.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from periplus.engine.revisit.crawl_value import LEAST_UNSIGNALLED, poisson_tail

Floats = NDArray[np.float64]

MOST_KAPPA = 8.0
"""Upper bound of kappa: a signal of that weight is practically certain."""
_MOST_TERMS = 1000
"""Upper bound of the number of signals summed over."""


class SignalModel(Struct, frozen=True):
    """A page and its signals: changes a day, the share of them that is told, and false signals a day."""

    rate: float
    recall: float = 0.0
    false_signals: float = 0.0

    @property
    def gamma(self) -> float:
        """Signals a day, right and wrong."""
        return self.recall * self.rate + self.false_signals

    @property
    def alpha(self) -> float:
        """Untold changes a day."""
        return max(1.0 - self.recall, LEAST_UNSIGNALLED) * self.rate

    @property
    def precision(self) -> float:
        """The share of signals that are right."""
        return self.recall * self.rate / self.gamma if self.gamma else 0.0

    @property
    def kappa(self) -> float:
        """What a signal adds to the reasons to expect a change."""
        return MOST_KAPPA if self.precision >= 1.0 else min(-math.log1p(-self.precision), MOST_KAPPA)

    def fresh(self, days: float, signals: int = 0) -> float:
        """The probability that a copy is fresh after `days` and `signals`."""
        return math.exp(-self.alpha * days - self.kappa * signals)

    def interval(self, reasons: ArrayLike) -> Floats:
        """psi: mean days between two visits, if one is made as soon as s reaches `reasons`."""
        s = np.atleast_1d(np.asarray(reasons, float))
        if not self.gamma:
            return np.asarray(s / self.alpha)
        terms, left = self._terms(s)
        return np.asarray(poisson_tail(terms, self.gamma * left).sum(axis=0) / self.gamma)

    def fresh_days(self, reasons: ArrayLike) -> Floats:
        """w: for how many of these days the copy is fresh, in the mean."""
        s = np.atleast_1d(np.asarray(reasons, float))
        if not self.gamma:
            return np.asarray(-np.expm1(-s) / self.alpha)
        terms, left = self._terms(s)
        wrong = self.gamma * math.exp(-self.kappa)
        every = self.alpha + self.gamma
        weights = np.exp(terms * math.log(wrong / every)) / every
        return np.asarray((weights * poisson_tail(terms, every * left)).sum(axis=0))

    def value(self, reasons: ArrayLike) -> Floats:
        """V: what a visit is worth when s has reached `reasons`, to a page of weight 1; at most 1/rate."""
        s = np.atleast_1d(np.asarray(reasons, float))
        return np.asarray(self.fresh_days(s) - np.exp(-s) * self.interval(s))

    def _terms(self, s: Floats) -> tuple[Floats, Floats]:
        """Numbers of signals that leave the threshold unreached, and the days that are then left to it."""
        most = min(int(float(s.max(initial=0.0)) / self.kappa), _MOST_TERMS)
        terms = np.arange(most + 1.0)[:, None]
        return terms, np.maximum(s[None, :] - self.kappa * terms, 0.0) / self.alpha

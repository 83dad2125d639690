"""How often does one page change? Estimates from visits alone, from dates of modification, and one by one.

Changes are taken for Poisson. A visit after an interval t finds a page changed with probability 1 - e^(-rate t),
however often it changed in between: counting detections is biased low (`naive`), and by how much is known (`improved`;
Cho & Garcia-Molina, "Estimating frequency of change", ACM TOIT 3:3, 2003). Intervals of any length have a likelihood
(`likeliest`), which has no greatest value where all visits found a change or none did, so that what decides is always
the mode of a Gamma posterior (`most_probable`), or its running form in two numbers (`RunningRate`). Dates of
modification that can be trusted tell more: they censor an exponential (`from_dates`). Visits that come by chance are
another matter (`ByChance`; Avrachenkov, Patil & Thoppe 2020).

Rates are per day and intervals in days, or in any other unit as long as it is one. Not here: what pages of a site have
in common (`group_prior`), and signals (`estimation`).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEAST_RATE, MOST_RATE = 1e-9, 1e6
"""Between these every estimate lies: from once in some million years to ten times a second."""
_STEPS = 80
"""Halvings of the logarithm of a rate: more than a double can tell apart."""


def naive(changes: int, visits: int, frequency: float = 1.0) -> float:
    """Detected changes over time: biased low by (1 - e^(-r))/r for r changes between two visits."""
    return frequency * changes / visits if visits else 0.0


def improved(changes: int, visits: int, frequency: float = 1.0) -> float:
    """The same without most of the bias, and finite where every visit found a change (Cho & Garcia-Molina 2003)."""
    return -frequency * math.log((visits - changes + 0.5) / (visits + 0.5)) if changes else 0.0


def likeliest(intervals: ArrayLike, is_changed: ArrayLike) -> float:
    """The rate that makes visits after these intervals most likely; 0 if none found a change, infinity if all did."""
    changed, quiet = _split(intervals, is_changed)
    if not len(changed):
        return 0.0
    return math.inf if quiet == 0.0 else _root(changed, quiet, 0.0)


def most_probable(intervals: ArrayLike, is_changed: ArrayLike, shape: float = 0.5, scale: float = 0.5) -> float:
    """The mode, in the logarithm of the rate, of the posterior with the prior Gamma(`shape`, `scale`).

    The prior weighs as much as `shape` changes in `scale` days: there is always an answer.
    """
    changed, quiet = _split(intervals, is_changed)
    return _root(changed, quiet + scale, shape)


def from_dates(visits: int, changes: int, days: float) -> float:
    """The rate where each visit also told when the page last changed, and that can be trusted.

    `changes` counts visits after which a change was newer than the visit before; `days` sums the time since the last
    change at those, and whole intervals at the others: the page was watched for so long. Without the bias of
    `changes / days` (Cho & Garcia-Molina 2003).
    """
    if not changes or days <= 0.0:
        return 0.0
    if changes >= visits:
        return (changes - 1) / days
    return ((changes - 1) - changes / (visits * math.log1p(-changes / visits))) / days


class RunningRate(Struct, frozen=True, gc=False):
    """A Gamma posterior in two numbers, updated visit by visit in the manner of EM: O(1), and nearly as good as all.

    `memory` is after how many visits an observation counts half.
    """

    changes: float = 0.5
    days: float = 1.0

    @property
    def rate(self) -> float:
        """The mean."""
        return self.changes / self.days

    def seen(self, is_changed: bool, interval: float, memory: float = math.inf) -> RunningRate:
        """After one more visit. Where there was a change there were perhaps several: as many as are expected then."""
        keep = 0.5 ** (1.0 / memory)
        expected = self.rate * interval
        found = expected / -math.expm1(-expected) if is_changed and expected else float(is_changed)
        return RunningRate(keep * self.changes + found, keep * self.days + interval)


class ByChance(Struct, frozen=True, gc=False):
    """The rate of a page that is visited at random moments, so often a day: P(changed) = rate/(rate + frequency).

    The law of large numbers on that share (Avrachenkov, Patil & Thoppe 2020): three numbers, no likelihood.
    """

    frequency: float
    changes: int = 0
    visits: int = 0
    _GUARD = 1.0

    @property
    def rate(self) -> float:
        """Finite also where every visit found a change."""
        return self.frequency * (self.changes + self._GUARD) / (self.visits + self._GUARD - self.changes)

    def seen(self, is_changed: bool) -> ByChance:
        """After one more visit."""
        return ByChance(self.frequency, self.changes + is_changed, self.visits + 1)


def _split(intervals: ArrayLike, is_changed: ArrayLike) -> tuple[Floats, float]:
    """The intervals that ended with a change, and the sum of the others."""
    length, changed = np.asarray(intervals, float), np.asarray(is_changed, bool)
    return length[changed], float(length[~changed].sum())


def _root(changed: Floats, quiet: float, shape: float) -> float:
    """Where sum t/(e^(D t) - 1) + shape/D falls to `quiet`: strictly decreasing in D, so halving cannot miss it."""
    low, high = math.log(LEAST_RATE), math.log(MOST_RATE)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        rate = math.exp(middle)
        expected = np.minimum(rate * changed, 700.0)
        if float((changed / np.expm1(expected)).sum()) + shape / rate > quiet:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)

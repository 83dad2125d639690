"""How often to visit each page when its rate of change is known and visits are regular.

Cho & Garcia-Molina, "Effective page refresh policies for Web crawlers" (ACM TODS 28:4, 2003): pages change as Poisson
processes of rate D, a page visited f times a day is fresh for (f/D)(1 - e^(-D/f)) of the time, and the visits that a
crawler can make are shared out so that a little more would gain the same everywhere. Pages that change too often get
none: there is nothing to be won by chasing them. For the mean age instead of freshness every page gets some.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincinv

Floats = NDArray[np.float64]

_BISECTIONS = 60
_PRECISION = 1e-12
_WIDEST = 700.0  # of a multiplier, as a logarithm: e^700 is near the largest double


def frequencies_for_freshness(
    rates: ArrayLike, budget: float, *, weights: ArrayLike = 1.0, most: float = np.inf
) -> Floats:
    """Visits a day of each page that make the mean freshness greatest; together `budget`, none above `most`.

    A page that never changes is never visited; where `most` holds all the others, some of the budget is left.
    """
    return _share_out(rates, budget, weights, most, _steps_for_freshness)


def frequencies_for_age(rates: ArrayLike, budget: float, *, weights: ArrayLike = 1.0, most: float = np.inf) -> Floats:
    """Visits a day of each page that make the mean age least, under the same terms."""
    return _share_out(rates, budget, weights, most, _steps_for_age)


def expected_freshness(rates: ArrayLike, frequencies: ArrayLike) -> Floats:
    """The share of time that each page is fresh."""
    rate, frequency = _columns(rates, frequencies)
    fresh = np.where(rate > 0, 0.0, 1.0)
    seen = (rate > 0) & (frequency > 0)
    steps = rate[seen] / frequency[seen]
    fresh[seen] = -np.expm1(-steps) / steps
    return fresh


def expected_age(rates: ArrayLike, frequencies: ArrayLike) -> Floats:
    """The mean age of each page in days: how long ago the first change was that the crawler has not seen."""
    rate, frequency = _columns(rates, frequencies)
    age = np.where(rate > 0, np.inf, 0.0)
    seen = (rate > 0) & (frequency > 0)
    rate, frequency = rate[seen], frequency[seen]
    age[seen] = 0.5 / frequency - 1 / rate - frequency * np.expm1(-rate / frequency) / rate**2
    return age


def _share_out(
    rates: ArrayLike,
    budget: float,
    weights: ArrayLike,
    most: float,
    steps_at: Callable[[Floats, Floats, float], Floats],
) -> Floats:
    """Find the price of a visit at which the budget is spent. Pages of one rate and weight are reckoned once."""
    rate, weight = _columns(rates, weights)
    frequencies = np.zeros(len(rate))
    live = np.flatnonzero((rate > 0) & (weight > 0))
    if budget <= 0 or not len(live):
        return frequencies
    kinds, kind, count = np.unique(
        np.column_stack((rate[live], weight[live])), axis=0, return_inverse=True, return_counts=True
    )
    kind = kind.reshape(-1)
    if most * len(live) <= budget:
        frequencies[live] = most
        return frequencies

    def at(log_price: float) -> Floats:
        return np.minimum(most, kinds[:, 0] / steps_at(kinds[:, 0], kinds[:, 1], float(np.exp(log_price))))

    def overspent(log_price: float) -> float:
        return float(count @ at(log_price)) - budget

    price = brentq(overspent, *_bracket(overspent), xtol=_PRECISION / 10)
    frequencies[live] = _between(at(price - _PRECISION), at(price + _PRECISION), count, budget)[kind]
    return frequencies


def _between(more: Floats, less: Floats, count: NDArray[np.int64], budget: float) -> Floats:
    """The mixture that spends the budget: the last kind of page to be visited at all is so at one price only."""
    above, below = float(count @ more), float(count @ less)
    share = (budget - below) / (above - below) if above > below else 1.0
    return less + (more - less) * share


def _bracket(overspent: Callable[[float], float]) -> tuple[float, float]:
    """Two logarithms of a price between which the budget is spent: too cheap, too dear."""
    low, high = -1.0, 1.0
    while overspent(low) < 0 and low > -_WIDEST:
        low *= 2
    while overspent(high) > 0 and high < _WIDEST:
        high *= 2
    return low, high


def _steps_for_freshness(rate: Floats, weight: Floats, price: float) -> Floats:
    """Changes between two visits (D/f) at which (w/D) P(more than one change) is the price; infinitely many: never."""
    steps: Floats = gammaincinv(2, np.minimum(1.0, price * rate / weight))
    return np.maximum(steps, np.finfo(float).tiny)


def _steps_for_age(rate: Floats, weight: Floats, price: float) -> Floats:
    """The same for (w/D^2)(x^2/2 - P(more than one change)), which grows without end: halve in ln x."""
    goal = price * rate**2 / weight
    low, high = np.full(len(rate), -40.0), np.full(len(rate), 360.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        x = np.exp(middle)
        above = x * x / 2 - gammainc(2, x) > goal
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    found: Floats = np.exp((low + high) / 2)
    return found


def _columns(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    one, two = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
    return np.atleast_1d(one), np.atleast_1d(two)

"""Expected freshness and age under fixed visit frequencies, and the frequencies that make the age least.

Cho & Garcia-Molina (2003). Tests compare the policies that ship with these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from periplus.engine.revisit.allocation import _BISECTIONS, _columns, _share_out
from periplus.engine.revisit.objectives import at_least_two

Floats = NDArray[np.float64]


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


def _steps_for_age(rate: Floats, weight: Floats, price: float) -> Floats:
    """The same for (w/D^2)(x^2/2 - P(more than one change)), which grows without end: halve in ln x."""
    goal = price * rate**2 / weight
    low, high = np.full(len(rate), -40.0), np.full(len(rate), 360.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        x = np.exp(middle)
        above = x * x / 2 - at_least_two(x) > goal
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    found: Floats = np.exp((low + high) / 2)
    return found

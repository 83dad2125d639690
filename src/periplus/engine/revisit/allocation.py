"""How often to visit each page when its rate of change is known: budgets shared out at once.

Not how the crawler decides, which follows an index and solves nothing (`crawl_value`), but what its index is held
against, and what plans for simulations are made of.

Visits that are regular: Cho & Garcia-Molina, "Effective page refresh policies for Web crawlers" (ACM TODS 28:4, 2003):
pages change as Poisson processes of rate D, a page visited f times a day is fresh for (f/D)(1 - e^(-D/f)) of the time,
and the visits that a crawler can make are shared out so that a little more would gain the same everywhere. Pages that
change too often get none: there is nothing to be won by chasing them. For the mean age instead of freshness every page
gets some.

Visits that come by chance, at a rate r: Azar, Horvitz, Lubetzky, Peres & Shahaf (PNAS 2018) for freshness r/(r + D), in
closed form once pages are sorted; Kolobov, Peres, Lu & Horvitz (LambdaCrawl, NeurIPS 2019) for the harmonic cost, with
pages whose every change is announced beside those that must be polled.

After a change the interval shrinks by a fifth, otherwise it grows by two fifths, within a shortest and a longest
interval. Nothing is estimated and there is no budget: where more is due than can be fetched, the most overdue page
comes first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from .evidence import DAY


class AdaptiveSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How intervals move. Times are in seconds."""

    first: float = 30 * DAY
    """the interval of a page that was visited once"""
    shortest: float = 60.0
    """no interval is shorter"""
    longest: float = 365 * DAY
    """nor longer"""
    faster: float = 0.2
    """the share by which an interval shrinks after a change"""
    slower: float = 0.4
    """the share by which it grows otherwise"""


def adapted(interval: float, is_changed: bool, settings: AdaptiveSettings) -> float:
    """The interval after one more visit; 0 before: the first."""
    before = interval or settings.first
    after = before * (1.0 - settings.faster if is_changed else 1.0 + settings.slower)
    return min(max(after, settings.shortest), settings.longest)


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


def random_frequencies(rates: ArrayLike, budget: float, *, weights: ArrayLike = 1.0) -> Floats:
    """Rates of random visits that maximise freshness (Azar et al. 2018): sqrt(w D/L) - D, or 0.

    Exact: pages in the order of w/D; the last one visited is the last whose own ratio pays the price of those before.
    """
    rate, weight = _columns(rates, weights)
    frequencies = np.zeros(len(rate))
    live = np.flatnonzero((rate > 0) & (weight > 0))
    if budget <= 0 or not len(live):
        return frequencies
    order = live[np.argsort(-weight[live] / rate[live], kind="stable")]
    change, root = rate[order], np.sqrt(weight[order] * rate[order])
    scale = (budget + np.cumsum(change)) / np.cumsum(root)
    last = int(np.flatnonzero(scale * root > change)[-1])
    chosen = order[: last + 1]
    frequencies[chosen] = np.maximum(scale[last] * root[: last + 1] - change[: last + 1], 0.0)
    return frequencies


def harmonic_frequencies(
    rates: ArrayLike, budget: float, *, weights: ArrayLike = 1.0, is_announced: ArrayLike = False
) -> tuple[Floats, Floats]:
    """LambdaCrawl: rates of random visits, and for announced pages the share of announcements to follow.

    Announced pages signal every change at once. Both follow from the one price at which the budget is spent.
    """
    rate, weight = _columns(rates, weights)
    announced = np.broadcast_to(np.asarray(is_announced, bool), rate.shape)
    live = (rate > 0) & (weight > 0)
    polled, followed = np.zeros(len(rate)), np.zeros(len(rate))
    if budget <= 0 or not live.any():
        return polled, followed
    poll, follow = live & ~announced, live & announced

    def spend(price: float) -> float:
        change, worth = rate[poll], weight[poll]
        polled[poll] = (np.sqrt(change**2 + 4 * worth * change / price) - change) / 2
        followed[follow] = np.minimum(1.0, weight[follow] / (price * rate[follow]))
        return float(polled.sum() + (followed * rate).sum())

    _halve(spend, budget)
    return polled, followed


def _halve(spend: Callable[[float], float], budget: float) -> float:
    """The price, by halving its logarithm, at which no more than the budget is spent; `spend` leaves its traces."""
    low, high = -_WIDEST / 2, _WIDEST / 2
    for _ in range(2 * _BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if spend(float(np.exp(middle))) > budget else (low, middle)
    spend(float(np.exp(high)))
    return float(np.exp(high))


def _share_out(
    rates: ArrayLike,
    budget: float,
    weights: ArrayLike,
    most: float,
    steps_at: Callable[[Floats, Floats, float], Floats],
) -> Floats:
    """Find the price of a visit at which the budget is spent. Pages of one rate and weight are computed once."""
    from scipy.optimize import brentq  # loaded only where budgets are shared out

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
    """Two logarithms of a price that enclose the one at which the budget is spent: too low, too high."""
    low, high = -1.0, 1.0
    while overspent(low) < 0 and low > -_WIDEST:
        low *= 2
    while overspent(high) > 0 and high < _WIDEST:
        high *= 2
    return low, high


def _steps_for_freshness(rate: Floats, weight: Floats, price: float) -> Floats:
    """Changes between two visits (D/f) at which (w/D) P(more than one change) is the price; infinitely many: never."""
    from scipy.special import gammaincinv

    steps: Floats = gammaincinv(2, np.minimum(1.0, price * rate / weight))
    return np.maximum(steps, np.finfo(float).tiny)


def _columns(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    one, two = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
    return np.atleast_1d(one), np.atleast_1d(two)

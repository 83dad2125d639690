"""What a visit is worth now, and when it will be worth its price: every objective as tables that are looked up.

An index is weight x rate^-power x phi(e), where e is how many changes a copy would have to expect without any signal to
cost as much as it does: `rate x age` if none came, and more if some did. phi depends on how often signals come for each
unsignalled change (gamma/alpha) and on what each is worth (kappa), so that pages fall into 64 x 32 classes, and one for
those without signals; the table of a class is computed for its first page, and a page's rate in it is scaled so that
the page changes as often as estimated. For any cost c,

    psi(x) = (alpha/gamma) sum over i of R^i(gamma/alpha m_i(x)),   phi(x) = integral of psi from 0 to x,

where m_i(x) are the unsignalled changes with which, after i signals, the cost is x: psi is the mean time until then,
since the threshold is not reached before that moment as long as no more than i signals came. For binary freshness that
is the closed form of Busa-Fekete et al. (WWW 2025, arXiv 2502.02430), with which tests compare these tables.

A rate is not known but estimated. With a Gamma posterior of the shape a the chance that a copy is still fresh is not
e^-m but (1 + m/a)^-a: as if only a ln(1 + m/a) changes were expected. So pages of which little is known are never given
up for good, as pages that certainly change too often are, and are visited again, late: that is exploration where it
pays. Shapes make six kinds of tables; times in them are longer, and all else is as above.

Signals that are right less than one time in ten are ignored as noise: the changes they announce count as unsignalled.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from .objectives import Floats, Objective, objective

Ints = NDArray[np.int64]
Row: TypeAlias = "list[float] | array[float]"

LEAST_UNSIGNALLED = 1e-3
"""Smallest share of changes that no signal reports: no site's signals are complete."""

_SHARES, _WORTHS = 64, 32
_LEAST_SHARE, _MOST_SHARE = 0.03, 3000.0
LEAST_KAPPA, _MOST_KAPPA = 0.105, 5.5
_SHARE_STEP = math.log(_MOST_SHARE / _LEAST_SHARE) / (_SHARES - 1)
_WORTH_STEP = math.log(_MOST_KAPPA / LEAST_KAPPA) / (_WORTHS - 1)
_POINTS, _FIRST, _LAST = 300, 1e-4, 1e4
_STEP = math.log(_LAST / _FIRST) / (_POINTS - 2)
_GRID: Floats = np.concatenate(([0.0], _FIRST * np.exp(_STEP * np.arange(_POINTS - 1))))
_GRID_LIST: list[float] = _GRID.tolist()
_MOST_SIGNALS = 8
"""Numbers of signals with a row of their own; more count as eight."""
_MOST_TERMS, _SATURATED = 128, 16.0
"""Number of signals that are distinguished: with more, a copy is stale but for one chance in millions."""
_MOST_ROWS = 2_048
"""Classes whose tables are held: 5 MB. A site needs some hundred, and others as what is known of it changes."""
QUIET = 0
"""The class of pages without trusted signals, of a certain rate."""
_OF_SHAPE = 1 + _SHARES * _WORTHS
_SHAPES = (math.inf, 1.0, 2.0, 4.0, 8.0, 16.0)
_SHAPE_LIST = np.array(_SHAPES)
_CERTAIN = 24.0
_LONGEST = 1e6
"""Times in the tables end here, in units of 1/rate."""


def poisson_tail(count: ArrayLike, mean: ArrayLike) -> Floats:
    """R^j(x): the probability of more than `count` events where `mean` are expected."""
    from scipy.special import gammainc  # loaded only where there are signals

    return np.asarray(gammainc(np.asarray(count, float) + 1.0, np.asarray(mean, float)), np.float64)


class Outlook(Struct, frozen=True, gc=False):
    """A page as the tables see it: its class, the rate that counts there, and what its pending signals add."""

    kind: int
    rate: float
    boost: float = 0.0


class CrawlValue:
    """An objective's tables. Ages are in days; a `boost` is the sum of kappa over the signals since the last visit."""

    def __init__(self, aim: Objective | str) -> None:
        self.objective = objective(aim) if isinstance(aim, str) else aim
        self._rows: dict[int, Row] = {}
        self._quiet: dict[int, Floats] = {}
        self._quiet_rows: dict[int, list[list[float]]] = {}
        self._is_plain = self.objective.name in ("binary", "capture")
        self._is_weighted, self._power = self.objective.is_weighted, self.objective.power
        self._has_shapes = self.objective.cost is not None and self.objective.power == 1.0

    # one page

    def outlook(self, alpha: float, gamma: float, kappa: float, boost: float = 0.0, shape: float = math.inf) -> Outlook:
        """The class of pages with these rates, whose signals are worth `kappa` each.

        `shape` is the precision of `alpha`, as a number of changes.
        """
        signalled = -math.expm1(-kappa) * gamma
        base = self._shape_of(shape) * _OF_SHAPE
        if self.objective.cost is None or kappa < LEAST_KAPPA or gamma <= 0.0:
            return Outlook(base, alpha + signalled)
        alpha = max(alpha, LEAST_UNSIGNALLED * (alpha + signalled))
        share = min(max(round(math.log(gamma / alpha / _LEAST_SHARE) / _SHARE_STEP), 0), _SHARES - 1)
        worth = min(round(math.log(kappa / LEAST_KAPPA) / _WORTH_STEP), _WORTHS - 1)
        told_there = -math.expm1(-_kappa(worth)) * _LEAST_SHARE * math.exp(share * _SHARE_STEP)
        return Outlook(base + 1 + worth * _SHARES + share, (alpha + signalled) / (1.0 + told_there), boost)

    def _shape_of(self, shape: float) -> int:
        """Which of the shapes is nearest, in the logarithm."""
        if not self._has_shapes or shape >= _CERTAIN:
            return 0
        return min(max(round(math.log2(max(shape, 1.0))), 0), len(_SHAPES) - 2) + 1

    def value(self, kind: int, rate: float, weight: float, age: float, boost: float = 0.0) -> float:
        """The value of a visit at this age."""
        expected = rate * age
        if kind >= _OF_SHAPE:
            shape = _SHAPES[kind // _OF_SHAPE]
            expected = shape * math.log1p(expected / shape)
        if boost and kind % _OF_SHAPE:
            expected = self._with_signals(kind, expected, boost)
        return self._scale(rate, weight) * _between(_GRID_LIST, self._rows.get(kind) or self._row(kind), expected)

    def _scale(self, rate: float, weight: float) -> float:
        if not self._is_weighted:
            weight = 1.0
        return weight / rate if self._power == 1.0 else weight * float(rate**-self._power)

    def ripe_age(self, kind: int, rate: float, weight: float, price: float, boost: float = 0.0) -> float:
        """The age at which a visit is worth the price; 0 if it is already, infinity if it never is."""
        if rate <= 0.0 or (self._is_weighted and weight <= 0.0):
            return math.inf
        goal, row = price / self._scale(rate, weight), self._rows.get(kind) or self._row(kind)
        if not goal < row[-1]:
            return math.inf
        expected = _between(row, _GRID_LIST, goal)
        if boost and kind % _OF_SHAPE:
            expected = self._without_signals(kind, expected, boost)
        if kind >= _OF_SHAPE:
            expected = _waited(expected, _SHAPES[kind // _OF_SHAPE])
        return expected / rate

    # many pages

    def outlooks(self, alpha: Floats, gamma: Floats, kappa: Floats, shape: Floats | None = None) -> tuple[Ints, Floats]:
        """Classes and rates of many pages."""
        signalled = -np.expm1(-kappa) * gamma
        deaf = (kappa < LEAST_KAPPA) | (gamma <= 0.0) | (self.objective.cost is None)
        unsignalled = np.maximum(alpha, LEAST_UNSIGNALLED * (alpha + signalled))
        share = np.rint(np.log(np.where(deaf, 1.0, gamma / unsignalled) / _LEAST_SHARE) / _SHARE_STEP)
        worth = np.rint(np.log(np.maximum(kappa, LEAST_KAPPA) / LEAST_KAPPA) / _WORTH_STEP)
        worth, share = np.clip(worth, 0, _WORTHS - 1), np.clip(share, 0, _SHARES - 1)
        kappa_there = LEAST_KAPPA * np.exp(worth * _WORTH_STEP)
        told_there = -np.expm1(-kappa_there) * _LEAST_SHARE * np.exp(share * _SHARE_STEP)
        rate = np.where(deaf, alpha + signalled, (alpha + signalled) / (1.0 + told_there))
        base = 0.0 if shape is None else self._shapes_of(shape) * _OF_SHAPE
        return (base + np.where(deaf, QUIET, 1 + worth * _SHARES + share)).astype(np.int64), rate

    def _shapes_of(self, shape: Floats) -> Floats:
        if not self._has_shapes:
            return np.zeros(len(shape))
        place = np.clip(np.rint(np.log2(np.maximum(shape, 1.0))), 0, len(_SHAPES) - 2) + 1
        return np.where(shape >= _CERTAIN, 0.0, place)

    def values(self, kind: Ints, rate: Floats, weight: Floats, age: Floats, boost: Floats | None = None) -> Floats:
        """The value of a visit to each page."""
        shape = _SHAPE_LIST[kind // _OF_SHAPE]
        expected = rate * age
        unsure = np.isfinite(shape)
        expected[unsure] = shape[unsure] * np.log1p(expected[unsure] / shape[unsure])
        if boost is not None:
            self._add_signals(kind, expected, boost)
        kinds, which = np.unique(kind, return_inverse=True)
        table = np.array([self._row(int(each)) for each in kinds]).reshape(len(kinds), _POINTS)
        with np.errstate(divide="ignore"):
            place = np.clip(np.log(expected / _FIRST) / _STEP + 1.0, 0.0, _POINTS - 2.0).astype(np.int64)
        low, high = _GRID[place], _GRID[place + 1]
        share = np.clip((expected - low) / (high - low), 0.0, 1.0)
        phi = table[which, place] * (1 - share) + table[which, place + 1] * share
        scaled: Floats = rate**-self.objective.power * phi
        return scaled * weight if self.objective.is_weighted else scaled

    def ripe_ages(
        self, kind: Ints, rate: Floats, weight: Floats, price: float | Floats, boost: Floats | None = None
    ) -> Floats:
        """The age of each page at which a visit is worth the price."""
        worth = weight if self.objective.is_weighted else np.ones(len(rate))
        with np.errstate(divide="ignore", invalid="ignore"):
            goal = price * rate**self.objective.power / worth
        expected = np.full(len(rate), np.inf)
        for each in np.unique(kind):
            row, mine = np.asarray(self._row(int(each))), np.flatnonzero(kind == each)
            found = np.interp(goal[mine], row, _GRID)
            expected[mine] = np.where(goal[mine] < row[-1], found, np.inf)
        if boost is not None:
            for page in np.flatnonzero((boost > 0.0) & (kind % _OF_SHAPE > 0) & np.isfinite(expected)):
                expected[page] = self._without_signals(int(kind[page]), float(expected[page]), float(boost[page]))
        return _waits(expected, _SHAPE_LIST[kind // _OF_SHAPE]) / rate

    def _add_signals(self, kind: Ints, expected: Floats, boost: Floats) -> None:
        is_signalled = (boost > 0.0) & (kind % _OF_SHAPE > 0)
        if self._is_plain:
            expected[is_signalled] += boost[is_signalled]
            return
        for page in np.flatnonzero(is_signalled):
            expected[page] = self._with_signals(int(kind[page]), float(expected[page]), float(boost[page]))

    # signals

    def _with_signals(self, kind: int, changes: float, boost: float) -> float:
        """The changes that one would have to expect without a signal for the same cost."""
        if self._is_plain:
            return changes + boost
        row = self._signals(kind, boost)
        return changes if row is None else _between(row, _GRID_LIST, changes)

    def _without_signals(self, kind: int, expected: float, boost: float) -> float:
        """The inverse: the unsignalled changes with which these signals cost as much; 0 if they alone do."""
        if self._is_plain:
            return max(expected - boost, 0.0)
        row = self._signals(kind, boost)
        return expected if row is None else _between(_GRID_LIST, row, expected)

    def _signals(self, kind: int, boost: float) -> list[float] | None:
        """The row for the number of signals of the class's own worth with that value; None: less than half of one."""
        worth = (kind % _OF_SHAPE - 1) // _SHARES
        count = min(round(boost / _kappa(worth)), _MOST_SIGNALS)
        if not count:
            return None
        rows = self._quiet_rows.get(worth)
        if rows is None:
            rows = self._quiet_rows[worth] = self._quiet_times(worth)[: _MOST_SIGNALS + 1].tolist()
        return rows[min(count, len(rows) - 1)]  # of signals that are nearly sure a few say all

    # tables

    def _row(self, kind: int) -> Row:
        row = self._rows.get(kind)
        if row is None:
            if len(self._rows) >= _MOST_ROWS:
                self._rows.clear()
            row = self._rows[kind] = array("d", self._tabled(kind))
        return row

    def _tabled(self, kind: int) -> Floats:
        """Phi of a class on the grid: the integral of psi over the cost."""
        aim, shape = self.objective, _SHAPES[kind // _OF_SHAPE]
        if kind == QUIET or aim.is_greedy or aim.cost is None:
            return aim.phi(_GRID)
        cost = aim.cost(_GRID, np.zeros(1), 0.0)
        if not kind % _OF_SHAPE:
            psi = _waits(_GRID, shape)
        else:
            worth, share = divmod(kind % _OF_SHAPE - 1, _SHARES)
            signals = _LEAST_SHARE * math.exp(share * _SHARE_STEP)
            times = _waits(self._quiet_times(worth), shape)
            psi = poisson_tail(np.arange(len(times))[:, None], signals * times).sum(axis=0) / signals
        area = np.diff(cost) * (psi[1:] + psi[:-1]) / 2
        return np.concatenate(([0.0], np.cumsum(area)))

    def _quiet_times(self, worth: int) -> Floats:
        """m_i(x) for the cost x of each point of the grid, a row for each number of signals; 0: they alone cost it."""
        times = self._quiet.get(worth)
        if times is None:
            assert self.objective.cost is not None  # noqa: S101 - only such objectives have classes
            precision = -math.expm1(-_kappa(worth))
            terms = min(int(_SATURATED / _kappa(worth)) + 2, _MOST_TERMS)
            costs = self.objective.cost(_GRID[None, :], np.arange(float(terms))[:, None], precision)
            times = np.array([np.interp(costs[0], row, _GRID, left=0.0) for row in costs])
            times[0] = _GRID
            self._quiet[worth] = times
        return times


def _waited(expected: float, shape: float) -> float:
    """The time, in units of 1/rate, after which that many changes are expected, given the uncertainty of the rate."""
    return min(shape * math.expm1(min(expected / shape, 50.0)), _LONGEST) if expected < math.inf else math.inf


def _waits(expected: Floats, shape: Floats | float) -> Floats:
    """`_waited` for many pages."""
    finite = np.where(np.isfinite(shape), shape, 1.0)
    unsure = np.minimum(finite * np.expm1(np.minimum(expected / finite, 50.0)), _LONGEST)
    return np.where(np.isfinite(shape) & np.isfinite(expected), unsure, expected)


def _kappa(worth: int) -> float:
    return LEAST_KAPPA * math.exp(worth * _WORTH_STEP)


def _between(at: Row, values: Row, x: float) -> float:
    """On the line between two points of a table; its ends hold beyond it."""
    place = bisect_right(at, x)
    if not 0 < place < _POINTS:
        return values[0] if place == 0 else values[-1]
    low, first = at[place - 1], values[place - 1]
    return first + (values[place] - first) * (x - low) / (at[place] - low)

"""Prepares curves for drawing: removes values that no axis can show, and points that make no visible difference.

Gaps are NaN from here on. Only `thin`, `reduced` and `reduced_band` work with pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..findings import PlotCurve
from .plot import Plot

Indexes = NDArray[np.intp]

TOLERANCE = 0.2
"""In pixels: less than the eye sees beside a line of two."""
_MOST_EXAMINED = 6_000


def thin(x: Floats, y: Floats, limit: int, tolerance: float = TOLERANCE) -> Indexes:
    """Which points of a line in pixels to keep: at most `limit` of them, the first and the last always.

    Douglas & Peucker (1973) keep a point if leaving it out would move the line by more than a tolerance. Here the worst
    segment is split first, so that a limit on the number of points removes the least important ones.
    """
    outline = _outline(x, y)
    return outline[_corners(x[outline], y[outline], limit, tolerance)]


def _outline(x: Floats, y: Floats) -> Indexes:
    """First, last, lowest and highest point of each half pixel: what a screen shows of a line of millions of points."""
    if len(x) <= _MOST_EXAMINED:
        return np.arange(len(x))
    column = np.floor(x * 2)
    run = np.concatenate([[0], np.cumsum(column[1:] != column[:-1])])
    begins = np.flatnonzero(np.diff(run, prepend=-1))
    by_height = np.lexsort((y, run))
    ends = np.append(begins[1:], len(x)) - 1
    kept: Indexes = np.unique(np.concatenate([begins, ends, by_height[begins], by_height[ends]]))
    if len(kept) > _MOST_EXAMINED:
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, _MOST_EXAMINED).astype(np.intp))]
    return kept


def _corners(x: Floats, y: Floats, limit: int, tolerance: float) -> Indexes:
    """Split the segment with the largest error, at its farthest point, until none is left or the limit is reached."""
    kept = sorted({0, len(x) - 1})
    stretches: list[tuple[float, int, int, int]] = []

    def measure(first: int, last: int) -> None:
        if last - first >= 2:
            away = _distances(x[first : last + 1], y[first : last + 1])
            farthest = int(np.argmax(away))
            if away[farthest] > tolerance:
                heappush(stretches, (-float(away[farthest]), first, first + farthest + 1, last))

    measure(0, len(x) - 1)
    while stretches and len(kept) < limit:
        _, first, middle, last = heappop(stretches)
        kept.append(middle)
        measure(first, middle)
        measure(middle, last)
    return np.array(sorted(kept), dtype=np.intp)


def _distances(x: Floats, y: Floats) -> Floats:
    """The distances of the points between the first and the last from the chord of those two."""
    across, up = x[-1] - x[0], y[-1] - y[0]
    dx, dy = x[1:-1] - x[0], y[1:-1] - y[0]
    length = float(np.hypot(across, up))
    if length == 0.0:
        return np.asarray(np.hypot(dx, dy), np.float64)
    along = np.clip((dx * across + dy * up) / length**2, 0.0, 1.0)
    return np.asarray(np.hypot(dx - along * across, dy - along * up), np.float64)


Floats = NDArray[np.float64]
Pixels = Callable[[Floats], Floats]

LARGEST = 1e150
"""A value beyond it, in either direction, is a gap: its square must still be a number."""
MOST_GAPS = 40


class Trace(Struct, frozen=True):
    """A curve as arrays of one length; `low` and `high` are None if there is no visible interval."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a point."""
        return np.isfinite(self.x) & np.isfinite(self.y)


def traces_of(plot: Plot) -> list[Trace]:
    """The curves of a plot that have any point, in its order."""
    traces = [_trace(curve, plot) for curve in plot.curves]
    return [trace for trace in traces if trace.known.any()]


def _trace(curve: PlotCurve, plot: Plot) -> Trace:
    x, y = _clean(curve.x, plot.log_x), _clean(curve.y, plot.log_y)
    low, high = _bounds(curve, y, plot.log_y)
    return Trace(curve.name, x, y, low, high)


def _clean(values: Sequence[float], log: bool) -> Floats:
    column = np.array(values, dtype=np.float64)
    column[~(np.abs(column) < LARGEST)] = np.nan
    if log:
        column[~(column > 1 / LARGEST)] = np.nan
    return column


def _bounds(curve: PlotCurve, y: Floats, log: bool) -> tuple[Floats, Floats] | tuple[None, None]:
    """The interval, unless it is nowhere wider than its point."""
    given: tuple[Sequence[float] | None, Sequence[float] | None] = (curve.low, curve.high)
    if given[0] is None or given[1] is None or not len(given[0]):
        return None, None
    low, high = _clean(given[0], False), _clean(given[1], log)
    if not np.any(high > low):
        return None, None
    if log:  # an interval that reaches down to nothing goes to the lowest of the curve
        low = np.where(low > 0, low, np.nanmin(y, initial=LARGEST))
    return low, high


def value_at(trace: Trace, plot: Plot) -> float | None:
    """The curve's value at the x that the plot asks for: between points as it is drawn, beyond its ends unknown."""
    at = plot.values_at
    order = np.argsort(trace.x[trace.known], kind="stable")
    x, y = trace.x[trace.known][order], trace.y[trace.known][order]
    if at is None or plot.kind == "bars" or not x[0] <= at <= x[-1]:
        return None
    if plot.kind == "steps":
        return float(y[np.searchsorted(x, at, side="right") - 1])
    return float(np.interp(at, x, y))


def staircase(trace: Trace) -> Trace:
    """The same curve where each value holds until the next point."""

    def held(column: Floats | None) -> Floats | None:
        return None if column is None else np.repeat(column, 2)[:-1]

    return Trace(trace.name, np.repeat(trace.x, 2)[1:], np.repeat(trace.y, 2)[:-1], held(trace.low), held(trace.high))


def reduced(trace: Trace, pixels: Pixels, limit: int) -> Trace:
    """The points of a trace that are visibly different, at most `limit` for the line."""
    kept = _kept(trace, trace.y, pixels, limit)
    return Trace(trace.name, trace.x[kept], trace.y[kept])


def reduced_band(trace: Trace, pixels: Pixels, limit: int) -> tuple[Floats, Floats, Floats] | None:
    """The same for the interval around it, as x, low and high: points that matter to either bound."""
    if trace.low is None or trace.high is None:
        return None
    low, high = trace.low, trace.high
    kept = np.union1d(*(_kept(trace, side, pixels, limit // 2) for side in (low, high)))
    return trace.x[kept], low[kept], high[kept]


def _kept(trace: Trace, height: Floats, pixels: Pixels, limit: int) -> NDArray[np.intp]:
    """Indexes to keep, run by run: gaps stay gaps (one missing point for each), unless there are too many."""
    known = trace.known & np.isfinite(height)
    if np.count_nonzero(np.diff(known)) > 2 * MOST_GAPS:
        runs = [np.flatnonzero(known)]
    else:
        runs = [run for run in np.split(np.arange(len(known)), np.flatnonzero(np.diff(known)) + 1) if known[run[0]]]
    if not runs:
        return np.arange(0)
    share = max(limit // len(runs), 2)
    kept = []
    for run in runs:
        points = pixels(np.column_stack([trace.x[run], height[run]]))
        kept += [run[thin(points[:, 0], points[:, 1], share)], run[-1:] + 1]
    indexes = np.concatenate(kept)
    return indexes[indexes < len(known)] if len(runs) > 1 else indexes[:-1]

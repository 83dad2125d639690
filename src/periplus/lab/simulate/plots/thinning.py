"""Reduces the number of points without a visible difference.

Douglas & Peucker (1973) keep a point if leaving it out would move the line by more than a tolerance. Here the worst
segment is split first, so that a limit on the number of points removes the least important ones.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]

TOLERANCE = 0.2
"""In pixels: less than the eye sees beside a line of two."""
_MOST_EXAMINED = 6_000


def thin(x: Floats, y: Floats, limit: int, tolerance: float = TOLERANCE) -> Indexes:
    """Which points of a line in pixels to keep: at most `limit` of them, the first and the last always."""
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

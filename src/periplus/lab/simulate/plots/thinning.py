"""Fewer points, the same picture: what the eye cannot tell apart need not be in the file.

Douglas & Peucker (1973) keep a point for as long as leaving it out would move the line by more than a tolerance. Here
every point gets the tolerance up to which it stays, in one pass; a limit on their number is then a matter of sorting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]

TOLERANCE = 0.2
"""In pixels: less than the eye sees beside a line of two."""
_MOST_EXAMINED = 6_000


def thin(x: Floats, y: Floats, limit: int, tolerance: float = TOLERANCE) -> Indexes:
    """Which points of a line in pixels to keep: at most `limit` of them, the first and the last always."""
    kept = _outline(x, y)
    if len(kept) <= 2:
        return kept
    stays = _significance(x[kept], y[kept], tolerance)
    weighty = np.argsort(-stays, kind="stable")[: max(limit, 2)]
    chosen: Indexes = kept[np.sort(weighty[stays[weighty] > tolerance])]
    return chosen


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


def _significance(x: Floats, y: Floats, tolerance: float) -> Floats:
    """For each point the tolerance up to which Douglas & Peucker keep it; the ends stay for ever."""
    stays: Floats = np.zeros(len(x))
    stays[[0, -1]] = np.inf
    open_spans = [(0, len(x) - 1, np.inf)]
    while open_spans:
        first, last, parent = open_spans.pop()
        if last - first < 2:
            continue
        away = _distances(x[first : last + 1], y[first : last + 1])
        farthest = int(np.argmax(away))
        weight = min(parent, float(away[farthest]))
        if weight > tolerance:
            middle = first + farthest + 1
            stays[middle] = weight
            open_spans += [(first, middle, weight), (middle, last, weight)]
    return stays


def _distances(x: Floats, y: Floats) -> Floats:
    """How far the points between the first and the last lie from the chord of those two."""
    across, up = x[-1] - x[0], y[-1] - y[0]
    dx, dy = x[1:-1] - x[0], y[1:-1] - y[0]
    length = float(np.hypot(across, up))
    if length == 0.0:
        return np.asarray(np.hypot(dx, dy), np.float64)
    along = np.clip((dx * across + dy * up) / length**2, 0.0, 1.0)
    return np.asarray(np.hypot(dx - along * across, dy - along * up), np.float64)

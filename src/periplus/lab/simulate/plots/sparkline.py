"""A curve in a cell of a table: eight heights of a block character, the longest one ever needed on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BLOCKS = "▁▂▃▄▅▆▇█"
_GAP = " "
_WIDEST = 1_000
_LARGEST = 1e300
"""Bound that keeps sums finite; larger values cannot be told apart."""


def sparkline(
    y: Sequence[float] | NDArray[np.float64], width: int = 20, *, low: float | None = None, high: float | None = None
) -> str:
    """The values as one line of at most `width` characters: means of equal stretches; a stretch without any is blank.

    `low` and `high` are the values of the lowest and the highest block, the line's own where none are given: give the
    same to all rows of a table that are to be compared.
    """
    values = np.asarray(y, dtype=np.float64)
    values = np.where(np.isfinite(values), np.clip(values, -_LARGEST, _LARGEST), np.nan)
    stretches = np.array_split(values, min(max(width, 1), _WIDEST, max(len(values), 1)))
    means = [float(known.mean()) if (known := part[np.isfinite(part)]).size else None for part in stretches]
    seen = [mean for mean in means if mean is not None]
    if not seen:
        return _GAP * len(values[: len(stretches)])
    bottom = min(seen) if low is None else low
    span = (max(seen) if high is None else high) - bottom
    return "".join(_GAP if mean is None else _block(mean - bottom, span) for mean in means)


def _block(height: float, span: float) -> str:
    if span <= 0:
        return _BLOCKS[0] if height <= 0 else _BLOCKS[-1]
    return _BLOCKS[min(max(int(height / span * len(_BLOCKS)), 0), len(_BLOCKS) - 1)]

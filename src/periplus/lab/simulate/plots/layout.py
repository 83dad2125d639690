"""The positions of texts: beside what they name, without overlap.

Widths are those of the font that comes with matplotlib, which is wider than the fonts that viewers use instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in pixels."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def wrapped(text: str, width: float, size: float, lines: int, bold: bool = False) -> list[str]:
    """The text in lines no wider than `width`; what is left after `lines` of them gives way to an ellipsis."""
    rows: list[str] = []
    for word in shortened(" ".join(text.split()), 1_000).split(" ") if text.strip() else []:
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and text_width(longer, size, bold) <= width:
            rows[-1] = longer
        else:
            rows.append(word)
    rows = [_fitting(row, width, size, bold) for row in rows]
    return rows if len(rows) <= lines else [*rows[: lines - 1], _fitting(rows[lines - 1] + " …", width, size, bold)]


def _fitting(row: str, width: float, size: float, bold: bool) -> str:
    while len(row) > 1 and text_width(row, size, bold) > width:
        row = row[: min(len(row) - 2, int(len(row) * 0.95))] + "…"
    return row


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near as can be to the wanted ones, `gap` apart, between `low` and `high`; the order stays.

    Least squares under an order is isotonic regression: neighbours that collide move together (Ayer et al. 1955).
    """
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    blocks: list[tuple[float, int]] = []
    for rank, at in enumerate(order):
        blocks.append((wanted[at] - rank * gap, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (mean, count), (other, more) = blocks.pop(), blocks.pop()
            blocks.append(((mean * count + other * more) / (count + more), count + more))
    levels = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    levels = np.clip(levels, low, max(low, high - (len(order) - 1) * gap))
    heights = [0.0] * len(order)
    for rank, at in enumerate(order):
        heights[at] = float(levels[rank]) + rank * gap
    return heights


def free_place(boxes: Sequence[tuple[float, float, float, float]], taken: Floats) -> int:
    """Which of some boxes (left, top, right, bottom) covers the fewest points; the first among equals."""
    if not len(taken):
        return 0
    x, y = taken[:, 0], taken[:, 1]
    covered = [np.count_nonzero((x > a) & (x < c) & (y > b) & (y < d)) for a, b, c, d in boxes]
    return int(np.argmin(covered))

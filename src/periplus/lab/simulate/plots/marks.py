"""Marks on a plot: a ring at a point or a line across it, with a label where it covers the least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import style
from .curves import Drawn, categories_of
from .layout import free_place, shortened, text_width
from .plot import Mark, Plot
from .style import SMALL
from .traces import traces_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]

_BESIDE = 11.0
"""Distance in pixels from which on a label gets a line to its point."""
_STEP = 4.0
"""Distance between the points that represent existing contents of the page."""


def draw_marks(page: Axes, axes: Axes, plot: Plot, drawn: Sequence[Drawn]) -> None:
    """The marks, each text at the place near its mark where it covers the least of curves and of other texts."""
    sheet = page.get_ylim()[0]
    taken = [_along(curve.corners, sheet) for curve in drawn]
    categories = categories_of(traces_of(plot)) if plot.kind == "bars" else None
    for mark in plot.marks:
        if categories is not None and mark.x is not None and len(categories):
            place = float(np.interp(mark.x, categories, np.arange(len(categories))))
            mark = Mark(mark.text, place, mark.y)
        boxes = _draw_mark(axes, mark, sheet)
        if boxes and mark.text:
            box = boxes[free_place(boxes, np.concatenate([np.zeros((0, 2)), *taken]))]
            text = shortened(mark.text, style.MARK_LIMIT)
            _point(page, axes, mark, box)
            page.text(box[0] + 2, box[3] - 4, text, fontsize=SMALL, color=style.SOFT_INK, zorder=6)
            taken.append(_filled(box))


def _draw_mark(axes: Axes, mark: Mark, sheet: float) -> list[Box]:
    """Draw a mark; return possible positions of its label, the best first."""
    x = axes.get_xlim()[0] if mark.x is None else mark.x
    y = axes.get_ylim()[0] if mark.y is None else mark.y
    across, up = (float(value) for value in axes.transData.transform((x, y)))
    if not (np.isfinite(across) and np.isfinite(up)) or (mark.x is None and mark.y is None):
        return []
    edge = axes.get_window_extent()
    size = (text_width(shortened(mark.text, style.MARK_LIMIT), SMALL) + 4, SMALL * 1.3)
    if mark.y is None:
        axes.axvline(x, color=style.SOFT_INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1.5)
        rows = [sheet - edge.y1 + row * size[1] for row in range(int(edge.height / size[1]))]
        corners = [(left, top) for top in rows for left in (across + 4, across - 4 - size[0])]
    elif mark.x is None:
        axes.axhline(y, color=style.SOFT_INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1.5)
        columns = np.linspace(edge.x0 + 4, edge.x1 - 4 - size[0], 9)
        corners = [(float(left), top) for top in (sheet - up - size[1] - 2, sheet - up + 3) for left in columns]
    else:
        axes.plot([x], [y], marker="o", markersize=8, color="none", markeredgecolor=style.INK, zorder=5, clip_on=False)
        corners = _around(across, sheet - up, size)
    boxes = [(left, top, left + size[0], top + size[1]) for left, top in corners]
    inside = [
        b for b in boxes if b[0] >= edge.x0 and b[2] <= edge.x1 and b[1] >= sheet - edge.y1 and b[3] <= sheet - edge.y0
    ]
    return inside or boxes


def _point(page: Axes, axes: Axes, mark: Mark, box: Box) -> None:
    """A thin line from a marked point to its text, where that found no place beside it."""
    if mark.x is None or mark.y is None:
        return
    x, up = axes.transData.transform((mark.x, mark.y))
    y = page.get_ylim()[0] - up
    near = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
    away = float(np.hypot(near[0] - x, near[1] - y))
    if away > _BESIDE:
        start = (x + (near[0] - x) * 4 / away, y + (near[1] - y) * 4 / away)
        page.plot((start[0], near[0]), (start[1], near[1]), color=style.SOFT_INK, linewidth=0.8, zorder=5)


def _around(x: float, y: float, size: tuple[float, float]) -> list[tuple[float, float]]:
    """Places around a point, near ones first."""
    wide, high = size
    places = []
    for away in (8.0, 20.0, 36.0):
        places += [(x + away, y - high / 2), (x - away - wide, y - high / 2)]
        places += [(x + away * 0.7, y + away * 0.7), (x - away * 0.7 - wide, y - away * 0.7 - high)]
        places += [(x + away * 0.7, y - away * 0.7 - high), (x - away * 0.7 - wide, y + away * 0.7)]
        places += [(x - wide / 2, y - away - high), (x - wide / 2, y + away)]
    return places


def _along(corners: Floats, sheet: float) -> Floats:
    """Points every few pixels along a line, from the top left."""
    if not len(corners):
        return np.zeros((0, 2))
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.arange(0.0, min(float(way[-1]), 20_000.0) + _STEP, _STEP)
    return np.column_stack([np.interp(at, way, corners[:, 0]), sheet - np.interp(at, way, corners[:, 1])])


def _filled(box: Box) -> Floats:
    """Points all over a box."""
    x, y = np.meshgrid(np.arange(box[0], box[2], _STEP), np.arange(box[1] + 1, box[3], _STEP))
    return np.column_stack([x.ravel(), y.ravel()])

"""Curves and marks on the axes of a plot.

Lines and steps are thinned to what the page can show; bars side by side are one shape a curve. A mark is a ring at a
point or a line across the plot, with a label where it covers the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .axes import dress, free_place, name_categories, name_values, reach_x, reach_y, shortened, text_width
from .plot import INK, MARK_LIMIT, SMALL, SOFT_INK, Mark, Pen, Plot, pen
from .traces import Trace, reduced, reduced_band, staircase, traces_of, value_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Floats = NDArray[np.float64]

MOST_BARS = 400
_ALL_POINTS = 2_000
"""Of all lines and intervals together: some 30 KB."""
_FEW = 12
"""So few points are measurements that deserve a dot each."""
_BARS_WIDTH = 0.8


class Drawn(Struct, frozen=True):
    """A curve on the page: its name and value, its pen, and its points in pixels from the bottom left."""

    name: str
    value: float | None
    pen: Pen
    corners: Floats


def categories_of(traces: Sequence[Trace]) -> Floats:
    """The places of bars: every x at which some curve has a value."""
    return np.unique(np.concatenate([np.zeros(0), *(trace.x[trace.known] for trace in traces)]))


def draw_lines(axes: Axes, plot: Plot, traces: Sequence[Trace]) -> list[Drawn]:
    """Intervals below, then lines: whole ones first, so that dashes show over a whole line that runs the same way."""
    axes.set_xscale("log" if plot.log_x else "linear")
    axes.set_yscale("log" if plot.log_y else "linear")
    axes.set_xlim(reach_x(plot, traces))
    axes.set_ylim(reach_y(plot, traces))
    dress(axes, plot)
    banded = sum(trace.low is not None for trace in traces)
    limit = _ALL_POINTS // max(len(traces) + banded, 1)
    measured = categories_of(traces)
    if 2 <= len(measured) <= _FEW:
        name_values(axes, measured, plot.x_as)
    return [_draw_line(axes, plot, trace, pen(number), limit) for number, trace in enumerate(traces)]


def _draw_line(axes: Axes, plot: Plot, trace: Trace, with_pen: Pen, limit: int) -> Drawn:
    few = np.count_nonzero(trace.known) <= _FEW and plot.kind == "line"
    whole = staircase(trace) if plot.kind == "steps" else trace
    pixels = axes.transData.transform
    band = reduced_band(whole, pixels, limit)
    if band is not None:
        axes.fill_between(*band, color=with_pen.colour, alpha=0.13, linewidth=0, zorder=1)
    line = trace if few else reduced(whole, pixels, limit)
    axes.plot(
        line.x,
        line.y,
        color=with_pen.colour,
        linestyle=with_pen.line,
        linewidth=3.4 if trace.name and trace.name == plot.highlight else 2.0,
        marker=with_pen.marker if few else None,
        markersize=5.5,
        markeredgewidth=0,
        dash_capstyle="butt",
        solid_capstyle="round",
        zorder=3.0 if with_pen.dashes else 2.5,
        clip_on=not few,
    )
    return Drawn(trace.name, value_at(trace, plot), with_pen, pixels(np.column_stack([line.x, line.y])[line.known]))


def draw_bars(axes: Axes, plot: Plot, traces: Sequence[Trace]) -> list[Drawn]:
    """The curves' bars beside each other at every x, in the order of the curves; intervals as thin lines."""
    categories = categories_of(traces)
    axes.set_yscale("log" if plot.log_y else "linear")
    axes.set_xlim(-0.6, max(len(categories), 1) - 0.4)
    axes.set_ylim(reach_y(plot, traces))
    dress(axes, plot)
    name_categories(axes, categories, plot.x_as)
    width = _BARS_WIDTH / max(len(traces), 1)
    drawn = []
    for number, trace in enumerate(traces):
        place = np.searchsorted(categories, trace.x[trace.known]).astype(np.float64)
        middle = place + (number - (len(traces) - 1) / 2) * width
        drawn.append(_draw_bars_of(axes, trace, middle, width, pen(number)))
    return drawn


def _draw_bars_of(axes: Axes, trace: Trace, middle: Floats, width: float, with_pen: Pen) -> Drawn:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    floor = axes.get_ylim()[0] if axes.get_yscale() == "log" else 0.0
    top = trace.y[trace.known]
    half = width * 0.46
    sides = np.stack([middle - half, middle - half, middle + half, middle + half, middle - half], axis=1)
    heights = np.stack([np.full_like(top, floor), top, top, np.full_like(top, floor), np.full_like(top, floor)], axis=1)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(top))
    shape = Path(np.column_stack([sides.ravel(), heights.ravel()]), codes)
    axes.add_patch(PathPatch(shape, facecolor=with_pen.colour, linewidth=0, zorder=2))
    if trace.low is not None and trace.high is not None:
        gap = np.full_like(top, np.nan)
        ends = np.stack([trace.low[trace.known], trace.high[trace.known], gap], axis=1)
        axes.plot(np.repeat(middle, 3), ends.ravel(), color=INK, linewidth=1.2, zorder=3)
    return Drawn(trace.name, None, with_pen, axes.transData.transform(np.column_stack([middle, top])))


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
            text = shortened(mark.text, MARK_LIMIT)
            _point(page, axes, mark, box)
            page.text(box[0] + 2, box[3] - 4, text, fontsize=SMALL, color=SOFT_INK, zorder=6)
            taken.append(_filled(box))


def _draw_mark(axes: Axes, mark: Mark, sheet: float) -> list[Box]:
    """Draw a mark; return possible positions of its label, the best first."""
    x = axes.get_xlim()[0] if mark.x is None else mark.x
    y = axes.get_ylim()[0] if mark.y is None else mark.y
    across, up = (float(value) for value in axes.transData.transform((x, y)))
    if not (np.isfinite(across) and np.isfinite(up)) or (mark.x is None and mark.y is None):
        return []
    edge = axes.get_window_extent()
    size = (text_width(shortened(mark.text, MARK_LIMIT), SMALL) + 4, SMALL * 1.3)
    if mark.y is None:
        axes.axvline(x, color=SOFT_INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1.5)
        rows = [sheet - edge.y1 + row * size[1] for row in range(int(edge.height / size[1]))]
        corners = [(left, top) for top in rows for left in (across + 4, across - 4 - size[0])]
    elif mark.x is None:
        axes.axhline(y, color=SOFT_INK, linewidth=1.0, linestyle=(0, (2, 2)), zorder=1.5)
        columns = np.linspace(edge.x0 + 4, edge.x1 - 4 - size[0], 9)
        corners = [(float(left), top) for top in (sheet - up - size[1] - 2, sheet - up + 3) for left in columns]
    else:
        axes.plot([x], [y], marker="o", markersize=8, color="none", markeredgecolor=INK, zorder=5, clip_on=False)
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
        page.plot((start[0], near[0]), (start[1], near[1]), color=SOFT_INK, linewidth=0.8, zorder=5)


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

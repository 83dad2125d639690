"""Curves on their axes: lines and steps thinned to what the page can show, bars side by side as one shape a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .axes import dress, name_categories, name_values, reach_x, reach_y
from .plot import Plot
from .style import INK, Pen, pen
from .traces import Trace, reduced, reduced_band, staircase, value_at

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

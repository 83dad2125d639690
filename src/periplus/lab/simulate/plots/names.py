"""Names beside curves.

A curve's name is at its end if the ends are far enough apart. Otherwise the names form a key, in the order in which the
curves lie above each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import style
from .curves import Drawn
from .layout import shortened, spread, text_width
from .plot import Plot
from .style import LINE, SAMPLE, SMALL, TEXT
from .ticks import rounded_text, value_text
from .traces import Trace, value_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_FARTHEST = 26.0
"""A name this many pixels from its curve's end still belongs to it."""
_AT_END = 3.0
"""And a curve that stops this near to the edge ends there."""


def name_curves(page: Axes, axes: Axes, plot: Plot, drawn: Sequence[Drawn]) -> None:
    """Write each curve's name to the right of the axes."""
    named = [curve for curve in drawn if curve.name]
    if not named:
        return
    box = axes.get_window_extent()
    sheet = page.get_ylim()[0]
    gap = TEXT * LINE
    ends = [sheet - float(curve.corners[-1, 1]) for curve in named]
    heights = spread(ends, gap, sheet - box.y1 - 4, sheet - box.y0)
    pointing = _can_point(plot, named, box.x1 - _AT_END - 0.02 * box.width, ends, heights)
    if not pointing:
        named = named if plot.kind == "bars" else sorted(named, key=_from_the_top)
        heights = [sheet - box.y1 + 6 + gap * number for number in range(len(named))]
        _write_values(page, plot, named, heights)
    for curve, end, height in zip(named, ends, heights, strict=True):
        start = (float(curve.corners[-1, 0]) + 5, end) if pointing else (box.x1 + 12, height)
        _sample(page, curve, start, (box.x1 + 8 + SAMPLE, height), bars=plot.kind == "bars")
        name = shortened(curve.name, style.NAME_LIMIT)
        page.text(box.x1 + 14 + SAMPLE, height + TEXT * 0.35, name, fontsize=TEXT, color=style.INK)


def _can_point(plot: Plot, named: list[Drawn], edge: float, ends: list[float], heights: list[float]) -> bool:
    """Whether names fit at the ends of their curves: all end at the edge, with enough distance."""
    if plot.kind == "bars" or plot.values_at is not None:
        return False
    near = all(abs(height - end) <= _FARTHEST for height, end in zip(heights, ends, strict=True))
    return near and all(curve.corners[-1, 0] >= edge for curve in named)


def _from_the_top(curve: Drawn) -> tuple[bool, float]:
    """The order of the key: by the value that it shows; those without one follow, by their height on the page."""
    return curve.value is None, -_mean_height(curve.corners) if curve.value is None else -curve.value


def value_width(plot: Plot, traces: Sequence[Trace]) -> float:
    """The room that the column of values beside the names needs."""
    values = [value_at(trace, plot) for trace in traces]
    texts = [rounded_text(value, plot.y_as) for value in values if value is not None]
    return max([text_width(_heading(plot), SMALL), *(text_width(text, TEXT) for text in texts)]) + 14 if texts else 0.0


def _heading(plot: Plot) -> str:
    return "" if plot.values_at is None else f"at {value_text(plot.values_at, plot.x_as)}"


def _write_values(page: Axes, plot: Plot, named: Sequence[Drawn], heights: Sequence[float]) -> None:
    texts = ["" if curve.value is None else rounded_text(curve.value, plot.y_as) for curve in named]
    if not any(texts):
        return
    edge = style.WIDTH - style.EDGE
    page.text(edge, heights[0] - TEXT * LINE + 2, _heading(plot), fontsize=SMALL, color=style.SOFT_INK, ha="right")
    for text, height in zip(texts, heights, strict=True):
        page.text(edge, height + TEXT * 0.35, text, fontsize=TEXT, color=style.SOFT_INK, ha="right")


def _sample(page: Axes, curve: Drawn, start: tuple[float, float], end: tuple[float, float], *, bars: bool) -> None:
    """A piece of the curve beside its name, or from its end to its name."""
    across, up = (start[0], end[0]), (start[1], end[1])
    if bars:
        page.plot([end[0] - 8], [end[1]], marker="s", markersize=11, color=curve.pen.colour, markeredgewidth=0)
        return
    slanted = start[1] != end[1]
    page.plot(across, up, color=curve.pen.colour, linestyle=curve.pen.line, linewidth=1.2 if slanted else 2.0)


def _mean_height(corners: Floats) -> float:
    """The mean height of a curve."""
    x, y = corners[:, 0], corners[:, 1]
    length = float(x[-1] - x[0])
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]))) / 2 / length if length > 0 else float(y.mean())

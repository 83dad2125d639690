"""The description of a plot, its style, and the short form of a curve for terminals.

The colours are those of Okabe & Ito (2008) without yellow, which is invisible on a light background. Seven colours and
four dashes have no common factor, so combining both gives 28 distinct curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import UsageError

from ..findings import PlotCurve

Scale = Literal["number", "share", "time"]
"""What an axis counts: plain numbers, shares of one (shown as per cent), or seconds (shown as minutes, hours, days)."""

MOST_CURVES = 28
MOST_MARKS = 24


class Mark(Struct, frozen=True):
    """A label on the picture: at a point, or along the line of one `x` or one `y` if the other is None."""

    text: str
    x: float | None = None
    y: float | None = None


class Plot(Struct, frozen=True):
    """Curves that share two axes. Values that are not finite, or not positive where an axis is logarithmic, are gaps.

    `kind` is how neighbouring points are connected: by a line, not at all (bars side by side), or each value holding
    until the next (steps). `y_from_zero` shows heights in proportion; without it the axis fits the curves. `values_at`
    lists every curve's value at that x beside its name: many curves that nearly touch can be told apart by number.
    `highlight` names the curve that the picture is about.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[PlotCurve, ...]
    caption: str = ""
    kind: Literal["line", "bars", "steps"] = "line"
    log_x: bool = False
    log_y: bool = False
    y_from_zero: bool = False
    x_as: Scale = "number"
    y_as: Scale = "number"
    marks: tuple[Mark, ...] = ()
    values_at: float | None = None
    highlight: str = ""

    def check(self) -> None:
        """Refuse a plot with too many curves or marks, and arrays of different lengths."""
        if len(self.curves) > MOST_CURVES or len(self.marks) > MOST_MARKS:
            what = f"{len(self.curves)} curves and {len(self.marks)} marks"
            raise UsageError(
                f"too much for one plot: {what} ({self.title})", hint=f"at most {MOST_CURVES} and {MOST_MARKS}"
            )
        for curve in self.curves:
            columns = [curve.x, curve.y, *(part for part in (curve.low, curve.high) if part is not None)]
            if len({np.shape(column) for column in columns}) != 1 or np.ndim(curve.x) != 1:
                raise UsageError(f"the columns of curve {curve.name!r} differ in length", hint="one y, low, high per x")


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#222222", "#e69f00", "#cc79a7", "#56b4e9")
DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 1.8), (1.3, 1.5), (7.0, 1.8, 1.3, 1.8))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

GROUND, BORDER, GRID = "#fcfcfa", "#d9d9d3", "#e6e6e1"
INK, SOFT_INK = "#1f2328", "#57606a"

WIDTH = 800.0
LEFT, EDGE = 66.0, 22.0
PLOT_HEIGHT = 330.0
TITLE, TEXT, SMALL = 17.0, 13.0, 12.0
LINE = 1.5
"""The height of a line of text in its size."""
SAMPLE = 26.0
"""The length of a piece of line beside its name."""
NAME_LIMIT, MARK_LIMIT = 30, 48

DRAWING: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "svg.hashsalt": "periplus",
    "text.parse_math": False,
    "text.usetex": False,
    "path.simplify": False,
    "axes.unicode_minus": True,
}


class Pen(Struct, frozen=True):
    """What a curve is drawn with."""

    colour: str
    dashes: tuple[float, ...]
    marker: str

    @property
    def line(self) -> Any:
        """The dashes as matplotlib reads them."""
        return (0, self.dashes) if self.dashes else "-"


def pen(number: int) -> Pen:
    """The pen of the curve with this number."""
    dashes = DASHES[number % len(DASHES)]
    return Pen(COLOURS[number % len(COLOURS)], dashes, MARKERS[number % len(MARKERS)])


_BLOCKS = "▁▂▃▄▅▆▇█"
_GAP = " "
_WIDEST = 1_000
_LARGEST = 1e300
"""Bound that keeps sums finite; larger values are cut to it."""


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

"""The description of a plot, as values; `figure` draws it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from periplus.lab.simulate.findings import Curve
from periplus.model import UsageError

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

    `kind` is how neighbouring points hang together: by a line, not at all (bars side by side), or each value holding
    until the next (steps). `y_from_zero` shows heights in proportion; without it the axis fits the curves. `values_at`
    lists every curve's value at that x beside its name: many curves that nearly touch can be told apart by number.
    `highlight` names the curve that the picture is about.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
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

"""The style of plots: colours that are easy to tell apart, dashes for print in grey, sizes in pixels.

The colours are those of Okabe & Ito (2008) without yellow, which is invisible on a light background. Seven colours and
four dashes have no common factor, so combining both gives 28 distinct curves.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

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

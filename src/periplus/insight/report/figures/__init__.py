"""Figures as SVG in the colours of the page: scatter plots, line plots, horizontal and vertical bars.

The only drawing code of the report; it needs no plotting library. `periplus.insight.report.drawing` turns the rows of
a part into these figures.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .bars import Bar, horizontal_bars, vertical_bars
    from .points import Curve, Point, line_plot, scatter_plot
    from .scales import SHARES, Scale, linear, logarithmic
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "SHARES",
    "Bar",
    "Curve",
    "Point",
    "Scale",
    "horizontal_bars",
    "line_plot",
    "linear",
    "logarithmic",
    "scatter_plot",
    "vertical_bars",
]

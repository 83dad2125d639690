"""Figures as SVG in the page's own colours: planes with points and curves, bars that lie and bars that stand.

Nothing here knows what a figure is about; `periplus.insight.report.drawing` does.
"""

from .bars import Bar, lying, standing
from .points import Curve, Point, curves, scattered
from .scales import SHARES, Scale, linear, logarithmic

__all__ = [
    "SHARES",
    "Bar",
    "Curve",
    "Point",
    "Scale",
    "curves",
    "linear",
    "logarithmic",
    "lying",
    "scattered",
    "standing",
]

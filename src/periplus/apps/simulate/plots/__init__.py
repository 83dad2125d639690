"""Plots of measurements: curves as SVG for pages, and as one line of text for terminals.

A `Plot` describes the picture; `draw` makes it an SVG with a light background, readable on light and dark pages, with
text as text and the same bytes for the same plot; `save` writes it to a file atomically. `sparkline` is the same curve
for a cell of a table.
"""

from .plot import Mark, Plot, Scale, sparkline
from .svg import draw, save

__all__ = ["Mark", "Plot", "Scale", "draw", "save", "sparkline"]

"""Pictures of what was measured: curves as SVG for pages, and as one line of text for terminals.

A `Plot` says what is to be seen; `draw` makes it an SVG with its own light ground, so that it reads on light and dark
pages alike, with its texts as text and the same bytes for the same plot; `save` puts it in a file, all or nothing.
`sparkline` is the same curve for a cell of a table. What the curves mean is the business of the experiments.
"""

from .plot import Mark, Plot, Scale
from .sparkline import sparkline
from .svg import draw, save

__all__ = ["Mark", "Plot", "Scale", "draw", "save", "sparkline"]

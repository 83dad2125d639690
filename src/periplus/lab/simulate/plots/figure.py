"""A plot as a matplotlib figure, without the global state of pyplot.

There are two layers: the axes with the curves, and over the whole sheet a second coordinate system in pixels from the
top left, for the background, texts and the key. So the position of every text is computed, and none covers another.
matplotlib is imported only when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from . import style
from .curves import MOST_BARS, categories_of, draw_bars, draw_lines
from .layout import shortened, text_width, wrapped
from .marks import draw_marks
from .names import name_curves, value_width
from .plot import Plot
from .style import EDGE, LEFT, LINE, PLOT_HEIGHT, SAMPLE, SMALL, TEXT, TITLE, WIDTH
from .traces import Trace, traces_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Sheet(Struct, frozen=True):
    """How the page is divided, in pixels from the top left."""

    title: list[str]
    caption: list[str]
    top: float
    right: float
    bottom: float
    height: float


def figure_of(plot: Plot) -> Figure:
    """Everything that is to be seen of a plot."""
    from matplotlib.figure import Figure

    traces = traces_of(plot)
    plot = _readable(plot, traces)
    sheet = _divide(plot, traces)
    figure = Figure(figsize=(WIDTH / 72, sheet.height / 72), dpi=72, facecolor="none")
    page = figure.add_axes((0, 0, 1, 1))
    page.set_axis_off()
    page.set_xlim(0, WIDTH)
    page.set_ylim(sheet.height, 0)
    box = (LEFT, sheet.height - sheet.bottom, sheet.right - LEFT, sheet.bottom - sheet.top)
    axes = figure.add_axes((box[0] / WIDTH, box[1] / sheet.height, box[2] / WIDTH, box[3] / sheet.height))
    axes.set_facecolor("none")
    _write(page, plot, sheet)
    drawn = draw_bars(axes, plot, traces) if plot.kind == "bars" else draw_lines(axes, plot, traces)
    name_curves(page, axes, plot, drawn)
    draw_marks(page, axes, plot, drawn)
    return figure


def _divide(plot: Plot, traces: Sequence[Trace]) -> Sheet:
    title = wrapped(plot.title, WIDTH - 2 * EDGE, TITLE, 2, bold=True)
    caption = wrapped(plot.caption, WIDTH - 2 * EDGE, SMALL, 6)
    names = [shortened(trace.name, style.NAME_LIMIT) for trace in traces if trace.name]
    aside = max((text_width(name, TEXT) for name in names), default=0.0) + value_width(plot, traces)
    top = EDGE + len(title) * TITLE * LINE + TEXT * LINE + 16
    bottom = top + max(PLOT_HEIGHT, len(names) * TEXT * LINE)
    height = bottom + 26 + SMALL * LINE + (len(caption) * SMALL * LINE + 12 if caption else 0) + EDGE - 6
    return Sheet(title, caption, top, WIDTH - EDGE - (aside + SAMPLE + 16 if names else 0), bottom, height)


def _write(page: Axes, plot: Plot, sheet: Sheet) -> None:
    """Draw the background and the texts around the axes."""
    from matplotlib.patches import FancyBboxPatch

    page.add_patch(
        FancyBboxPatch(
            (0.5, 0.5),
            WIDTH - 1,
            sheet.height - 1,
            boxstyle="round,pad=0,rounding_size=10",
            facecolor=style.GROUND,
            edgecolor=style.BORDER,
            linewidth=1.0,
            zorder=-10,
        )
    )
    for number, row in enumerate(sheet.title):
        at = EDGE + TITLE + number * TITLE * LINE
        page.text(EDGE, at, row, fontsize=TITLE, fontweight="bold", color=style.INK)
    page.text(EDGE, sheet.top - 18, plot.y_label, fontsize=TEXT, color=style.SOFT_INK)
    middle = (LEFT + sheet.right) / 2
    page.text(middle, sheet.bottom + 40, plot.x_label, fontsize=TEXT, color=style.SOFT_INK, ha="center")
    for number, row in enumerate(sheet.caption):
        at = sheet.bottom + 44 + (number + 1) * SMALL * LINE + 6
        page.text(EDGE, at, row, fontsize=SMALL, color=style.SOFT_INK)


def _readable(plot: Plot, traces: Sequence[Trace]) -> Plot:
    """Bars are side by side on any scale of x; too many become steps."""
    if plot.kind != "bars":
        return plot
    if len(categories_of(traces)) * len(traces) > MOST_BARS:
        return replace(plot, kind="steps")
    return replace(plot, log_x=False)

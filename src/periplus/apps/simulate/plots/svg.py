"""A plot as the text of an SVG: small, searchable, the same bytes every time, and fit to stand inside a page.

matplotlib writes more than a viewer needs: six decimals of a pixel, an id for every group, the date. What a person or
a screen reader needs it leaves out: a title and a description. Both are set right here.

A curve's name is at its end if the ends are far enough apart. Otherwise the names form a key, in the order in which the
curves lie above each other.

There are two layers: the axes with the curves, and over the whole sheet a second coordinate system in pixels from the
top left, for the background, texts and the key. So the position of every text is computed, and none covers another.
matplotlib is imported only when a plot is drawn.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.model import UsageError
from periplus.store.durable import write_file

from .axes import rounded_text, shortened, spread, text_width, value_text, wrapped
from .curves import MOST_BARS, Drawn, categories_of, draw_bars, draw_lines, draw_marks
from .plot import (
    BORDER,
    DRAWING,
    EDGE,
    GROUND,
    INK,
    LEFT,
    LINE,
    NAME_LIMIT,
    PLOT_HEIGHT,
    SAMPLE,
    SMALL,
    SOFT_INK,
    TEXT,
    TITLE,
    WIDTH,
    Plot,
)
from .traces import Trace, traces_of, value_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        name = shortened(curve.name, NAME_LIMIT)
        page.text(box.x1 + 14 + SAMPLE, height + TEXT * 0.35, name, fontsize=TEXT, color=INK)


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
    edge = WIDTH - EDGE
    page.text(edge, heights[0] - TEXT * LINE + 2, _heading(plot), fontsize=SMALL, color=SOFT_INK, ha="right")
    for text, height in zip(texts, heights, strict=True):
        page.text(edge, height + TEXT * 0.35, text, fontsize=TEXT, color=SOFT_INK, ha="right")


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
    names = [shortened(trace.name, NAME_LIMIT) for trace in traces if trace.name]
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
            facecolor=GROUND,
            edgecolor=BORDER,
            linewidth=1.0,
            zorder=-10,
        )
    )
    for number, row in enumerate(sheet.title):
        at = EDGE + TITLE + number * TITLE * LINE
        page.text(EDGE, at, row, fontsize=TITLE, fontweight="bold", color=INK)
    page.text(EDGE, sheet.top - 18, plot.y_label, fontsize=TEXT, color=SOFT_INK)
    middle = (LEFT + sheet.right) / 2
    page.text(middle, sheet.bottom + 40, plot.x_label, fontsize=TEXT, color=SOFT_INK, ha="center")
    for number, row in enumerate(sheet.caption):
        at = sheet.bottom + 44 + (number + 1) * SMALL * LINE + 6
        page.text(EDGE, at, row, fontsize=SMALL, color=SOFT_INK)


def _readable(plot: Plot, traces: Sequence[Trace]) -> Plot:
    """Bars are side by side on any scale of x; too many become steps."""
    if plot.kind != "bars":
        return plot
    if len(categories_of(traces)) * len(traces) > MOST_BARS:
        return replace(plot, kind="steps")
    return replace(plot, log_x=False)


_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_TAG = re.compile(r"<[^<>]*>")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_NEEDLESS = re.compile(
    r' id="(?![pm][0-9a-f]{10}")[^"]*"'  # names without a reference
    r'| transform="rotate\(-?0 [^"]*\)"'
    r"|font-family: [^;\"]*; |text-anchor: start; |stroke-dashoffset: 0; "
    r'|(?<=\d)pt(?=")'  # pixels, not points
)
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2) cannot hold, not even escaped."""


def draw(plot: Plot) -> str:
    """The plot as SVG. The same plot gives the same text."""
    plot.check()
    plot = _writable(plot)
    with _quiet():
        try:
            import matplotlib
        except ImportError as error:
            raise UsageError(
                "figures need matplotlib, which is not installed", hint="pip install 'periplus[plots]'"
            ) from error
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(DRAWING)
            buffer = io.StringIO()
            figure_of(plot).savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _tidy(buffer.getvalue(), plot)


def save(plot: Plot, path: Path) -> Path:
    """Write the SVG atomically."""
    write_file(path, draw(plot).encode())
    return path


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither a folder for settings that cannot be written nor a script without a glyph is news to our reader."""
    log = logging.getLogger("matplotlib")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="(?s)Glyph .* missing from")
            warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
            yield
    finally:
        log.setLevel(before)


def _writable(plot: Plot) -> Plot:
    """The plot with each text on one line and without the characters that no XML can hold."""

    def clean(text: str) -> str:
        return _UNWRITABLE.sub("\ufffd", " ".join(text.split()))

    return replace(
        plot,
        title=clean(plot.title),
        x_label=clean(plot.x_label),
        y_label=clean(plot.y_label),
        caption=clean(plot.caption),
        curves=tuple(replace(curve, name=clean(curve.name)) for curve in plot.curves),
        marks=tuple(replace(mark, text=clean(mark.text)) for mark in plot.marks),
    )


def _tidy(text: str, plot: Plot) -> str:
    """Two decimals, only the ids that are referred to, viewers' own fonts, and a title to begin with."""
    text = _TAG.sub(lambda found: _tidy_tag(found[0]), text[text.index("<svg") :])
    opened = text.index(">") + 1
    head = f'{text[: opened - 1]} role="img" font-family="{_FONTS}">'
    words = f"\n <title>{escape(plot.title)}</title>\n <desc>{escape(described(plot))}</desc>"
    return head + words + text[opened:].rstrip() + "\n"


def _tidy_tag(tag: str) -> str:
    tag = _DECIMALS.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), tag)
    return _NEEDLESS.sub("", tag)


def described(plot: Plot) -> str:
    """A description of the plot for screen readers: axes, the range of each curve, and the caption."""
    lines = [f"{plot.y_label} against {plot.x_label}."]
    for trace in traces_of(plot):
        x, y = trace.x[trace.known], trace.y[trace.known]
        first, last = value_text(float(y[0]), plot.y_as), value_text(float(y[-1]), plot.y_as)
        at, to = value_text(float(x[0]), plot.x_as), value_text(float(x[-1]), plot.x_as)
        lines.append(f"{trace.name}: {first} at {at}, {last} at {to}.")
    return " ".join([*lines, plot.caption]).strip()

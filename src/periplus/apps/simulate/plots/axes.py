"""The axes of a plot with their labels, and the positions of texts: beside what they name, without overlap.

Numbers are written as people do beside an axis: thousands apart, shares as per cent, seconds in the unit that fits.
Widths are those of the font that comes with matplotlib, which is wider than the fonts that viewers use instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .plot import BORDER, GRID, SMALL, SOFT_INK, Plot, Scale
from .traces import LARGEST, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in pixels."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def wrapped(text: str, width: float, size: float, lines: int, bold: bool = False) -> list[str]:
    """The text in lines no wider than `width`; what is left after `lines` of them gives way to an ellipsis."""
    rows: list[str] = []
    for word in shortened(" ".join(text.split()), 1_000).split(" ") if text.strip() else []:
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and text_width(longer, size, bold) <= width:
            rows[-1] = longer
        else:
            rows.append(word)
    rows = [_fitting(row, width, size, bold) for row in rows]
    return rows if len(rows) <= lines else [*rows[: lines - 1], _fitting(rows[lines - 1] + " …", width, size, bold)]


def _fitting(row: str, width: float, size: float, bold: bool) -> str:
    while len(row) > 1 and text_width(row, size, bold) > width:
        row = row[: min(len(row) - 2, int(len(row) * 0.95))] + "…"
    return row


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near as can be to the wanted ones, `gap` apart, between `low` and `high`; the order stays.

    Least squares under an order is isotonic regression: neighbours that collide move together (Ayer et al. 1955).
    """
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    blocks: list[tuple[float, int]] = []
    for rank, at in enumerate(order):
        blocks.append((wanted[at] - rank * gap, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (mean, count), (other, more) = blocks.pop(), blocks.pop()
            blocks.append(((mean * count + other * more) / (count + more), count + more))
    levels = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    levels = np.clip(levels, low, max(low, high - (len(order) - 1) * gap))
    heights = [0.0] * len(order)
    for rank, at in enumerate(order):
        heights[at] = float(levels[rank]) + rank * gap
    return heights


def free_place(boxes: Sequence[tuple[float, float, float, float]], taken: Floats) -> int:
    """Which of some boxes (left, top, right, bottom) covers the fewest points; the first among equals."""
    if not len(taken):
        return 0
    x, y = taken[:, 0], taken[:, 1]
    covered = [np.count_nonzero((x > a) & (x < c) & (y > b) & (y < d)) for a, b, c, d in boxes]
    return int(np.argmin(covered))


_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_CLOCK_STEPS = (
    *(n * 1.0 for n in (1, 2, 5, 10, 15, 30)),
    *(n * 60.0 for n in (1, 2, 5, 10, 15, 30)),
    *(n * 3_600.0 for n in (1, 2, 3, 6, 12)),
)
_DAY = 86_400.0


def time_step(span: float, count: int = 6) -> float | None:
    """The step between about `count` ticks of a clock in a span of seconds: 15 minutes, 6 hours, 20 days.

    None where a clock has no unit for it: parts of a second divide like other numbers.
    """
    wanted = span / count
    if wanted < 1.0:
        return None
    for step in _CLOCK_STEPS:
        if step >= wanted:
            return step
    step = _DAY
    while step < wanted:
        step *= 2 if not str(step / _DAY).startswith("2") else 2.5
    return step


def value_text(value: float, scale: Scale = "number", *, step: float = 0.0, largest: float = 0.0) -> str:
    """A value as text. On an axis the `step` between ticks decides the unit of times, the `largest` that of numbers."""
    if scale == "share":
        return f"{_number(value * 100)} %"
    if scale == "time":
        return _time(value, step or abs(value))
    return _number(value, largest)


def rounded_text(value: float, scale: Scale) -> str:
    """A measured value in a column: three significant digits, per cent to a tenth."""
    if scale == "share":
        return f"{value * 100:.1f} %"
    return value_text(float(f"{value:.3g}"), scale)


def _number(value: float, largest: float = 0.0) -> str:
    """Thousands apart; millions and more by their letter; few digits after the point."""
    size = abs(value)
    if size and (size >= 1e15 or size < 1e-4):
        return f"{value:.3g}".replace("e+", "e").replace("-", "−")
    for unit, letter in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if size and max(size, largest) >= unit:
            return _number(value / unit) + letter
    text = f"{value:,.4f}" if size < 10 else f"{value:,.2f}"
    text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def _time(seconds: float, step: float) -> str:
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if step >= unit), (1.0, "s"))
    return f"{_number(seconds / unit)} {letter}"


Floats = NDArray[np.float64]

_MOST_CATEGORIES = 16


def reach_x(plot: Plot, traces: Sequence[Trace]) -> tuple[float, float]:
    """The range of the horizontal axis: that of the curves, slightly more if points are few."""
    values = _finite(
        [*(trace.x[trace.known] for trace in traces), _marked([mark.x for mark in plot.marks])], plot.log_x
    )
    few = max((len(trace.x) for trace in traces), default=0) <= 12
    low, high = _padded(values, 0.02 if few else 0.0, plot.log_x)
    return (0.0 if 0 < low < 0.02 * high and not plot.log_x else low), high


def reach_y(plot: Plot, traces: Sequence[Trace]) -> tuple[float, float]:
    """From where to where the vertical axis goes: all curves, intervals and marks; zero too where heights compare."""
    columns = [trace.y[trace.known] for trace in traces]
    columns += [side for trace in traces for side in (trace.low, trace.high) if side is not None]
    values = _finite([*columns, _marked([mark.y for mark in plot.marks])], plot.log_y)
    from_zero = (plot.y_from_zero or plot.kind == "bars") and not plot.log_y
    low, high = _padded(np.append(values, 0.0) if from_zero else values, 0.05, plot.log_y)
    if not plot.log_y and len(values):
        low = max(low, 0.0) if values.min() >= 0 else low
        high = min(high, 0.0) if from_zero and values.max() < 0 else high
        high = 1.005 if plot.y_as == "share" and 0.9 < values.max() <= 1 else high
    return low, high


def dress(axes: Axes, plot: Plot) -> None:
    """Draw quiet axes: a grid, a base line, labels with units."""
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(BORDER)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=GRID, linewidth=1.0)
    axes.tick_params(axis="both", which="both", length=0, labelsize=SMALL, labelcolor=SOFT_INK, pad=6)
    axes.tick_params(axis="x", which="major", length=4, color=BORDER, pad=4)
    _set_ticks(axes.yaxis, axes.get_ylim(), plot.y_as, plot.log_y, 6)
    _set_ticks(axes.xaxis, axes.get_xlim(), plot.x_as, plot.log_x, 8)


def name_values(axes: Axes, values: Floats, scale: Scale) -> None:
    """Ticks where the measurements are, if they are few and far enough apart to be named."""
    texts = [value_text(float(value), scale) for value in values]
    places = axes.transData.transform(np.column_stack([values, np.full_like(values, axes.get_ylim()[0])]))[:, 0]
    room = max(text_width(text, SMALL) for text in texts) + 10
    if len(values) >= 2 and float(np.diff(places).min()) >= room:
        axes.set_xticks(values, texts)


def name_categories(axes: Axes, categories: Floats, scale: Scale) -> None:
    """Each place of a bar by its value, or every second, third ... where they are many."""
    every = max(-(-len(categories) // _MOST_CATEGORIES), 1)
    texts = [value_text(float(value), scale) for value in categories[::every]]
    axes.set_xticks(range(0, len(categories), every), texts)


def _set_ticks(axis: Axis, reach: tuple[float, float], scale: Scale, log: bool, count: int) -> None:
    from matplotlib import ticker

    locator: ticker.Locator
    step = time_step(reach[1] - reach[0], count) if scale == "time" and not log else None
    if log:
        decades = np.log10(reach[1] / reach[0])
        between = (1.0, 2.0, 5.0) if decades < 2 else (1.0, 3.0) if decades < 4 else (1.0,)
        locator = ticker.LogLocator(subs=between, numticks=count + 1)
    elif step is not None:
        locator = ticker.MultipleLocator(step)
    else:
        locator = ticker.MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])
    axis.set_major_locator(locator)
    axis.set_minor_locator(ticker.NullLocator())
    largest = 0.0 if log else max(abs(end) for end in reach)
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: value_text(value, scale, step=step or 0.0, largest=largest))
    )


def _marked(values: Sequence[float | None]) -> Floats:
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _finite(columns: Sequence[Floats], log: bool) -> Floats:
    values: Floats = np.concatenate([np.zeros(0), *columns])
    values = values[np.abs(values) < LARGEST]
    return values[values > 1 / LARGEST] if log else values


def _padded(values: Floats, share: float, log: bool) -> tuple[float, float]:
    """The ends of the values and a share of their distance more; a single value gets room on both sides."""
    if not len(values):
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        room = max((high / low) ** share, 1.0) if high / low > 1.0001 else 2.0
        return low / room, high * room
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = max(abs(high) * 0.1, 1e-100) if high else 1.0
        return low - room, high + room
    return low - (high - low) * share, high + (high - low) * share

"""Figures: curves that share two axes, as an SVG file by itself, and a curve as one line of text for terminals.

The picture has a light ground of its own, so that it can be read on light and dark pages; its words are text; and the
same figure gives the same bytes. The colours are those of Okabe & Ito (2008) without yellow, which is invisible on a
light ground. Seven colours and four dashes have no common factor, so combining both gives 28 distinct curves.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from textwrap import wrap
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import UsageError

from .charts import (
    LETTER,
    Box,
    Frame,
    Plane,
    Scale,
    box,
    dot,
    is_taken,
    line,
    linear,
    logarithmic,
    path,
    safe,
    text,
)
from .wording import clean, duration, share, short

MOST_CURVES: Final = 28
MOST_MARKS: Final = 24
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#222222", "#e69f00", "#cc79a7", "#56b4e9")
DASHES: Final = ("", "5 1.8", "1.3 1.5", "7 1.8 1.3 1.8")
GROUND: Final = "#fcfcfa"

_STYLE: Final = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}"
    ".soft,.tick,.value{fill:#57606a}.tick,.small{font-size:12px}.title{font-size:17px;font-weight:bold}"
    f".ground{{fill:{GROUND};stroke:#d9d9d3}}.grid{{stroke:#e6e6e1}}.axis{{stroke:#d9d9d3}}"
    ".guide{stroke:#57606a;stroke-dasharray:2 2}.mark{fill:none;stroke:#1f2328}.interval{stroke:#1f2328}"
    ".curve{fill:none;stroke-width:2;stroke-linejoin:round}.wide{stroke-width:3.4}.band{stroke:none;fill-opacity:.13}"
)
_WIDTH: Final = 800.0
_EDGE: Final = 22.0
_PLOT: Final = 330.0
"""Height of the axes."""
_ROW: Final = 19.5
"""Height of a line of text."""
_SAMPLE: Final = 26.0
"""Length of the piece of line beside a name."""
_NAME: Final = 30
_MARK_TEXT: Final = 48
"""Letters of a name, and of the text of a mark, that are shown."""
_FEW: Final = 12
"""Points that are marked one by one, and named on the axis where there is room."""
_POINTS: Final = 3_000
"""Points of all lines together: what keeps any figure below 60 kB."""
_MOST_BARS: Final = 300
_LARGEST: Final = 1e150
"""A value beyond it, in either direction, is a gap."""

Counting = Literal["number", "share", "time"]
"""What an axis counts: plain numbers, shares of one (shown as per cent), or seconds (shown as minutes, hours, days)."""
Points = list[tuple[float, float]]


class PlotCurve(Struct, frozen=True):
    """A line, with the interval around each of its points if there is one."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float] = []
    high: list[float] = []

    def runs(self, height: Sequence[float]) -> Iterator[Points]:
        """The points of the line or of a bound of its interval, from gap to gap."""
        for is_known, run in groupby(zip(self.x, height, strict=True), lambda point: not math.isnan(sum(point))):
            if is_known:
                yield list(run)

    @property
    def points(self) -> Points:
        """All points that are known."""
        return [point for run in self.runs(self.y) for point in run]


class FigureMark(Struct, frozen=True):
    """A label on the picture: at a point, or along the line of one `x` or one `y` if the other is None."""

    text: str
    x: float | None = None
    y: float | None = None


class Figure(Struct, frozen=True):
    """Curves that share two axes. Values that are not finite, or not positive where an axis is logarithmic, are gaps.

    `kind` is how neighbouring points are connected: by a line, not at all (bars side by side), or each value holding
    until the next (steps). `y_from_zero` shows heights in proportion; without it the axis fits the curves. `values_at`
    lists every curve's value at that x beside its name: many curves that nearly touch can be told apart by number.
    `highlight` names the curve that the picture is about; `name` is that of a file.
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
    x_as: Counting = "number"
    y_as: Counting = "number"
    marks: tuple[FigureMark, ...] = ()
    values_at: float | None = None
    highlight: str = ""
    name: str = ""

    def check(self) -> None:
        """Refuse a figure with too many curves or marks, and columns of different lengths."""
        if len(self.curves) > MOST_CURVES or len(self.marks) > MOST_MARKS:
            what = f"{len(self.curves)} curves and {len(self.marks)} marks"
            raise UsageError(
                f"too much for one plot: {what} ({self.title})", hint=f"at most {MOST_CURVES} and {MOST_MARKS}"
            )
        for curve in self.curves:
            if {len(each) for each in (curve.y, curve.low, curve.high)} - {len(curve.x), 0} or len(curve.y) < len(
                curve.x
            ):
                raise UsageError(f"the columns of curve {curve.name!r} differ in length", hint="one y, low, high per x")


def draw(figure: Figure) -> str:
    """The figure as an SVG file."""
    figure.check()
    figure = replace(figure, log_x=figure.log_x and figure.kind != "bars")
    figure = replace(figure, curves=tuple(_cleaned(figure)))
    places = sorted({x for curve in figure.curves for x, _ in curve.points})
    if figure.kind == "bars" and len(places) * len(figure.curves) > _MOST_BARS:
        figure = replace(figure, kind="steps")
    title, caption = (wrap(clean(words, 1000), width, max_lines=most, placeholder=" …")
                      for words, width, most in ((figure.title, 80, 2), (figure.caption, 118, 6)))  # fmt: skip
    names = [clean(curve.name, _NAME) for curve in figure.curves]
    aside = _SAMPLE + 26 + 7.6 * max(map(len, names), default=0) + (70 if figure.values_at is not None else 0)
    top = _EDGE + _ROW * len(title) + _ROW + 20
    foot = 46 + _ROW * len(caption)
    height = top + max(_PLOT, len(names) * _ROW) + foot
    frame = Frame(_WIDTH, height, _EDGE, aside if any(names) else 0.0, top, foot, 8)
    plane = Plane(_across(figure, places, frame), _up(figure), (figure.x_label, figure.y_label), frame)
    parts = [
        f'<rect x=".5" y=".5" width="{_WIDTH - 1:.0f}" height="{height - 1:.0f}" rx="10" class="ground"/>',
        *(text(_EDGE, _EDGE + 14 + _ROW * at, row, "title") for at, row in enumerate(title)),
        *(text(_EDGE, height - foot + 56 + _ROW * at, row, "soft small") for at, row in enumerate(caption)),
        plane.axes(),
        *_curves(figure, plane, places),
        *_key(figure, plane),
        *_marks(figure, plane, places),
    ]
    pens = "".join(_pen(number) for number in range(len(figure.curves)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}"'
        f' height="{height:.0f}" role="img">\n<title>{safe(figure.title)}</title>\n<desc>{_described(figure)}</desc>\n'
        f"<style>{_STYLE}{pens}</style>\n" + "\n".join(part for part in parts if part) + "\n</svg>\n"
    )


def _pen(number: int) -> str:
    colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    dashed = f";stroke-dasharray:{dashes}" if dashes else ""
    return f".p{number}{{stroke:{colour}{dashed}}}.f{number}{{fill:{colour}}}"


def _described(figure: Figure) -> str:
    """A description for screen readers: axes, the ends of each curve, and the caption."""
    parts = [f"{figure.y_label} against {figure.x_label}."]
    for curve in figure.curves:
        (at, first), (to, last) = curve.points[0], curve.points[-1]
        ends = (_says(first, figure.y_as), _says(at, figure.x_as), _says(last, figure.y_as), _says(to, figure.x_as))
        parts.append("{}: {} at {}, {} at {}.".format(curve.name, *ends))
    return " ".join(safe(part) for part in (*parts, figure.caption)).strip()


def _says(value: float, counting: Counting) -> str:
    return {"number": short, "share": share, "time": duration}[counting](value)


# values


def _cleaned(figure: Figure) -> Iterator[PlotCurve]:
    """The curves that have any point: NaN for values that an axis cannot show, no interval if it is nowhere wide."""
    for curve in figure.curves:
        x, y = _usable(curve.x, figure.log_x), _usable(curve.y, figure.log_y)
        low, high = _usable(curve.low, False), _usable(curve.high, figure.log_y)
        if not any(above > below for below, above in zip(low, high, strict=False)):
            low, high = [], []
        if figure.log_y and low:  # an interval that reaches down to nothing goes to the lowest of the curve
            floor = min((value for value in y if not math.isnan(value)), default=1.0)
            low = [value if value > 0 else floor for value in low]
        found = PlotCurve(curve.name, x, y, low, high)
        if found.points:
            yield found


def _usable(values: Iterable[float], is_log: bool) -> list[float]:
    least = 1 / _LARGEST if is_log else -_LARGEST
    return [float(value) if least < value < _LARGEST else math.nan for value in values]


def _value_at(curve: PlotCurve, figure: Figure) -> float | None:
    """The curve's value at the x that the figure asks for: between points as it is drawn, beyond its ends unknown."""
    points, at = sorted(curve.points), figure.values_at
    if at is None or figure.kind == "bars" or not points[0][0] <= at <= points[-1][0]:
        return None
    after = bisect_right(points, (at, math.inf))
    (x, y), (end, height) = points[after - 1], points[min(after, len(points) - 1)]
    return y if figure.kind == "steps" or end == x else y + (height - y) * (at - x) / (end - x)


# axes


def _across(figure: Figure, places: Sequence[float], frame: Frame) -> Scale:
    """The axis of x: named at the points if they are few and have room, at round values otherwise."""
    if figure.kind == "bars" and places:
        every = max(-(-len(places) // 16), 1)
        ticks = tuple(float(at) for at in range(0, len(places), every))
        return Scale(-0.6, max(len(places), 1) - 0.4, lambda at: _says(places[round(at)], figure.x_as), at=ticks)
    marked = [mark.x for mark in figure.marks if mark.x is not None]
    scale = _fitted([*places, *_usable(marked, figure.log_x)], figure.log_x, figure.x_as, 0.0)
    at = [scale.place(place) * (frame.width - frame.aside - 2 * frame.edge) for place in places]
    room = max((LETTER * len(_says(place, figure.x_as)) for place in places[:_FEW]), default=0.0) + 10
    has_room = 2 <= len(places) <= _FEW and all(after - before >= room for before, after in pairwise(at))
    return replace(scale, at=tuple(places)) if has_room else scale


def _up(figure: Figure) -> Scale:
    """The axis of y: all curves, intervals and marks; zero, too, where heights are compared."""
    values = [value for curve in figure.curves for column in (curve.y, curve.low, curve.high) for value in column]
    values += _usable((mark.y for mark in figure.marks if mark.y is not None), figure.log_y)
    known = [value for value in values if not math.isnan(value)]
    if figure.y_as == "share" and 0.9 < max((y for curve in figure.curves for _, y in curve.points), default=0.0) <= 1:
        known = [min(value, 1.0) for value in known]  # an interval around a share may reach beyond it
    if (figure.y_from_zero or figure.kind == "bars") and not figure.log_y:
        if min(known, default=0.0) >= 0:
            return linear(known, lambda value: _says(value, figure.y_as))
        known.append(0.0)
    return _fitted(known, figure.log_y, figure.y_as, 0.05)


def _fitted(values: Iterable[float], is_log: bool, counting: Counting, padding: float) -> Scale:
    def says(value: float) -> str:
        return _says(value, counting)

    known = [value for value in values if not math.isnan(value)]
    if is_log:
        scale = logarithmic(known, says)
        has_decade = not padding and len(known) > 1 and max(known) >= 10 * min(known)
        return replace(scale, low=min(known), high=max(known)) if has_decade else scale
    low, high = min(known, default=0.0), max(known, default=1.0)
    pad = (high - low) * padding
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        pad = abs(low) * 0.05 or 1.0
    bottom = max(low - pad, 0.0) if low >= 0 and pad else low - pad
    return Scale(bottom, high + pad, says, is_time=counting == "time")


# curves


def _curves(figure: Figure, plane: Plane, places: Sequence[float]) -> Iterator[str]:
    if figure.kind == "bars":
        yield from _bars(figure, plane, places)
        return
    lines = sum(3 if curve.low else 1 for curve in figure.curves)
    limit = max(_POINTS // max(lines, 1), 24)
    for number, curve in enumerate(figure.curves):
        if curve.low:
            for below, above in zip(curve.runs(curve.low), curve.runs(curve.high), strict=False):
                band = [*_pixels(below, figure, plane, limit), *reversed(_pixels(above, figure, plane, limit))]
                yield path(band, f"band f{number}")
        runs = list(curve.runs(curve.y))
        style = f"curve p{number}" + (" wide" if curve.name and curve.name == figure.highlight else "")
        for run in runs if len(runs) <= 40 else [curve.points]:
            yield path(_pixels(run, figure, plane, limit), style)
        if len(curve.points) <= _FEW and figure.kind == "line":
            yield "".join(dot(plane.across(x), plane.up(y), 3, f"f{number}") for x, y in curve.points)


def _pixels(run: Points, figure: Figure, plane: Plane, limit: int) -> Points:
    """The points of a line on the page: the lowest and the highest of each stretch if they are many."""
    if figure.kind == "steps":
        run = [point for (x, y), (after, _) in pairwise(run) for point in ((x, y), (after, y))] + run[-1:]
    points = [(plane.across(x), plane.up(y)) for x, y in run]
    if len(points) > limit:
        stretch = -(-2 * len(points) // limit)
        ends = (points[at : at + stretch] for at in range(0, len(points), stretch))
        kept = [sorted({min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}, key=part.index)
                for part in ends]  # fmt: skip
        points = [points[0], *(point for part in kept for point in part), points[-1]]
    level = [
        before[1] == point[1] == after[1]
        for before, point, after in zip(points, points[1:-1], points[2:], strict=False)
    ]
    return [point for point, is_level in zip(points, (False, *level, False), strict=False) if not is_level]


def _bars(figure: Figure, plane: Plane, places: Sequence[float]) -> Iterator[str]:
    """Bars beside each other at every x, in the order of the curves; intervals as thin lines."""
    step = plane.across(1.0) - plane.across(0.0)
    width = 0.8 * step / max(len(figure.curves), 1)
    base = plane.up(max(plane.y.low, 0.0))
    for number, curve in enumerate(figure.curves):
        bounds = zip(curve.low, curve.high, strict=True) if curve.low else iter(())
        for x, y in zip(curve.x, curve.y, strict=True):
            low, high = next(bounds, (math.nan, math.nan))
            if math.isnan(x + y):
                continue
            left = plane.across(bisect_left(places, x)) - 0.4 * step + number * width
            yield box(left, min(plane.up(y), base), 0.92 * width, abs(base - plane.up(y)), f"f{number}")
            if high > low:
                middle = left + 0.46 * width
                yield line(middle, plane.up(low), middle, plane.up(high), "interval")


def _key(figure: Figure, plane: Plane) -> Iterator[str]:
    """The names of the curves to the right of the axes: at their ends where there is room, with values if asked."""
    values = [_value_at(curve, figure) for curve in figure.curves]
    ends = [plane.up(curve.points[-1][1]) for curve in figure.curves]
    has_values = any(value is not None for value in values)
    order = list(range(len(values)))
    if figure.kind != "bars":
        order.sort(key=lambda at: (math.inf if (value := values[at]) is None else -value, ends[at]))
    from_top = has_values or figure.kind == "bars"
    heights = _spread([plane.top + 6 if from_top else ends[at] for at in order], plane.top + 6, plane.bottom)
    x = plane.right + 10
    if has_values and figure.values_at is not None:
        at = f"at {_says(figure.values_at, figure.x_as)}"
        yield text(_WIDTH - _EDGE, plane.top - 14, at, "soft small", "end")
    for number, height in zip(order, heights, strict=True):
        name, value = clean(figure.curves[number].name, _NAME), values[number]
        if not name:
            continue
        if figure.kind == "bars":
            yield box(x, height - 5, _SAMPLE, 10, f"f{number}")
        else:
            yield line(x, height, x + _SAMPLE, height, f"curve p{number}")
        yield text(x + _SAMPLE + 6, height + 4.5, name)
        if value is not None:
            words = f"{100 * value:.1f} %" if figure.y_as == "share" else _says(value, figure.y_as)
            yield text(_WIDTH - _EDGE, height + 4.5, words, "value", "end")


def _spread(wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Heights near the wanted ones, which are in order, a line apart; the order stays."""
    places: list[float] = []
    for at in wanted:
        places.append(max(at, places[-1] + _ROW if places else low))
    for place in reversed(range(len(places))):
        places[place] = min(places[place], high if place == len(places) - 1 else places[place + 1] - _ROW)
    return places


def _marks(figure: Figure, plane: Plane, places: Sequence[float]) -> Iterator[str]:
    """The marks, each text where it lies on no other."""
    taken: list[Box] = []
    for mark in figure.marks:
        x, y = (math.nan if value is None else value for value in (mark.x, mark.y))
        if (mark.x is not None and not plane.x.has(x)) or (mark.y is not None and not plane.y.has(y)):
            continue
        across = plane.across(bisect_left(places, x) if figure.kind == "bars" else x) if mark.x is not None else None
        up = plane.up(y) if mark.y is not None else None
        words = clean(mark.text, _MARK_TEXT)
        if across is not None and up is not None:
            yield dot(across, up, 4, "mark")
        elif across is not None:
            yield line(across, plane.top, across, plane.bottom, "guide")
        elif up is not None:
            yield line(plane.left, up, plane.right, up, "guide")
        else:
            continue
        boxes = list(_text_places(across, up, LETTER * len(words), plane))
        place = next((each for each in boxes if not is_taken(each, taken)), boxes[0])
        taken.append(place)
        yield text(place[0], place[2], words, "soft small")


def _text_places(across: float | None, up: float | None, width: float, plane: Plane) -> Iterator[Box]:
    """Places for the text of a mark, the best first, all within the axes."""
    x = plane.right - width - 12 if across is None else across
    for away in range(0, int(plane.bottom - plane.top), 15):
        for left in (x + 8, x - 8 - width):
            start = min(max(left, plane.left), max(plane.right - width, plane.left))
            for y in (plane.top + 12 + away,) if up is None else (up - 6 - away, up + 14 + away):
                yield start, start + width, min(max(y, plane.top + 12), plane.bottom - 4)


# terminals

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_WIDEST: Final = 1_000


def sparkline(y: Sequence[float], width: int = 20, *, low: float | None = None, high: float | None = None) -> str:
    """The values as one line of at most `width` characters: means of equal stretches; a stretch without any is blank.

    `low` and `high` are the values of the lowest and the highest block, the line's own where none are given: give the
    same to all rows of a table that are to be compared.
    """
    parts = min(max(width, 1), _WIDEST, len(y))
    edges = [len(y) * place // parts for place in range(parts + 1)] if parts else []
    means = [_mean(y[start:end]) for start, end in pairwise(edges)]
    seen = [mean for mean in means if mean is not None]
    bottom = min(seen, default=0.0) if low is None else low
    span = (max(seen, default=0.0) if high is None else high) - bottom
    return "".join(" " if mean is None else _block(mean - bottom, span) for mean in means)


def _mean(values: Sequence[float]) -> float | None:
    known = [min(max(value, -1e300), 1e300) for value in values if math.isfinite(value)]
    return sum(value / len(known) for value in known) if known else None


def _block(height: float, span: float) -> str:
    if span <= 0:
        return _BLOCKS[0] if height <= 0 else _BLOCKS[-1]
    return _BLOCKS[min(max(int(height / span * len(_BLOCKS)), 0), len(_BLOCKS) - 1)]

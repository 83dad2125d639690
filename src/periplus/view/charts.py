"""Charts as SVG: scales, axes, scatter plots, line plots, horizontal and vertical bars.

Charts use the colours of the page, so they follow its light and dark themes. All have one width, about that of a phone
and of a column on a desktop, so that letters have the same size on both. All text passes `safe`: markup written by a
site stays text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Final

from msgspec import Struct

from .wording import clean, share, short

STEPS: Final = (
    1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600,
    2_592_000, 7_776_000, 31_536_000,
)  # fmt: skip
"""Seconds that a step of time may have: what people call a round number of minutes, hours, days or weeks."""


class Scale(Struct, frozen=True):
    """An axis from `low` to `high`; `says` writes a tick. `is_time`: values are seconds. `at`: where its ticks are."""

    low: float
    high: float
    says: Callable[[float], str] = short
    is_log: bool = False
    is_time: bool = False
    at: tuple[float, ...] = ()

    def place(self, value: float) -> float:
        """The position of a value, from 0 to 1; a value outside the axis lies at its end."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)

    def has(self, value: float) -> bool:
        """Whether a value has a position: a logarithmic axis has no 0."""
        return math.isfinite(value) and (value > 0 or not self.is_log)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values on the axis, about `most` at most."""
        if self.at:
            return list(self.at)
        if self.is_log:
            return _powers(self.low, self.high, most)
        return _moments(self.low, self.high, most) if self.is_time else _steps(self.low, self.high, most)


_NOTHING: Final = 1e-12
"""Values below it count as 0: rounding errors of floats."""
SHARES = Scale(0.0, 1.0, share)
"""From 0 to 1."""


def linear(values: Iterable[float], says: Callable[[float], str] = short, *, whole: bool = False) -> Scale:
    """From 0 to just above the largest; `whole`: ticks are whole numbers."""
    top = max(values, default=0.0)
    top = top if top > _NOTHING else 1.0
    step = _step(top, 4)
    if whole:
        step = max(math.ceil(step), 1.0)
    return Scale(0.0, max(math.ceil(top / step - 1e-9), 1) * step, says)


def logarithmic(values: Iterable[float], says: Callable[[float], str] = short) -> Scale:
    """From a power of ten to a power of ten."""
    known = [value for value in values if value > _NOTHING]
    low = math.floor(math.log10(min(known, default=1.0)) + 1e-9)
    high = math.ceil(math.log10(max(known, default=10.0)) - 1e-9)
    return Scale(10.0**low, 10.0 ** max(high, low + 1), says, is_log=True)


def _step(span: float, parts: int) -> float:
    """The least of 1, 2, 5, 10, 20 ... that divides the span into at most `parts` parts."""
    size = 10.0 ** math.floor(math.log10(span / parts))
    return next(size * times for times in (1, 2, 5, 10) if size * times * parts >= span * (1 - 1e-9))


def _steps(low: float, high: float, most: int) -> list[float]:
    step = _step((high - low) or 1.0, most - 1)
    first = math.ceil(low / step - 1e-9)
    return [(first + place) * step for place in range(most) if (first + place) * step <= high + step * 1e-9]


def _moments(low: float, high: float, most: int) -> list[float]:
    """Round times, as many as fit."""
    step = next((each for each in STEPS if (high - low) / each < most - 1), STEPS[-1])
    first = math.ceil(low / step)
    ticks = [float((first + place) * step) for place in range(most) if (first + place) * step <= high]
    return ticks or [low]


def _powers(low: float, high: float, most: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first) / (most - 1)))
    return [10.0**power for power in range(first, last + 1, every)]


WIDTH: Final = 400
HEIGHT: Final = 250
LETTER: Final = 7.0
"""The approximate width of a letter."""
TITLE: Final = 13.0
"""The baseline of the title of y."""
_LONGEST: Final = 300


def safe(words: str) -> str:
    """Words as a part of markup."""
    return escape(clean(words, _LONGEST))


def svg(content: Iterable[str], label: str, height: float = HEIGHT) -> str:
    """A figure; `label` is its text for screen readers."""
    inside = "".join(content)
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{safe(label)}">{inside}</svg>'


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    """A line of text."""
    held = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}"{held}>{safe(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def box(x: float, y: float, width: float, height: float, style: str, says: str = "") -> str:
    """A filled box; `says` is its tooltip."""
    tooltip = f"<title>{safe(says)}</title>" if says else ""
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="{style}">{tooltip}</rect>'


def dot(x: float, y: float, radius: float, style: str, says: str = "") -> str:
    """A point."""
    tooltip = f"<title>{safe(says)}</title>" if says else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{style}">{tooltip}</circle>'


def path(points: Sequence[tuple[float, float]], style: str) -> str:
    """A line through points; one point alone is drawn as a dot (its ends are round)."""
    joined = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    drawn = f"M{joined}h0" if len(points) == 1 else f"M{joined}"
    return f'<path d="{drawn}" class="{style}"/>' if points else ""


def key(entries: Sequence[tuple[str, str]], y: float = 12) -> str:
    """The key of the colours, in one row, or in two where one is too long."""
    parts, x = [], 0.0
    for style, words in entries:
        needs = 16 + LETTER * len(words) + 12
        if x and x + needs > WIDTH:
            x, y = 0.0, y + 18
        parts += [box(x, y - 9, 11, 10, style), text(x + 16, y, words, "soft")]
        x += needs
    return "".join(parts)


class Frame(Struct, frozen=True):
    """The room of a picture: `edge` is left free at the left, `aside` at the right of the axes, `foot` below them.

    `ticks` is how many ticks the axis of x has at most.
    """

    width: float = WIDTH
    height: float = HEIGHT
    edge: float = 0.0
    aside: float = 0.0
    top: float = 30.0
    foot: float = 40.0
    ticks: int = 5


_SMALL: Final = Frame()


class Plane:
    """Two axes. The title of y is above it, that of x below.

    `inset` is the distance of points from the axes, so that points at 0 can be seen.
    """

    def __init__(self, x: Scale, y: Scale, titles: tuple[str, str], frame: Frame = _SMALL, *, inset: float = 0) -> None:
        self.x, self.y = x, y
        widest = max((len(y.says(tick)) for tick in y.ticks()), default=3)
        self.left, self.right = frame.edge + 10 + LETTER * widest, frame.width - 12.0 - frame.aside
        self.top, self.bottom = frame.top, frame.height - frame.foot
        self.frame, self.inset = frame, inset
        self._titles = titles

    def across(self, value: float) -> float:
        """The position of a value of x."""
        return self.left + self.inset + self.x.place(value) * (self.right - self.left - 2 * self.inset)

    def up(self, value: float) -> float:
        """The position of a value of y."""
        return self.bottom - self.inset - self.y.place(value) * (self.bottom - self.top - self.inset)

    def axes(self) -> str:
        """Lines, ticks and titles."""
        x_title, y_title = self._titles
        title = self.top - 17 if self.frame.edge else TITLE
        parts = [text(self.frame.edge, title, y_title, "soft")]
        parts.append(text(self.right, self.bottom + 35, x_title, "soft", "end"))
        for tick in self.y.ticks():
            y = self.up(tick)
            parts += [
                line(self.left, y, self.right, y, "grid"),
                text(self.left - 6, y + 4.5, self.y.says(tick), "tick", "end"),
            ]
        for tick in self.x.ticks(self.frame.ticks):
            x, label = self.across(tick), self.x.says(tick)
            half = LETTER * len(label) / 2
            x_text = min(max(x, half), self.frame.width - half)
            parts += [
                line(x, self.bottom, x, self.bottom + 4, "axis"),
                text(x_text, self.bottom + 18, label, "tick", "middle"),
            ]
        return "".join([*parts, line(self.left, self.bottom, self.right, self.bottom, "axis")])

    def curve(self, points: Iterable[tuple[float, float]], style: str) -> str:
        """A line through points, interrupted where a value has no position on its axis."""
        stretches: list[list[tuple[float, float]]] = [[]]
        for x, y in points:
            if self.x.has(x) and self.y.has(y):
                stretches[-1].append((self.across(x), self.up(y)))
            elif stretches[-1]:
                stretches.append([])
        return "".join(path(each, style) for each in stretches)


_ROW: Final = 38.0
"""Height of a row: its name, and the bar below it."""
_THICK: Final = 13.0
"""Height of a bar."""
_FOOT: Final = 18.0
"""Height of the line below the bars that says what a full bar is."""
_BAR_NAME: Final = 40
"""Letters of a name that are shown."""


class Bar(Struct, frozen=True):
    """A name, the parts of its bar in the order of the key, and the text beside it."""

    name: str
    parts: tuple[float, ...]
    says: str
    hint: str = ""


def horizontal_bars(
    bars: Sequence[Bar],
    styles: Sequence[tuple[str, str]],
    label: str,
    whole: str,
    *,
    is_whole: bool = False,
    of: float = 0.0,
    has_key: bool = True,
) -> str:
    """A bar for each name, the name above it. `whole` says what a bar of the full width stands for.

    `is_whole`: every bar has the full width, and its parts are shares of it. `of`: the value of the full width; the
    rest of it is drawn in grey. Without either the longest bar has the full width. `has_key`: explain the colours.
    """
    has_key = has_key and len(styles) > 1
    head = 26.0 if has_key else 4.0
    if has_key and sum(28 + LETTER * len(words) for _, words in styles) > WIDTH:
        head += 18
    longest = of or max((sum(bar.parts) for bar in bars), default=0.0) or 1.0
    parts = [key(styles)] if has_key else []
    for place, bar in enumerate(bars):
        y = head + place * _ROW
        parts += [
            text(0, y + 13, clean(bar.name, _BAR_NAME), ""),
            text(WIDTH, y + 13, bar.says, "value", "end"),
            *([box(0, y + 18, WIDTH, _THICK, "track")] if is_whole or of else []),
        ]
        x, total = 0.0, sum(bar.parts) or 1.0
        for value, (style, words) in zip(bar.parts, styles, strict=True):
            width = WIDTH * value / (total if is_whole else longest)
            if value:
                parts.append(
                    box(x, y + 18, max(width, 1.5), _THICK, style, bar.hint or f"{bar.name}: {words} {bar.says}")
                )
            x += width
    bottom = head + len(bars) * _ROW
    parts.append(text(0, bottom + 10, f"Full width: {whole}", "soft small whole"))
    return svg(parts, label, bottom + _FOOT)


def vertical_bars(
    bars: Sequence[Bar], style: str, label: str, titles: tuple[str, str], says: Callable[[float], str] | None = None
) -> str:
    """A bar for each step of an order, its number above it where there is room. `titles`: of x and of y.

    The title of y says of how many the bars are.
    """
    tops = [bar.parts[0] for bar in bars]
    y = linear(tops, says) if says else linear(tops, whole=True)
    plane = Plane(Scale(0, max(len(bars), 1), lambda _: ""), y, titles, Frame(top=36))
    step = (plane.right - plane.left) / max(len(bars), 1)
    every = max(1, round(len(bars) / 12 + 0.49))
    parts = [_frame(plane)]
    for place, bar in enumerate(bars):
        x, top = plane.left + place * step, plane.up(bar.parts[0])
        parts.append(box(x + step * 0.14, top, step * 0.72, max(plane.bottom - top, 1.0), style, bar.hint or bar.says))
        if place % every == 0:
            parts.append(text(x + step / 2, plane.bottom + 18, bar.name, "tick", "middle"))
        if step > LETTER * len(bar.says):
            parts.append(text(x + step / 2, top - 5, bar.says, "value", "middle"))
    return svg(parts, label)


def _frame(plane: Plane) -> str:
    """The axes without ticks of x: each bar has its name below it."""
    plane.x = Scale(1.0, 1.0, lambda _: "")
    drawn = plane.axes()
    return drawn + line(plane.left, plane.bottom, plane.right, plane.bottom, "axis")


_NAMED: Final = 3
"""Points whose names are shown."""
_POINT_NAME: Final = 24
"""Letters of a name that are shown."""
_LEAST: Final = 3.5
_MORE: Final = 6.5
"""Radius of the smallest point, and what the weight adds at most."""

Box = tuple[float, float, float]
"""The place of a name: from x to x, at y."""


class Point(Struct, frozen=True):
    """A named point; `weight`, from 0 to 1, determines its size."""

    name: str
    x: float
    y: float
    weight: float = 0.0
    hint: str = ""

    @property
    def radius(self) -> float:
        """The radius, so that areas are proportional to weights."""
        return _LEAST + _MORE * math.sqrt(self.weight)


class ChartLine(Struct, frozen=True):
    """A line through points. Its name is at the highest point, or below the point of index `named`."""

    name: str
    style: str
    points: tuple[tuple[float, float], ...]
    named: int | None = None


def scatter_plot(
    points: Sequence[Point], x: Scale, y: Scale, titles: tuple[str, str], label: str, *, diagonal: str = ""
) -> str:
    """Every point, the largest with names; `diagonal` explains what lies above it."""
    plane = Plane(x, y, titles, Frame(height=316, top=46) if diagonal else Frame(height=300), inset=9)
    parts = [plane.axes()]
    if diagonal:
        parts += [
            line(plane.across(x.low), plane.up(y.low), plane.across(x.high), plane.up(y.high), "guide"),
            line(0, 27, 22, 27, "guide"),
            text(28, 31, diagonal, "soft small"),
        ]
    ordered = sorted((each for each in points if x.has(each.x) and y.has(each.y)), key=lambda each: -each.weight)
    for point in ordered:
        parts.append(
            dot(plane.across(point.x), plane.up(point.y), point.radius, "point", point.hint or clean(point.name))
        )
    return svg([*parts, *_names(ordered, plane)], label, plane.frame.height)


def _names(points: Sequence[Point], plane: Plane) -> list[str]:
    """The names of the largest points, where they overlap neither each other nor the edge."""
    parts: list[str] = []
    taken: list[Box] = []
    for point in points:
        name = clean(point.name, _POINT_NAME)
        x, width = plane.across(point.x), LETTER * len(name)
        x = x + point.radius + 3 if x + point.radius + width < WIDTH else x - point.radius - 3 - width
        place = (x, x + width, plane.up(point.y) + 4)
        if x >= plane.left and not is_taken(place, taken):
            taken.append(place)
            parts.append(text(x, place[2], name, "halo small"))
        if len(parts) == _NAMED:
            break
    return parts


def is_taken(place: Box, taken: Sequence[Box]) -> bool:
    """Whether words at a place would lie on others."""
    return any(abs(place[2] - y) < 14 and place[0] < end and start < place[1] for start, end, y in taken)


def line_plot(drawn: Sequence[ChartLine], x: Scale, y: Scale, titles: tuple[str, str], label: str) -> str:
    """Every line with its name beside it."""
    plane = Plane(x, y, titles)
    parts = [plane.axes(), *(plane.curve(each.points, f"curve {each.style}") for each in drawn)]
    taken: list[Box] = [(0.0, LETTER * len(titles[1]), TITLE)]
    parts += [_named(each, plane, taken) for each in drawn if each.points]
    return svg(parts, label)


def _named(curve: ChartLine, plane: Plane, taken: list[Box]) -> str:
    """The name of a line above its highest point; beside or below it where the place is taken."""
    at = max(curve.points, key=lambda point: point[1]) if curve.named is None else curve.points[curve.named]
    half = LETTER * len(curve.name) / 2 + 2
    across, up = plane.across(at[0]), plane.up(at[1])
    place = next(each for each in _places(across, up, half, plane, curve.named is None) if not is_taken(each, taken))
    taken.append(place)
    return text((place[0] + place[1]) / 2, place[2], curve.name, f"halo name {curve.style}", "middle")


def _places(across: float, up: float, half: float, plane: Plane, is_above: bool) -> Iterator[Box]:
    """Possible places of a name, the best first."""
    x = min(max(across, plane.left + half), plane.right - half)
    y = up + (-8 if is_above else 20)
    yield x - half, x + half, y
    for beside in (across + half + 6, across - half - 6):
        if plane.left + half <= beside <= plane.right - half:
            yield beside - half, beside + half, up + 5
    while True:
        y += 15
        yield x - half, x + half, y

"""Elements of an SVG figure, in the colours of the page, so that figures follow its light and dark themes.

All figures have one width, about that of a phone and of a column on a desktop, so that letters have the same size on
both. All text passes `_safe`: markup written by a site stays text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from periplus.insight.report.wording import clean

from .scales import Scale

WIDTH: Final = 400
HEIGHT: Final = 250
LETTER: Final = 7.0
"""The approximate width of a letter."""
TITLE: Final = 13.0
"""The baseline of the title of y."""
_LONGEST: Final = 300


def _safe(words: str) -> str:
    return escape(clean(words, _LONGEST))


def svg(content: Iterable[str], label: str, height: float = HEIGHT) -> str:
    """A figure; `label` is its text for screen readers."""
    inside = "".join(content)
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{_safe(label)}">{inside}</svg>'


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    """A line of text."""
    held = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}"{held}>{_safe(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def box(x: float, y: float, width: float, height: float, style: str, says: str = "") -> str:
    """A filled box; `says` is its tooltip."""
    told = f"<title>{_safe(says)}</title>" if says else ""
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="{style}">{told}</rect>'


def dot(x: float, y: float, radius: float, style: str, says: str = "") -> str:
    """A point."""
    told = f"<title>{_safe(says)}</title>" if says else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{style}">{told}</circle>'


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


class Plane:
    """Two axes. The title of y is above it, that of x below.

    `inset` is the distance of points from the axes, so that points at 0 can be seen.
    """

    def __init__(
        self,
        x: Scale,
        y: Scale,
        x_title: str,
        y_title: str,
        *,
        height: float = HEIGHT,
        top: float = 30,
        inset: float = 0,
    ) -> None:
        self.x, self.y = x, y
        widest = max((len(y.says(tick)) for tick in y.ticks()), default=3)
        self.left, self.right = 10 + LETTER * widest, WIDTH - 12.0
        self.top, self.bottom = top, height - 40.0
        self.height, self.inset = height, inset
        self._titles = (x_title, y_title)

    def across(self, value: float) -> float:
        """The position of a value of x."""
        return self.left + self.inset + self.x.place(value) * (self.right - self.left - 2 * self.inset)

    def up(self, value: float) -> float:
        """The position of a value of y."""
        return self.bottom - self.inset - self.y.place(value) * (self.bottom - self.top - self.inset)

    def axes(self) -> str:
        """Lines, ticks and titles."""
        x_title, y_title = self._titles
        parts = [text(0, TITLE, y_title, "soft"), text(self.right, self.height - 5, x_title, "soft", "end")]
        for tick in self.y.ticks():
            y = self.up(tick)
            parts += [
                line(self.left, y, self.right, y, "grid"),
                text(self.left - 6, y + 4.5, self.y.says(tick), "tick", "end"),
            ]
        for tick in self.x.ticks():
            x, said = self.across(tick), self.x.says(tick)
            half = LETTER * len(said) / 2
            x_text = min(max(x, half), WIDTH - half)
            parts += [
                line(x, self.bottom, x, self.bottom + 4, "axis"),
                text(x_text, self.bottom + 18, said, "tick", "middle"),
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

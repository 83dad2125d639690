"""Horizontal bars, for names with numbers, and vertical bars, for numbers in an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from periplus.insight.report.wording import clean

from .canvas import LETTER, WIDTH, Plane, box, key, line, svg, text
from .scales import Scale, linear

_ROW: Final = 38.0
"""Height of a row: its name, and the bar below it."""
_THICK: Final = 13.0
"""Height of a bar."""
_FOOT: Final = 18.0
"""Height of the line below the bars that says what a full bar is."""
_NAME: Final = 40
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
            text(0, y + 13, clean(bar.name, _NAME), ""),
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
    plane = Plane(Scale(0, max(len(bars), 1), lambda _: ""), y, *titles, top=36)
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

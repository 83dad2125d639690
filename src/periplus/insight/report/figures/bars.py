"""Bars that lie, for names with numbers; and bars that stand, for numbers in an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from periplus.insight.report.wording import clean

from .canvas import LETTER, WIDTH, Plane, box, key, line, svg, text
from .scales import Scale, linear

_ROW: Final = 38.0
_THICK: Final = 13.0
_NAME: Final = 40


class Bar(Struct, frozen=True):
    """A name, the parts of its bar in the order of the key, and what is written beside it."""

    name: str
    parts: tuple[float, ...]
    says: str
    hint: str = ""


def lying(
    bars: Sequence[Bar],
    styles: Sequence[tuple[str, str]],
    label: str,
    *,
    is_whole: bool = False,
    of: float = 0.0,
    has_key: bool = True,
) -> str:
    """A bar for each name, the name above it. `is_whole`: every bar is as long, its parts are shares of it.

    `of`: what a bar of the whole width would stand for, as all of something does where bars are shares of it; what they
    lack is shown. Else the longest has the whole width. `has_key`: what colours mean is said above; bars of one colour
    need none.
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
        x, whole = 0.0, sum(bar.parts) or 1.0
        for value, (style, words) in zip(bar.parts, styles, strict=True):
            width = WIDTH * value / (whole if is_whole else longest)
            if value:
                parts.append(
                    box(x, y + 18, max(width, 1.5), _THICK, style, bar.hint or f"{bar.name}: {words} {bar.says}")
                )
            x += width
    return svg(parts, label, head + len(bars) * _ROW)


def standing(
    bars: Sequence[Bar], style: str, label: str, x_title: str, y_title: str, says: Callable[[float], str] | None = None
) -> str:
    """A bar for each step of an order, its number above it where there is room."""
    tops = [bar.parts[0] for bar in bars]
    y = linear(tops, says) if says else linear(tops)
    plane = Plane(Scale(0, max(len(bars), 1), lambda _: ""), y, x_title, y_title, top=36)
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
    """The axes without ticks of x: bars have their own."""
    plane.x = Scale(1.0, 1.0, lambda _: "")
    drawn = plane.axes()
    return drawn + line(plane.left, plane.bottom, plane.right, plane.bottom, "axis")

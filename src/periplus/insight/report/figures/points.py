"""Scatter plots, with a point for each site, and line plots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from periplus.insight.report.wording import clean

from .canvas import LETTER, TITLE, WIDTH, Plane, dot, line, svg, text
from .scales import Scale

_NAMED: Final = 3
"""Points whose names are shown."""
_NAME: Final = 24
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


class Curve(Struct, frozen=True):
    """A line. Its name is at the highest point, or below the point of index `named`."""

    name: str
    style: str
    points: tuple[tuple[float, float], ...]
    named: int | None = None


def scatter_plot(
    points: Sequence[Point], x: Scale, y: Scale, titles: tuple[str, str], label: str, *, diagonal: str = ""
) -> str:
    """Every point, the largest with names; `diagonal` explains what lies above it."""
    plane = Plane(x, y, *titles, height=316 if diagonal else 300, top=46 if diagonal else 30, inset=9)
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
    return svg([*parts, *_names(ordered, plane)], label, plane.height)


def _names(points: Sequence[Point], plane: Plane) -> list[str]:
    """The names of the largest points, where they overlap neither each other nor the edge."""
    parts: list[str] = []
    taken: list[Box] = []
    for point in points:
        name = clean(point.name, _NAME)
        x, width = plane.across(point.x), LETTER * len(name)
        x = x + point.radius + 3 if x + point.radius + width < WIDTH else x - point.radius - 3 - width
        place = (x, x + width, plane.up(point.y) + 4)
        if x >= plane.left and not _is_taken(place, taken):
            taken.append(place)
            parts.append(text(x, place[2], name, "halo small"))
        if len(parts) == _NAMED:
            break
    return parts


def _is_taken(place: Box, taken: Sequence[Box]) -> bool:
    return any(abs(place[2] - y) < 14 and place[0] < end and start < place[1] for start, end, y in taken)


def line_plot(drawn: Sequence[Curve], x: Scale, y: Scale, titles: tuple[str, str], label: str) -> str:
    """Every line with its name beside it."""
    plane = Plane(x, y, *titles)
    parts = [plane.axes(), *(plane.curve(each.points, f"curve {each.style}") for each in drawn)]
    taken: list[Box] = [(0.0, LETTER * len(titles[1]), TITLE)]
    parts += [_named(each, plane, taken) for each in drawn if each.points]
    return svg(parts, label)


def _named(curve: Curve, plane: Plane, taken: list[Box]) -> str:
    """The name of a line above its highest point; beside or below it where the place is taken."""
    at = max(curve.points, key=lambda point: point[1]) if curve.named is None else curve.points[curve.named]
    half = LETTER * len(curve.name) / 2 + 2
    across, up = plane.across(at[0]), plane.up(at[1])
    place = next(each for each in _places(across, up, half, plane, curve.named is None) if not _is_taken(each, taken))
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

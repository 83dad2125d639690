"""The tables of a survey, as values: names, columns, rows. What is on them is in `robots_tables` and `sitemap_tables`.

A `share` is from 0 to 1; `None` says that there is nothing to say. Rows are in an order that the facts' order does not
change, so that the same facts give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

Value = str | int | float | bool | None
Row = tuple[Value, ...]

TEXT, WHOLE, REAL, SHARE, CLAIM = "text", "whole", "real", "share", "claim"
_LONGEST_CELL: Final = 80


class Column(Struct, frozen=True):
    """A name, and what the values are: text, whole, real, share or claim (yes or no)."""

    name: str
    kind: str = TEXT


class Table(Struct, frozen=True):
    """One complete table. `note` is shown above it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    is_histogram: bool = False
    """Whether it has two columns: a number, and how often it occurs."""

    def shown(self, limit: int | None = None) -> list[tuple[str, ...]]:
        """The first rows formatted for a terminal or a page."""
        kinds = [column.kind for column in self.columns]
        rows = self.rows if limit is None else self.rows[:limit]
        return [tuple(_SHOWN[kind](value) for kind, value in zip(kinds, row, strict=True)) for row in rows]


def share(part: float, whole: float) -> float | None:
    """A share of a whole; `None` if the whole is 0."""
    return part / whole if whole else None


def columns(**kinds: str) -> tuple[Column, ...]:
    """Columns by name and kind, in this order."""
    return tuple(Column(name, kind) for name, kind in kinds.items())


def _text(value: Value) -> str:
    """One line without what a terminal would obey; long texts are cut."""
    said = "" if value is None else "".join(letter if letter.isprintable() else "\ufffd" for letter in str(value))
    return said if len(said) <= _LONGEST_CELL else said[: _LONGEST_CELL - 1] + "…"


def _whole(value: Value) -> str:
    return "" if value is None else f"{value:,}"


def _real(value: Value) -> str:
    if value is None or isinstance(value, str):
        return ""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _share(value: Value) -> str:
    return "" if value is None or isinstance(value, str) else f"{100 * value:.1f} %"


def _claim(value: Value) -> str:
    return "yes" if value else ""


_SHOWN: Final[dict[str, Callable[[Value], str]]] = {
    TEXT: _text, WHOLE: _whole, REAL: _real, SHARE: _share, CLAIM: _claim
}  # fmt: skip

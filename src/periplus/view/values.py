"""What is shown, as values: sheets, tables and facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

Kind = Literal[
    "text", "url", "site", "table", "reason", "code", "severity", "count", "share", "seconds", "bytes", "number",
    "moment", "picture",
]  # fmt: skip
"""How a value is shown. `moment` is POSIX seconds; a `picture` is made of letters, for terminals alone."""
TableRow = dict[str, Any]
Lines = list[tuple[str, str]]
"""Labels with their texts; those without a text are not shown."""


class Column(Struct, frozen=True):
    """A column: its name in the data, its title, and how its values are shown. A text is shown as it is."""

    name: str
    title: str = ""
    kind: Kind = "text"

    @property
    def is_number(self) -> bool:
        """Whether values are aligned to the right."""
        return self.kind in ("count", "share", "seconds", "bytes", "number")


def counts(name: str, title: str = "") -> Column:
    """A column of whole numbers."""
    return Column(name, title, "count")


class Sheet(Struct, frozen=True, kw_only=True):
    """Rows with their columns, a title, and a sentence on what they show.

    The same rows come from `sql`, or from `command` where only the state of the crawl has them. `figure` names a chart
    of them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[TableRow]
    says: str = ""
    sql: str = ""
    command: str = ""
    figure: str = ""


class SheetQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A sheet that is not read yet: the query for its rows, and how they are shown."""

    name: str
    title: str
    sql: str = ""
    columns: tuple[Column, ...] = ()
    says: str = ""
    figure: str = ""


def _titled(title: str) -> Column:
    kinds: dict[str, Kind] = {"<": "text", "~": "picture"}
    return Column(title.lstrip("<~"), kind=kinds.get(title[:1], "number"))


def sheet_of(
    title: str, columns: Sequence[Column | str], cells: Iterable[Sequence[Any]], notes: Sequence[str] = ()
) -> Sheet:
    """A sheet from rows of cells in the order of the columns, with lines below it.

    A column that is only a title is one of numbers; of texts if the title begins with `<`, of pictures if with `~`.
    """
    known = tuple(each if isinstance(each, Column) else _titled(each) for each in columns)
    rows = [{column.name: cell for column, cell in zip(known, row, strict=True)} for row in cells]
    return Sheet(name="", title=title, columns=known, rows=rows, says="\n".join(notes))


class FactSheet(Struct, frozen=True):
    """What is known of one thing."""

    title: str
    lines: Lines

"""What a page about a collection shows, as values: labelled lines, tables, figures, and the facts behind them.

A page and its twin in the API are made from the same `BrowsePage`. A `Query` is a table that is not read yet: its SQL
has no limit, and stands on the page as it is, so that it can be typed into `periplus query`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

PER_PAGE = 25
"""Rows of a table on a page: what fits on a screen or two."""
MAX_EXPORT = 100_000
"""Rows of a table that is downloaded; `periplus query --csv` has no limit."""

Kind = Literal[
    "text", "url", "site", "table", "reason", "count", "share", "seconds", "bytes", "number", "moment", "code"
]
"""How a value is shown. `url`, `site`, `table` and `reason` link to the page about it; `moment` is POSIX seconds."""
Row = dict[str, Any]


class Column(Struct, frozen=True):
    """A column: its name in the data, its title on the page, and how its values are shown."""

    name: str
    title: str = ""
    kind: Kind = "text"

    @property
    def is_number(self) -> bool:
        """Whether values are aligned to the right."""
        return self.kind in ("count", "share", "seconds", "bytes", "number")


class Query(Struct, frozen=True):
    """A table to be read. Without `columns` all columns of the answer are shown.

    `figure` names a drawing of `insight.report`. `empty` is what the page says if there are no rows.
    """

    name: str
    title: str
    sql: str
    columns: tuple[Column, ...] = ()
    says: str = ""
    figure: str = ""
    per_page: int = PER_PAGE
    empty: str = "Nothing."


class Table(Struct, frozen=True):
    """A table as it is shown: rows from number `first` on (0 is the first row); `has_more`: there are more.

    The same rows come from `sql`, or from `command` where only the state of the crawl has them. `problem` is why the
    table could not be read.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[Row]
    says: str = ""
    sql: str = ""
    command: str = ""
    figure: str = ""
    first: int = 0
    per_page: int = PER_PAGE
    has_more: bool = False
    sorts: tuple[str, ...] = ()
    problem: str = ""
    empty: str = "Nothing."


class Text(Struct, frozen=True):
    """A text as a site sent it, such as a robots.txt."""

    title: str
    text: str
    is_cut: bool = False


class BrowsePage(Struct, frozen=True, kw_only=True):
    """A page about a collection, or a part of it.

    `lines` are what `periplus info` prints. `facts` are the values behind them, those of `periplus info --json` where
    that has any. `why` are sentences that answer the question of the page. `form` names the form above the tables.
    """

    name: str
    title: str
    about: str = ""
    why: tuple[str, ...] = ()
    lines: list[tuple[str, str]] = []
    tables: tuple[Query | Table, ...] = ()
    texts: tuple[Text, ...] = ()
    facts: Any = None
    form: str = ""
    subject: str = ""
    """The URL that the page is about, if any."""


class PageValue(Struct, frozen=True, kw_only=True):
    """A page as the API returns it."""

    title: str
    about: str
    why: tuple[str, ...]
    lines: list[tuple[str, str]]
    tables: list[Table]
    texts: tuple[Text, ...]
    facts: Any


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''").replace("\0", "\ufffd") + "'"

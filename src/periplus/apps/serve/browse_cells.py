"""Cells of tables and figures as HTML. What came from the web is escaped, cut to a bounded length, and never markup.

A page and its twin in the API are made from the same `BrowsePage`. A `TableQuery` is a table that is not read yet: its
SQL has no limit, and stands on the page as it is, so that it can be typed into `periplus query`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec
from markupsafe import Markup, escape
from msgspec import Struct

from periplus.apps.report.drawing import FIGURES
from periplus.apps.report.wording import byte_size, clean, duration, share
from periplus.apps.report.wording import moment as second
from periplus.insight.reasons import explained

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


class TableQuery(Struct, frozen=True):
    """A table to be read. Without `columns` all columns of the answer are shown.

    `figure` names a drawing of `apps.report`. `empty` is what the page says if there are no rows.
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
    tables: tuple[TableQuery | Table, ...] = ()
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


Link = Callable[..., str]
"""`link(path, **parameters)` of a template."""
_LONGEST: Final = 200
"""Characters of a cell; the download has the whole value."""
_LONG: Final = 24
"""Characters of a cell that is never broken within a word."""
_OUTSIDE: Final = Markup(
    ' <a class="out" href="{}" rel="noopener nofollow noreferrer" title="Open this page on its site">↗</a>'
)
_NONE: Final = Markup('<span class="quiet">–</span>')


def cell(column: Column, value: Any, link: Link) -> Markup:
    """The content of a cell."""
    if value is None or value == "":
        return _NONE
    match column.kind:
        case "url":
            return url_link(str(value), link)
        case "site":
            return _anchor(link(site_path(str(value))), str(value))
        case "table":
            return _anchor(link(f"/collection/tables/{quote(str(value), safe='')}"), str(value))
        case "reason":
            return Markup('<a href="{}" title="{}">{}</a>').format(
                link("/collection/excluded", reason=str(value)), explained(str(value)), clean(str(value), _LONGEST)
            )
        case "code":
            return Markup("<code>{}</code>").format(clean(str(value), _LONGEST))
        case _:
            return escape(_words(column, value))


def cell_style(column: Column, value: Any) -> str:
    """The class of a cell in the style sheet."""
    if column.is_number:
        return "n"
    if column.kind == "moment":
        return "when"
    if column.kind == "url":
        return "url"
    return "long" if isinstance(value, str) and len(value) > _LONG else ""


def url_link(url: str, link: Link) -> Markup:
    """A URL from the web: to our page about it, and outside."""
    inside = Markup('<a href="{}">{}</a>').format(link("/collection/url", url=url), clean(url, _LONGEST))
    if not url.lower().startswith(("http://", "https://")) or not url.isprintable():
        return inside
    return inside + _OUTSIDE.format(url)


def site_path(site: str) -> str:
    """The path of the page about a site."""
    return f"/collection/sites/{quote(site, safe='')}"


def _anchor(target: str, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(target, clean(text, _LONGEST))


def _words(column: Column, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(column, value)
    if isinstance(value, str):
        return clean(value, _LONGEST)
    return clean(msgspec.json.encode(value).decode("utf-8", "replace"), _LONGEST)


def _number(column: Column, value: float) -> str:
    match column.kind:
        case "share":
            return share(value)
        case "seconds":
            return "0 s" if not value else duration(value) if value < 1e8 else "longer"
        case "bytes":
            return byte_size(value)
        case "moment":
            return second(value) if 0 < value < 2e11 else "–"
        case "count":
            return f"{value:,}"
        case _:
            return f"{value:,.4g}" if isinstance(value, float) else str(value)


def figure(table: Table) -> Markup | None:
    """The drawing of a table; `None` if it has none, or nothing to draw. All its texts are escaped by `insight`."""
    draw = FIGURES.get(table.figure)
    if draw is None or not table.rows:
        return None
    drawn = draw(table.rows, table.title)
    return Markup(drawn) if drawn else None  # noqa: S704 - our own SVG

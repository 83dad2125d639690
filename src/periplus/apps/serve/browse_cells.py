"""The values of a page, and how its tables and figures link to other pages.

A page and its twin in the API are made from the same `BrowsePage`. A `TableQuery` is a table that is not read yet: its
SQL has no limit, and stands on the page as it is, so that it can be typed into `periplus query`.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from msgspec import Struct

from periplus.apps.report.drawing import drawn as drawing
from periplus.insight.reasons import explained
from periplus.view.html import LINKS, LONGEST_CELL, LinkWriter, breakable, html_table
from periplus.view.values import Lines, Sheet, SheetQuery
from periplus.view.wording import clean

PER_PAGE = 25
"""Rows of a table on a page: what fits on a screen or two."""
MAX_EXPORT = 100_000
"""Rows of a table that is downloaded; `periplus query --csv` has no limit."""


class TableQuery(SheetQuery, frozen=True):
    """A table to be read. Without `columns` all columns of the answer are shown.

    `figure` names a drawing of `apps.report`. `empty` is what the page says if there are no rows.
    """

    per_page: int = PER_PAGE
    empty: str = "Nothing."


class Table(Sheet, frozen=True, kw_only=True):
    """A part of a sheet: rows from number `first` on (0 is the first row); `has_more`: there are more.

    `sorts` are the columns it can be sorted by; `order` is the one it is sorted by, with a minus before it from the
    largest, if both directions can be chosen. `problem` is why the table could not be read, `empty` what is shown if it
    has no rows.
    """

    first: int = 0
    per_page: int = PER_PAGE
    has_more: bool = False
    sorts: tuple[str, ...] = ()
    order: str = ""
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
    lines: Lines = []
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
    lines: Lines
    tables: list[Table]
    texts: tuple[Text, ...]
    facts: Any


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''").replace("\0", "\ufffd") + "'"


def links_of(link: Callable[..., str]) -> dict[str, LinkWriter]:
    """How values are written that have a page of ours; `link(path, **parameters)` is that of a template."""

    def anchor(path: str, text: str, says: str = "", **parameters: str) -> str:
        title = f' title="{escape(says)}"' if says else ""
        return f'<a href="{escape(link(path, **parameters))}"{title}>{breakable(clean(text, LONGEST_CELL))}</a>'

    def url(value: str) -> str:
        inside = anchor("/collection/url", value, url=value)
        if not value.lower().startswith(("http://", "https://")) or not value.isprintable():
            return inside
        outside = f'href="{escape(value)}" rel="noopener nofollow noreferrer" title="Open this page on its site"'
        return f'{inside}&nbsp;<a class="out" {outside}>↗</a>'

    return {
        **LINKS,
        "url": url,
        "site": lambda value: anchor(site_path(value), value),
        "table": lambda value: anchor(f"/collection/tables/{quote(value, safe='')}", value),
        "reason": lambda value: anchor("/collection/excluded", value, explained(value), reason=value),
    }


def site_path(site: str) -> str:
    """The path of the page about a site."""
    return f"/collection/sites/{quote(site, safe='')}"


def page_parameter(table: str) -> str:
    """The parameter with the number of a table's page."""
    return f"{table}.page"


def grid(table: Table, link: Callable[..., str], here: str, kept: dict[str, str]) -> Markup:
    """The rows of a table. Titles of columns sort it: they link to this page with the parameters it has."""
    numbers = {column.name for column in table.columns if column.is_number}

    def sort(name: str) -> str:
        is_down = table.order == name or (bool(table.order) and name in numbers and table.order != f"-{name}")
        others = {each: value for each, value in kept.items() if each != page_parameter(table.name)}
        return link(here, **others | {"sort": f"-{name}" if is_down else name})

    return Markup(html_table(table, links_of(link), table.sorts, sort, table.order))  # noqa: S704 - all values are escaped


def figure(table: Table) -> Markup | None:
    """The drawing of a table; `None` if it has none, or nothing to draw. All its texts are escaped by `view`."""
    drawn = drawing(table)
    return Markup(drawn) if drawn else None  # noqa: S704 - our own SVG

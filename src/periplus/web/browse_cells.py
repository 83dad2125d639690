"""Cells of tables and figures as HTML. What came from the web is escaped, cut to a bounded length, and never markup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import msgspec
from markupsafe import Markup, escape

from periplus.insight.reasons import explained
from periplus.insight.report.drawing import FIGURES
from periplus.insight.report.wording import byte_size, clean, duration, share
from periplus.insight.report.wording import moment as second

from .browse_values import Column, Table

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

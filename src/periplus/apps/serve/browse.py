"""Pages about a collection, each with a twin in the API that returns the same values, and every table as CSV and JSON.

    /collection                  what `periplus info` says, with figures
    /collection/sites            all sites; /collection/sites/SITE one of them
    /collection/pages            all pages of a site in a grid
    /collection/url?url=         one URL, and why it was or was not fetched
    /collection/sitemaps, freshness, forms, excluded, queries, runs, settings, report
    /collection/tables           all tables and views; /collection/tables/NAME the rows of one
    /collection/sql?q=           a query that a viewer types

`/api` before a path gives the same page as JSON; `table=NAME` there gives one of its tables with all rows, as JSON or
with `format=csv` as CSV. Other modules: `browse_values` has the values of a page, `browse_asked` the parameters of a
request, `browse_state` and `browse_tables` read a collection without disturbing its crawl, `browse_cells` writes HTML.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from periplus.apps.audit.page_grid import GRID_COLUMNS, INDEX_STATES, grid_csv
from periplus.insight.plain_values import word
from periplus.view.csv_text import csv_chunks, inert

from .browse_asked import Asked, asked_of
from .browse_cells import (
    MAX_EXPORT,
    BrowsePage,
    PageValue,
    Table,
    TableQuery,
    figure,
    grid,
    page_parameter,
    site_path,
)
from .browse_grid import GRID, STATUSES, page_grid
from .browse_lists import excluded, forms, freshness_page, runs, sitemaps
from .browse_queries import queries
from .browse_settings import report, report_file, settings
from .browse_sites import overview, site, sites
from .browse_sql import EXAMPLE, sql, table, tables
from .browse_state import close_reader
from .browse_tables import filled, reader_of
from .browse_urls import url_page
from .rendering import json_response, page
from .routing import Audience, GuardedRoute, Link, Operation, Parameter, route
from .served import Served

ROOT: Final = "/collection"
NAVIGATION: Final = (Link("Collection", ROOT),)
_NOT_KEPT: Final = frozenset({"collection", "table", "format"})
"""Parameters that links to other rows of a page do not repeat; the collection is added where it is needed."""


class Spec(Struct, frozen=True):
    """A page: its path below `/collection`, the function that makes it, its name in the menu, its parameters."""

    path: str
    make: Callable[[Asked], BrowsePage]
    label: str
    parameters: tuple[Parameter, ...] = ()
    is_in_menu: bool = True


_TEXT = Parameter("q", "Only what contains this text.")
_URL = Parameter("url", "The URL; without a scheme http and https are tried.")
PAGES: Final = (
    Spec("", overview, "Overview"),
    Spec(
        "/sites",
        sites,
        "Sites",
        (
            Parameter("q", "Only sites whose name contains this."),
            Parameter("state", "Only sites in this state: ready, resting, backing-off, finished, down, given-up."),
            Parameter("sort", "pages, queued, bytes, failures, delay, next, state or site."),
        ),
    ),
    Spec(
        "/sites/{site}", site, "", (Parameter("site", "A site.", is_required=True, is_in_path=True),), is_in_menu=False
    ),
    Spec(
        "/pages",
        page_grid,
        "Pages",
        (
            Parameter("site", "The site; by default the largest."),
            Parameter("q", "Only pages with all these words in URL, title, h1 or description."),
            Parameter("state", f"Only pages in this index state: {', '.join(INDEX_STATES)}."),
            Parameter("status", "Only answers whose status begins with this digit."),
            Parameter("columns", "The columns, with commas between them."),
            Parameter("sort", "A column; with a minus before it from the largest."),
        ),
    ),
    Spec("/url", url_page, "URL", (_URL,)),
    Spec("/sitemaps", sitemaps, "Sitemaps", (_TEXT,)),
    Spec("/freshness", freshness_page, "Freshness"),
    Spec("/forms", forms, "Forms"),
    Spec(
        "/excluded",
        excluded,
        "Excluded",
        (Parameter("reason", "Only URLs with this reason."), Parameter("rule", "Only URLs with this rule.")),
    ),
    Spec("/queries", queries, "Queries"),
    Spec("/runs", runs, "Runs"),
    Spec("/settings", settings, "Settings", (Parameter("only", "all: also settings that have their default."),)),
    Spec("/report", report, "Report"),
    Spec("/tables", tables, "Tables"),
    Spec(
        "/tables/{name}",
        table,
        "",
        (
            Parameter("name", "A table or view.", is_required=True, is_in_path=True),
            Parameter("site", "Only rows of this site."),
            Parameter("sort", "A column; with a minus before it from the largest."),
        ),
        is_in_menu=False,
    ),
    Spec("/sql", sql, "SQL", (Parameter("q", "One select statement."),)),
)
_ALL: Final = (
    Parameter("collection", "The name of a collection; by default the first."),
    Parameter("table", "Only this table, with all its rows."),
    Parameter("format", "json or csv; csv needs `table`."),
)


def routes() -> list[GuardedRoute]:
    """Every page, its twin in the API, and the report."""
    found = []
    for spec in PAGES:
        name = (spec.label or spec.path.strip("/").split("/")[0] + "_one").lower()
        found.append(
            route(f"{ROOT}{spec.path}", _html(spec), audience=Audience.VIEWER, name=f"browse_{name}", is_page=True)
        )
        summary = (spec.make.__doc__ or "").strip().splitlines()[0]
        operation = Operation(summary, (*_ALL, *spec.parameters), PageValue)
        path = f"/api{ROOT}{spec.path}"
        found.append(
            route(path, _data(spec), audience=Audience.VIEWER, name=f"browse_{name}_data", operation=operation)
        )
    found.append(route(f"{ROOT}/report.html", report_file, audience=Audience.VIEWER, is_page=True))
    return found


@asynccontextmanager
async def lifespan(served: Served) -> AsyncIterator[None]:
    """Close what was opened when the server stops."""
    yield
    for collection in served.collections.values():
        reader_of(collection).close()
    close_reader()


def _html(spec: Spec) -> Callable[[Request], Response]:
    def respond(request: Request) -> Response:
        asked = replace(asked_of(request), wanted="")
        made = spec.make(asked)
        shown = [_read(asked, each) for each in made.tables]
        return page(
            request,
            "browse.html",
            collection=asked.collection,
            page=made,
            tables=shown,
            menu=[each for each in PAGES if each.is_in_menu],
            spec=spec,
            root=ROOT,
            parameters=asked.parameters,
            kept={name: value for name, value in asked.parameters.items() if name not in _NOT_KEPT},
            page_parameter=page_parameter,
            grid=grid,
            figure=figure,
            site_path=site_path,
            example=EXAMPLE,
            grid_columns=GRID_COLUMNS,
            states=INDEX_STATES,
            statuses=STATUSES,
        )

    return respond


def _data(spec: Spec) -> Callable[[Request], Response]:
    def respond(request: Request) -> Response:
        asked = asked_of(request)
        form = asked.choice("format", ("json", "csv"), "json")
        if form == "csv" and not asked.wanted:
            raise HTTPException(400, "format=csv needs the name of a table: table=NAME.")
        made = spec.make(asked)
        if not asked.wanted:
            return json_response(_value(made, [_read(asked, each) for each in made.tables]))
        chosen = next((each for each in made.tables if each.name == asked.wanted), None)
        if chosen is None:
            names = ", ".join(each.name for each in made.tables)
            raise HTTPException(404, f"This page has no table {asked.wanted[:100]!r}: it has {names or 'none'}.")
        found = _read(asked, chosen)
        if found.problem:
            raise HTTPException(400, found.problem)
        return _csv(found) if form == "csv" else json_response(found.rows)

    return respond


def _read(asked: Asked, each: TableQuery | Table) -> Table:
    """A table with its rows."""
    if isinstance(each, Table):
        return each
    return filled(each, asked.reader, *asked.window(each.name, each.per_page))


def _value(made: BrowsePage, shown: list[Table]) -> PageValue:
    return PageValue(
        title=made.title,
        about=made.about,
        why=made.why,
        lines=[line for line in made.lines if line[1]],
        tables=shown,
        texts=made.texts,
        facts=made.facts,
    )


def _csv(found: Table) -> Response:
    headers = {"content-disposition": f'attachment; filename="{found.name}.csv"'}
    if found.has_more:
        headers["x-truncated"] = f"the first {MAX_EXPORT} rows"
    names = [column.name for column in found.columns]
    rows = ([row.get(name) for name in names] for row in found.rows)
    chunks = grid_csv(found.rows, found.columns) if found.name == GRID else csv_chunks(names, rows, _cell)
    lines = (chunk.encode("utf-8", "replace") for chunk in chunks)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    return inert(value) if isinstance(value, str) else word(value)

"""Every table and view, page by page, and queries that viewers type."""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

import shlex
from typing import Final

from msgspec.structs import replace
from starlette.exceptions import HTTPException

from periplus.collection.facts.site_list import list_sites
from periplus.model import UsageError
from periplus.view.values import Column

from .browse_asked import Asked
from .browse_cells import MAX_EXPORT, BrowsePage, Table, TableQuery, quoted
from .browse_state import read_state
from .browse_tables import MAX_BYTES, MAX_SECONDS, TableProblem, columns_of

SHOWN: Final = 200
"""Rows of a typed query on the page; CSV and JSON have up to `MAX_EXPORT`."""
_MOST_SITES: Final = 200
"""Sites that the form suggests, the largest."""
EXAMPLE: Final = "select site, seen, unique_coverage from site_measures order by seen desc"


def tables(asked: Asked) -> BrowsePage:
    """Everything that can be asked in SQL."""
    from periplus.insight.views import VIEWS  # loads DuckDB

    return BrowsePage(
        name="tables",
        title="Tables",
        about="Everything that can be asked in SQL. Views rest on the tables; their SQL is shown with them.",
        tables=(
            Table(
                name="tables",
                title=f"{len(VIEWS)} tables and views",
                columns=(Column("name", "name", "table"), Column("says", "what a row is")),
                rows=[{"name": view.name, "says": view.says} for view in VIEWS.values()],
                command=f"periplus query {asked.folder}",
                per_page=len(VIEWS),
            ),
        ),
    )


def table(asked: Asked) -> BrowsePage:
    """One table or view: its rows, its columns, and the SQL that makes it."""
    from periplus.insight.views import VIEWS

    name = asked.place["name"]
    view = VIEWS.get(name)
    if view is None:
        raise HTTPException(404, f"There is no table {name[:100]}. The page Tables lists all of them.")
    site = asked.parameter("site")
    where = f"\nwhere site = {quoted(site)}" if site and _has_site(asked, name) else ""
    sort = asked.parameter("sort")
    largest = read_state(list_sites, asked.found, asked.now, first=0, most=_MOST_SITES)
    return BrowsePage(
        name="table",
        title=name,
        about=view.says,
        tables=(
            TableQuery("rows", "Rows", f"select * from {name}{where}{_order(asked, name, sort)}", empty="No rows."),
            TableQuery("columns", "Columns", f"select column_name, column_type from (describe {name})", per_page=200),
        ),
        facts={"name": view.name, "says": view.says, "sql": view.sql, "sites": [row.site for row in largest.rows]},
        form="table",
    )


def _columns(asked: Asked, name: str) -> list[str]:
    found = asked.reader.read(f"select column_name from (describe {name})", 0, 1000)
    return [row["column_name"] for row in found.rows]


def _has_site(asked: Asked, name: str) -> bool:
    return "site" in _columns(asked, name)


def _order(asked: Asked, name: str, sort: str) -> str:
    """`sort` is the name of a column, with a minus before it from the largest."""
    if not sort:
        return ""
    column = sort.removeprefix("-")
    known = _columns(asked, name)
    if column not in known:
        raise HTTPException(400, f"The table {name} has no column {column[:100]}: use one of {', '.join(known)}.")
    return f'\norder by "{column}"{" desc" if sort.startswith("-") else ""} nulls last'


def sql(asked: Asked) -> BrowsePage:
    """A query that a viewer typed, and its answer."""
    text = asked.parameters.get("q", "").strip()
    about = (
        f"One select over the tables and views, which reads them and nothing else; at most {MAX_SECONDS:g} seconds."
        f" The page shows {SHOWN} rows, CSV and JSON have up to {MAX_EXPORT:,}."
    )
    if not text:
        asked.collection.queries.warm()
        return BrowsePage(name="sql", title="SQL", about=about, form="sql")
    most = MAX_EXPORT if asked.wanted == "answer" else SHOWN
    blank = Table(
        name="answer",
        title="Answer",
        columns=(),
        rows=[],
        sql=text,
        command=f"periplus query {asked.folder} {shlex.quote(text)}",
        per_page=SHOWN,
        empty="No rows.",
    )
    try:
        found = asked.reader.ask(text, most)
        if found.is_too_large:
            raise TableProblem(f"The result is larger than {MAX_BYTES >> 20} MB.", hint="Select fewer columns or rows.")
    except (UsageError, TableProblem) as error:
        hint = error.hint.replace("DIR", asked.folder)
        answer = replace(blank, problem=f"{error}\n{hint}")
    else:
        rows = [dict(zip(found.names, row, strict=True)) for row in found.rows]
        answer = replace(blank, columns=columns_of(found.names, rows), rows=rows, has_more=found.has_more)
    return BrowsePage(name="sql", title="SQL", about=about, tables=(answer,), form="sql")

"""The grid of all pages of a site, as `periplus audit --grid` writes it: filtered, sorted and paged by the database.

The tables of an audit are made once for as long as the reader keeps its database open; each page of the grid is then a
query over one table.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote are parameters

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from periplus.apps.audit.page_grid import (
    GRID_COLUMNS,
    INDEX_STATES,
    TEXT_COLUMNS,
    USUAL_COLUMNS,
    load_headings,
    make_grid,
)
from periplus.apps.ulinks.titles import grouped, sites_of
from periplus.collection.facts.site_list import names_of
from periplus.model import UsageError
from periplus.view.values import TableRow
from periplus.view.wording import counted

from .browse_asked import Asked
from .browse_cells import BrowsePage, Table
from .browse_tables import MAX_SECONDS, TableProblem, within

if TYPE_CHECKING:
    from periplus.insight.views import Views

GRID: Final = "pages"
"""The name of the table."""
STATUSES: Final = ("2", "3", "4", "5")
"""First digits of a status."""
_PER_PAGE: Final = 50
_NAMES: Final = tuple(column.name for column in GRID_COLUMNS)
_USUAL_ORDER: Final = "-pagerank"
_MOST_SITES: Final = 200
"""Sites that the form suggests, the largest."""
_MOST_WORDS: Final = 20
"""Words of a filter."""
_TEXT: Final = f"lower(concat_ws(chr(10), {', '.join(TEXT_COLUMNS)}))"


class _MadeGrid(Struct, frozen=True):
    """The site whose grid a database has, all sites of the collection, and whether the headings are known."""

    site: str
    sites: list[str]
    has_headings: bool


_MADE: WeakKeyDictionary[Views, _MadeGrid] = WeakKeyDictionary()


def page_grid(asked: Asked) -> BrowsePage:
    """All pages of a site: status, index state, texts, links, weight and time."""
    order = asked.choice("sort", [sign + name for name in _NAMES for sign in ("", "-")], _USUAL_ORDER)
    chosen = _columns(asked)
    where, given = _conditions(asked)
    first, most = asked.window(GRID, _PER_PAGE)
    table = Table(
        name=GRID,
        title="Pages",
        columns=tuple(column for column in GRID_COLUMNS if column.name in chosen),
        rows=[],
        first=first,
        per_page=_PER_PAGE,
        sorts=_NAMES,
        order=order,
        empty="No fetched URL matches.",
    )
    direction = "desc" if order.startswith("-") else "asc"
    sql = (
        f"select * from audited_grid{where} order by {order.removeprefix('-')} {direction} nulls last, url"
        f" limit {most + 1} offset {first}"
    )
    made = _MadeGrid("", [], has_headings=False)
    try:
        with asked.reader.views() as views, within(views, MAX_SECONDS):
            made = _prepared(views, asked)
            rows: list[TableRow] = views.database.sql(sql, params=given or None).to_arrow_table().to_pylist()
            [(found, total)] = views.database.execute(
                f"select count(*), (select count(*) from audited_grid) from audited_grid{where}", given
            ).fetchall()
    except TableProblem as problem:
        table = replace(table, problem=f"{problem} {problem.hint}")
    else:
        note = "" if made.has_headings else f" h1 is filled in by an audit: periplus audit {asked.folder}"
        says = counted(total, "fetched URL") if found == total else f"{found:,} of {counted(total, 'fetched URL')}"
        command = f"periplus audit {asked.folder} --site {shlex.quote(made.site)} --grid pages.csv"
        table = replace(table, rows=rows[:most], has_more=len(rows) > most, says=f"{says}.{note}", command=command)
    return BrowsePage(
        name="grid",
        title=f"Pages of {made.site}" if made.site else "Pages",
        about="One row for every fetched URL, with the numbers of the audit.",
        tables=(table,),
        facts={"site": made.site, "sites": made.sites},
        form="grid",
    )


def _columns(asked: Asked) -> list[str]:
    """The columns that were chosen; by default the usual ones, and all in a download."""
    chosen = [name for name in asked.parameter("columns").split(",") if name]
    if unknown := next((name for name in chosen if name not in _NAMES), ""):
        raise HTTPException(400, f"The grid has no column {unknown[:50]!r}: use some of {', '.join(_NAMES)}.")
    return chosen or list(_NAMES if asked.wanted == GRID else USUAL_COLUMNS)


def _conditions(asked: Asked) -> tuple[str, dict[str, str]]:
    """The filter as SQL and its parameters."""
    words = asked.parameter("q").lower().split()[:_MOST_WORDS]
    given = {f"word{place}": word for place, word in enumerate(words)}
    tests = [f"contains({_TEXT}, ${name})" for name in given]
    for name, test, allowed in (
        ("state", "state = $state", INDEX_STATES),
        ("status", "starts_with(status::varchar, $status)", STATUSES),
    ):
        if value := asked.choice(name, allowed):
            tests.append(test)
            given[name] = value
    return (f" where {' and '.join(tests)}" if tests else ""), given


def _prepared(views: Views, asked: Asked) -> _MadeGrid:
    """Make the grid of the wanted site, by default of the largest, unless the database has it."""
    from periplus.apps.audit.site_table import SiteTable

    wanted = asked.parameter("site")
    made = _MADE.get(views)
    if made is not None and wanted in ("", made.site):
        return made
    groups = grouped(sites_of(views))
    try:
        names = names_of(groups, wanted, asked.collection.folder) if wanted else next(iter(groups.values()), [])
    except UsageError:
        raise HTTPException(404, f"There is no site {wanted[:100]}. The page Sites lists all of them.") from None
    if not names:
        raise TableProblem("No page was fetched yet.", hint="")
    SiteTable(views, names)
    has_headings = load_headings(views.database, asked.collection.folder, names[0])
    make_grid(views.database, names)
    _MADE[views] = made = _MadeGrid(names[0], [each[0] for each in groups.values()][:_MOST_SITES], has_headings)
    return made

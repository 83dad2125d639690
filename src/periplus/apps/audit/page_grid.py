"""The grid of all pages of a site: one row for every URL that was fetched, to filter, sort, and take elsewhere.

`make_grid` makes the table `audited_grid` from the tables of an audit, so that a grid and an audit have the same
numbers; the server reads it page by page. `h1` comes from the stored pages, which only an audit reads: it keeps them in
`audit/headings-SITE.parquet` of the collection, where the server finds them.

As CSV a grid has plain numbers and times of ISO 8601. As HTML it is one file, whose script filters, sorts, chooses
columns and saves what is shown as CSV; without scripts it has the first rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from periplus.model.statements import Statements
from periplus.store.durable import write_file
from periplus.view.csv_text import csv_chunks, inert
from periplus.view.html import STYLE_FILE, html_file, html_table
from periplus.view.values import Column, Sheet, TableRow
from periplus.view.wording import clean, counted, moment

from .comparison import kept_path

if TYPE_CHECKING:
    import duckdb

SQL: Final = Statements(__file__)

GRID_COLUMNS: Final = (
    Column("url", "URL", "url"),
    Column("status", "status", "number"),
    Column("state", "index state"),
    Column("title", "title"),
    Column("h1", "h1"),
    Column("description", "description"),
    Column("words", "words", "count"),
    Column("depth", "depth", "count"),
    Column("inlinks", "inlinks", "count"),
    Column("outlinks", "outlinks", "count"),
    Column("weight", "weight", "bytes"),
    Column("seconds", "time", "seconds"),
    Column("canonical", "canonical", "url"),
    Column("language", "language"),
    Column("listed", "in a sitemap"),
    Column("lastmod", "lastmod", "moment"),
    Column("first_seen", "first seen", "moment"),
    Column("fetched", "fetched", "moment"),
    Column("pagerank", "PageRank", "number"),
)
"""In the order of the grid."""
USUAL_COLUMNS: Final = (
    "url", "status", "state", "title", "h1", "description", "words", "depth", "inlinks", "outlinks", "weight",
    "seconds",
)  # fmt: skip
"""The columns that are shown unless others are chosen; downloads have all."""
INDEX_STATES: Final = (
    "indexable",
    "noindex",
    "canonical",
    "duplicate",
    "redirect",
    "soft-error",
    "error",
    "unsearchable",
    "file",
)
"""Whether a URL can be in search results, and if not, the first reason why not; `docs/audit.md` explains them."""
TEXT_COLUMNS: Final = ("url", "title", "h1", "description")
"""The columns in which the filter looks for its words."""
_PER_PAGE: Final = 100
"""Rows that the HTML file shows at a time, and those it has without its script."""
_SCRIPT: Final = STYLE_FILE.with_name("grid.js").read_text()


def make_grid(database: duckdb.DuckDBPyConnection, sites: Sequence[str]) -> None:
    """Make `audited_grid`, after `site_table.SiteTable` and `audited_read`."""
    database.execute(SQL["grid"], {"sites": list(sites)})


def grid_rows(database: duckdb.DuckDBPyConnection) -> list[TableRow]:
    """All rows, those of the highest PageRank first."""
    found: list[TableRow] = database.sql("select * from audited_grid").to_arrow_table().to_pylist()
    return found


def keep_headings(database: duckdb.DuckDBPyConnection, folder: Path, site: str) -> None:
    """Keep the headings that an audit has read."""
    path = kept_path(folder, site, "headings", "parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    sink = pa.BufferOutputStream()
    pq.write_table(database.sql(SQL["headings"]).to_arrow_table(), sink, compression="zstd")
    write_file(path, sink.getvalue().to_pybytes())


def load_headings(database: duckdb.DuckDBPyConnection, folder: Path, site: str) -> bool:
    """Make `audited_read` of the headings that an audit has kept; whether there are any."""
    try:
        found = pq.read_table(kept_path(folder, site, "headings", "parquet"), columns=["url", "h1"])
    except (OSError, pa.ArrowException):
        found = pa.table({"url": pa.array([], pa.string()), "h1": pa.array([], pa.string())})
    database.register("audited_read", found)
    return bool(found.num_rows)


def grid_text(site: str, rows: Sequence[TableRow], path: Path, made_at: float) -> str:
    """The grid as the name of its file asks for: `.html`, else CSV."""
    is_page = path.suffix.lower() in (".html", ".htm")
    return grid_page(site, rows, made_at) if is_page else "".join(grid_csv(rows))


def grid_csv(rows: Iterable[TableRow], columns: Sequence[Column] = GRID_COLUMNS) -> Iterator[str]:
    """The rows as CSV, in pieces; nothing that a spreadsheet would compute."""
    values = ([_plain(row.get(column.name), column) for column in columns] for row in rows)
    return csv_chunks([column.name for column in columns], values, inert, newline="\r\n")


def _plain(value: Any, column: Column) -> object:
    if value is None or isinstance(value, str):
        return value
    if column.kind == "moment":
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower()


def grid_page(site: str, rows: Sequence[TableRow], made_at: float) -> str:
    """The grid as one HTML file."""
    name = escape(clean(site))
    shown = Sheet(
        name="grid",
        title=f"Pages of {clean(site)}",
        columns=tuple(column for column in GRID_COLUMNS if column.name in USUAL_COLUMNS),
        rows=list(rows[:_PER_PAGE]),
    )
    data = {
        "columns": [(column.name, column.title, column.kind, column.name in USUAL_COLUMNS) for column in GRID_COLUMNS],
        "rows": [[row.get(column.name) for column in GRID_COLUMNS] for row in rows],
        "texts": TEXT_COLUMNS,
        "states": [state for state in INDEX_STATES if any(row["state"] == state for row in rows)],
        "file": f"pages-{site}.csv",
    }
    encoded = msgspec.json.encode(data).decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    less = f" The first {_PER_PAGE} without scripts; the CSV has all." if len(rows) > _PER_PAGE else ""
    content = [
        f'<header><p class="mark">Periplus grid</p><h1>{name}</h1>',
        f'<p class="soft">{counted(len(rows), "fetched URL")}, as of {moment(made_at)} UTC.</p></header>\n',
        f"<noscript><p>To filter and sort, allow the script of this file.{less}</p></noscript>\n",
        f'<div id="grid">{html_table(shown)}</div>\n',
        f'<script type="application/json" id="pages">{encoded}</script>\n',
        "<footer>Made by Periplus. Times are UTC. docs/audit.md explains the columns.</footer>\n",
    ]
    return html_file(f"Pages of {name}", content, script=_SCRIPT)

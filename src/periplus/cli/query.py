"""`periplus query`: a collection, asked in SQL. What can be asked is in `insight.views`; how it is shown, here.

People get an aligned table of the first rows, programs all of them: as JSON lines, or as CSV. The question reads the
collection and nothing else, and writes nothing (`Views.select` says how); what had to be computed first is kept in the
folder `insight` of the collection.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from rich.text import Text

from periplus.collection.readable import layout_of
from periplus.insight.plain_values import plain, word
from periplus.model import UsageError
from periplus.view.csv_text import csv_chunks
from periplus.view.terminal import aligned, print_line
from periplus.view.wording import one_line

from . import options
from .closed_pipe import unless_closed
from .commands import Argument, Option
from .consoles import stderr_console, stdout_console
from .options import JobsCluster, executor_at

SHOWN = 50
"""Rows shown on a terminal by default."""
_WIDEST = 80
"""Letters of a cell on a terminal."""
_LONGEST_QUESTION = 1 << 20

Question = Annotated[
    str | None,
    Argument(metavar="SQL", help="A query; - reads standard input. Without it, the tables are listed."),
]
Rows = Annotated[
    int, Option("--limit", metavar="N", min=1, help="Rows to print as a table; --json and --csv print all.")
]
Csv = Annotated[bool, Option("--csv", help="Print all rows as CSV.")]
Row = Sequence[Any]


def query(
    collection: options.Collected,
    sql: Question = None,
    limit: Rows = SHOWN,
    json: options.Json = False,
    csv: Csv = False,
    cluster: JobsCluster = None,
) -> None:
    """Query a collection in SQL: its tables, every known URL, and every measure. Works while a crawl runs.

    Example: periplus query docs "select site, seen, unique_coverage from site_measures order by seen desc"
    """
    from periplus.insight.views import Views  # loads DuckDB, which takes a moment

    if json and csv:
        raise UsageError("--json and --csv exclude each other", hint="use one of them")
    layout = layout_of(collection)
    if sql is None:
        _list(collection, is_json=json)
        return
    question = sys.stdin.read(_LONGEST_QUESTION) if sql == "-" else sql
    with (
        unless_closed(),
        executor_at(cluster) as executor,
        Views(collection, spooled=layout.spooled, say=_print, executor=executor) as views,
    ):
        try:
            answer = views.select(question) if json or csv else views.first(question, limit + 1)
        except UsageError as error:
            hint = error.hint.replace("DIR", shlex.quote(str(collection)))
            raise UsageError(str(error), hint=hint) from error
        if json:
            _write_json(answer.names, answer.rows)
        elif csv:
            _write_csv(answer.names, answer.rows)
        else:
            _show(answer.names, answer.rows, limit)


def _print(what: str) -> None:
    print_line(stderr_console(), what, "dim")


# what there is


def _list(folder: Path, *, is_json: bool) -> None:
    from periplus.insight.views import DERIVED, ENTITIES, MADE, TABLES

    groups = (
        ("tables, as the crawl wrote them", TABLES),
        ("computed once, kept until the tables grow", (*MADE, ENTITIES)),
        ("views", DERIVED),
    )
    if is_json:
        for _, views in groups:
            for view in views:
                click.echo(msgspec.json.encode({"name": view.name, "says": view.says, "sql": view.sql}))
        return
    console = stdout_console()
    widest = max(len(view.name) for _, views in groups for view in views)
    for title, views in groups:
        console.print(Text(title, style="bold"))
        for view in views:
            print_line(console, f"  {view.name:{widest}}  {view.says}")
    name = shlex.quote(str(folder))
    console.print(Text("next:", style="bold"))
    for line in ("describe urls", "select site, seen, unique_coverage from site_measures order by seen desc"):
        print_line(console, f'  periplus query {name} "{line}"')


# for programs


def _write_json(names: Sequence[str], rows: Iterable[Row]) -> None:
    for row in rows:
        value = dict(zip(names, map(plain, row), strict=True))
        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def _write_csv(names: Sequence[str], rows: Iterable[Row]) -> None:
    for chunk in csv_chunks(names, rows, word):
        sys.stdout.write(chunk)
    sys.stdout.flush()


# for people


def _show(names: Sequence[str], rows: Iterator[Row], limit: int) -> None:
    """The first rows, aligned; numbers to the right. Elsewhere than on a terminal nothing is cut."""
    shown = [list(row) for row in islice(rows, limit)]
    is_cut = next(rows, None) is not None
    console = stdout_console()
    widest = _WIDEST if console.is_terminal else None
    numeric = [
        all(isinstance(row[place], int | float | Decimal | None) for row in shown) for place in range(len(names))
    ]
    cells = [[_cell(value, widest) for value in row] for row in chain([names], shown)]
    for number, line in enumerate(aligned(cells, numeric)):
        print_line(console, line, "" if number else "bold")
    if not shown:
        console.print(Text("no rows", style="dim"))
    if is_cut:
        _print(f"the first {limit:,} rows; --limit N shows more, --json and --csv give all")


def _cell(value: Any, widest: int | None) -> str:
    """A value in one line: hostile letters are replaced, and what is too long is cut."""
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else word(value)
    text = one_line(text)
    return text if widest is None or len(text) <= widest else text[: widest - 1] + "…"

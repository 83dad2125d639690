"""The tables of a collection, read in SQL: our own queries, and those that viewers type.

One database a collection stays open for a few seconds, so that a page with ten tables opens it once, and longer if what
it needed took long to compute. A viewer's query has a database of its own, which reads the tables and nothing else
(`Views.select`), with limits on time, memory, rows and bytes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from periplus.insight.plain_values import plain
from periplus.model import PeriplusError

from .browse_cells import Column, Query, Row, Table
from .browse_state import read_state, spooled_of

if TYPE_CHECKING:
    from periplus.insight.views import Views

    from .served import ServedCollection

MAX_SECONDS = 10.0
"""Of a query: a person waits so long, and the machine has others to serve."""
MAX_BYTES = 8 << 20
"""Of the values of a viewer's result, in JSON."""
MAX_SQL = 10_000
"""Characters of a viewer's query."""
_MEMORY = "512MB"
_SPILL = "1GB"
_THREADS = 2
_AT_ONCE = 2
"""Viewers' queries that run at once; each may take `_MEMORY`."""
_KEPT = 5.0
"""Seconds for which a database is used again. What a crawl wrote since then is not seen."""
_KEPT_FACTOR = 20.0
"""A database that took a second to prepare is kept for 20: at most a twentieth of the time goes into that."""
_PATIENCE = 15.0
"""Seconds to wait for a database that another request uses."""


class TableProblem(PeriplusError):  # noqa: N818 - it is what it says
    """Why a table cannot be shown now."""


class Answered(Struct, frozen=True):
    """Rows of an answer, and whether there are more."""

    names: list[str]
    rows: list[Row]
    has_more: bool


class TableReader:
    """Reads the tables of one collection."""

    def __init__(self, collection: ServedCollection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._views: Views | None = None
        self._stale_at = 0.0
        self._typed = threading.Semaphore(_AT_ONCE)

    def read(self, sql: str, first: int, most: int) -> Answered:
        """Rows of one of our own queries, which has no limit yet."""
        limited = f"{sql}\nlimit {most + 1} offset {first}"
        with self.views() as views, _within(views, MAX_SECONDS):
            rows = views.rows(limited)
        names = list(rows[0]) if rows else []
        return Answered(names, [_plain_row(row) for row in rows[:most]], len(rows) > most)

    @contextmanager
    def views(self) -> Iterator[Views]:
        """The open database, for one thread at a time."""
        if not self._lock.acquire(timeout=_PATIENCE):
            raise TableProblem("The tables are in use by another request.", hint="Reload the page in a moment.")
        try:
            views = self._views
            if views is None or time.monotonic() >= self._stale_at:
                views = self._open()
            began = time.monotonic()
            yield views
            ended = time.monotonic()
            self._stale_at = max(self._stale_at, ended + min(_KEPT_FACTOR * (ended - began), 600.0) - _KEPT)
        except BaseException:
            self._close()
            raise
        finally:
            self._lock.release()

    def _open(self) -> Views:
        self._close()
        self._views = views = self._opened(None)
        self._stale_at = time.monotonic() + _KEPT
        return views

    def _opened(self, memory: str | None) -> Views:
        from periplus.insight.views import Views, ViewSettings  # loads DuckDB, which takes a moment

        settings = ViewSettings(threads=_THREADS)
        if memory is not None:
            settings = replace(settings, memory=memory, spill=_SPILL)
        spooled = read_state(spooled_of, self._collection.collection)
        return Views(self._collection.folder, spooled=spooled, settings=settings)

    def ask(self, sql: str, most: int) -> Answered:
        """Rows of a query that a viewer typed. Raises `UsageError` if it is wrong, `TableProblem` if it is too much."""
        if len(sql) > MAX_SQL:
            raise TableProblem(f"A query may have {MAX_SQL:,} characters.", hint="periplus query takes longer ones.")
        if not self._typed.acquire(timeout=_PATIENCE):
            raise TableProblem("Other queries are running.", hint="Try again in a moment.")
        try:
            with self._opened(_MEMORY) as views:
                with self.views():  # computes PageRank and the like in one thread at a time
                    views.prepare(sql)
                with _within(views, MAX_SECONDS):
                    answer = views.select(sql)
                    rows = list(_bounded(answer.rows(), most + 1))
                    shown = [dict(zip(answer.names, map(plain, row), strict=True)) for row in rows[:most]]
                    return Answered(answer.names, shown, len(rows) > most)
        finally:
            self._typed.release()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        views, self._views = self._views, None
        if views is not None:
            views.close()


_READERS: WeakKeyDictionary[ServedCollection, TableReader] = WeakKeyDictionary()
_MAKING = threading.Lock()


def reader_of(collection: ServedCollection) -> TableReader:
    """The reader of a collection."""
    with _MAKING:
        return _READERS.setdefault(collection, TableReader(collection))


def filled(query: Query, reader: TableReader, first: int, most: int) -> Table:
    """A query with its rows; with the problem in their place if it cannot be answered."""
    table = Table(
        name=query.name,
        title=query.title,
        columns=query.columns,
        rows=[],
        says=query.says,
        sql=query.sql,
        figure=query.figure,
        first=first,
        per_page=query.per_page,
        empty=query.empty,
    )
    try:
        found = reader.read(query.sql, first, most)
    except TableProblem as problem:
        return replace(table, problem=f"{problem} {problem.hint}")
    columns = query.columns or columns_of(found.names, found.rows)
    return replace(table, columns=columns, rows=found.rows, has_more=found.has_more)


_URLS = frozenset(
    {"url", "page", "target", "sitemap", "referrer", "canonical", "leads_to", "ends_at", "tree", "parent"}
)
_SITES = frozenset({"site", "target_site"})


def columns_of(names: Sequence[str], rows: Sequence[Row]) -> tuple[Column, ...]:
    """Columns of an answer, by their names and first values."""
    return tuple(Column(name, name, _kind_of(name, [row.get(name) for row in rows])) for name in names)


def _kind_of(name: str, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, str) for value in known):
        return "url" if name in _URLS else "site" if name in _SITES else "text"
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return "count" if all(isinstance(value, int) for value in known) else "number"
    return "text"


def _plain_row(row: Row) -> Row:
    return {name: plain(value) for name, value in row.items()}


def _bounded(rows: Iterator[tuple[Any, ...]], most: int) -> Iterator[tuple[Any, ...]]:
    """At most this many rows, and `MAX_BYTES` of them."""
    left = MAX_BYTES
    for row in islice(rows, most):
        left -= sum(len(value) if isinstance(value, str | bytes) else 16 for value in row)
        if left < 0:
            raise TableProblem(f"The result is larger than {MAX_BYTES >> 20} MB.", hint="Select fewer columns or rows.")
        yield row


@contextmanager
def _within(views: Views, seconds: float) -> Iterator[None]:
    """Interrupt the database after some time, and report that in place of its error."""
    has_ended = threading.Event()

    def interrupt() -> None:
        has_ended.set()
        views.database.interrupt()

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException as error:
        if has_ended.is_set():
            raise TableProblem(
                f"The query took longer than {seconds:g} seconds and was stopped.",
                hint="Select less, or run it at the command line: periplus query",
            ) from error
        raise
    finally:
        timer.cancel()

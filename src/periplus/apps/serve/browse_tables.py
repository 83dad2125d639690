"""The tables of a collection, read in SQL: our own queries, and those that viewers type.

Our own are in `browse_tables.toml`, page by page, with their titles and columns, and `browse_tables.sql`.

One database a collection stays open for a few seconds, so that a page with ten tables opens it once, and longer if what
it needed took long to compute. A viewer's query runs in another process (`insight.query_worker`), which reads the
tables and nothing else, with limits on time, memory, rows and bytes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from msgspec import Struct, convert, toml
from msgspec.structs import asdict, replace

from periplus.insight.plain_values import plain
from periplus.insight.query_worker import CollectionQuery
from periplus.insight.query_worker import QueryRows as QueryRows
from periplus.insight.views.catalogue import names_in, needs_computed, tables_in
from periplus.model import PeriplusError
from periplus.model.statements import Statements
from periplus.store.tables import Spooled
from periplus.store.tables.files import intact_files_of
from periplus.view.values import Column, TableRow

from .browse_cells import Table, TableQuery
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
_THREADS = 2
_KEPT = 5.0
"""Seconds for which a database is used again. What a crawl wrote since then is not seen."""
_KEPT_FACTOR = 20.0
"""A database that took a second to prepare is kept for 20: at most a twentieth of the time goes into that."""
_PATIENCE = 15.0
"""Seconds to wait for a database that another request uses."""


class TableProblem(PeriplusError):  # noqa: N818 - it is what it says
    """Why a table cannot be shown now."""


class AnsweredRows(Struct, frozen=True):
    """Rows of an answer, and whether there are more."""

    names: list[str]
    rows: list[TableRow]
    has_more: bool


class TableReader:
    """Reads the tables of one collection."""

    def __init__(self, collection: ServedCollection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._views: Views | None = None
        self._stale_at = 0.0

    def read(self, sql: str, first: int, most: int) -> AnsweredRows:
        """Rows of one of our own queries, which has no limit yet."""
        limited = f"{sql}\nlimit {most + 1} offset {first}"
        with self.views() as views, within(views, MAX_SECONDS):
            rows = views.rows(limited)
        names = list(rows[0]) if rows else []
        return AnsweredRows(names, [_plain_row(row) for row in rows[:most]], len(rows) > most)

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
        from periplus.insight.views import Views, ViewSettings  # loads DuckDB, which takes a moment

        settings = ViewSettings(threads=_THREADS)
        self._views = views = Views(self._collection.folder, spooled=self._spooled(), settings=settings)
        self._stale_at = time.monotonic() + _KEPT
        return views

    def _spooled(self) -> tuple[Spooled, ...]:
        return read_state(spooled_of, self._collection.collection)

    def ask(self, sql: str, most: int) -> QueryRows:
        """Rows of a query that a viewer or an agent wrote. Raises `UsageError` if it is wrong or too much."""
        if len(sql) > MAX_SQL:
            raise TableProblem(f"A query may have {MAX_SQL:,} characters.", hint="periplus query takes longer ones.")
        with ExitStack() as held:
            computed, spooled = self._compute(held, sql) if needs_computed(sql) else (None, self._spooled())
            for table in tables_in(sql):
                intact_files_of(self._collection.folder / "tables", table, spooled)
            question = CollectionQuery(
                folder=self._collection.folder,
                spooled=spooled,
                sql=sql,
                max_rows=most,
                max_bytes=MAX_BYTES,
                seconds=MAX_SECONDS,
                computed=computed,
            )
            return self._collection.queries.ask(question, patience=_PATIENCE)

    def _compute(self, held: ExitStack, sql: str) -> tuple[Path, tuple[Spooled, ...]]:
        """Compute PageRank and the like, which the process for queries may not: their folder, and of which tables.

        Where the collection cannot be written they are in the temporary folder of this database, which is then `held`.
        """
        views = held.enter_context(self.views())
        names = "urls entities" if "entities" in names_in(sql) else "urls"
        views.prepare(names)
        if not views.kept.is_current:  # another process has computed them since, from newer tables
            views = self._open()
            views.prepare(names)
        computed, spooled = views.kept.folder, views.spooled
        if computed.parent == self._collection.folder:
            held.close()
        return computed, spooled

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


SQL: Final = Statements(__file__)


@cache
def _declared() -> dict[str, tuple[TableQuery, ...]]:
    """The tables of each page, in the order of the file."""
    pages = toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, dict[str, dict[str, Any]]])
    return {
        page: tuple(convert({"name": name, **fields}, TableQuery) for name, fields in tables.items())
        for page, tables in pages.items()
    }


def tables_of(page: str, **words: str) -> tuple[TableQuery, ...]:
    """The tables of a page that are queries; `words` stand in their SQL as they are."""
    return tuple(replace(each, sql=SQL[f"{page}.{each.name}"].format(**words)) for each in _declared()[page])


def filled(query: TableQuery, reader: TableReader, first: int, most: int) -> Table:
    """A query with its rows; with the problem in their place if it cannot be answered."""
    table = Table(**asdict(query), rows=[], first=first)
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


def columns_of(names: Sequence[str], rows: Sequence[TableRow]) -> tuple[Column, ...]:
    """Columns of an answer, by their names and first values."""
    return tuple(Column(name, name, _kind_of(name, [row.get(name) for row in rows])) for name in names)


def _kind_of(name: str, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, str) for value in known):
        return "url" if name in _URLS else "site" if name in _SITES else "text"
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return "count" if all(isinstance(value, int) for value in known) else "number"
    return "text"


def _plain_row(row: TableRow) -> TableRow:
    return {name: plain(value) for name, value in row.items()}


@contextmanager
def within(views: Views, seconds: float) -> Iterator[None]:
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

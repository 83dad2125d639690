"""A collection that can be asked in SQL: DuckDB in memory, over the Parquet files as they lie and rows still in spools.

Nothing is loaded that was not asked for. A table or view is put in place when its name stands in a question (a name
that only looks like one costs time, nothing else); `urls` and what rests on it are computed at that moment, once, and
kept in the folder `insight` of the collection (`kept`).

Nothing is downloaded: extensions are neither installed nor loaded. Our own queries use `ask`; a query that a user
wrote uses `select`, which lets it read the collection and nothing else (see there). DuckDB's own errors
become a `UsageError` there, because the user's SQL was wrong; in `ask` they would be a bug of ours.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import duckdb
import msgspec
from msgspec import Struct

from periplus.lazy_exports import LazyModule
from periplus.model import CollectionDamaged, Executor, UsageError
from periplus.model.rows import ColumnType, columns_of
from periplus.store.folders import repair_hint
from periplus.store.tables import Spooled
from periplus.store.tables.declared import ROWS
from periplus.store.tables.files import count_spooled, damaged_files, files_of, files_of_judges, intact_files_of
from periplus.store.tables.outages import TIMES

from .catalogue import ENTITIES, ITEM_VERSIONS, ITEMS, MADE, TABLES, VIEWS, names_in
from .kept import Kept

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LazyModule("pyarrow")

_FROM: Final = re.compile(r'\b(?:from|join)\s+"?(\w+)')
_UNKNOWN: Final = re.compile(r"Table with name (\S+) does not exist")
_ROWS_AT_ONCE: Final = 10_000
_TABLE_FUNCTIONS: Final = frozenset({
    "generate_series", "histogram", "histogram_values", "json_each", "json_tree", "range", "repeat", "repeat_row",
    "summary", "unnest",
})  # fmt: skip
"""Functions that a user's query may read from; others show files, settings and logs, or run unchecked SQL."""
_SHOW_PLACES: Final = frozenset({"current_setting", "json_serialize_plan"})
"""Functions of values that name folders of this machine."""
_SYSTEM_TABLES: Final = ("duckdb_", "pg_", "pragma_", "sqlite_")
"""Beginnings of tables of the database itself, which name these folders too."""
_SQL: Final = {
    ColumnType.TEXT: "varchar",
    ColumnType.WORD: "varchar",
    ColumnType.MOMENT: "timestamptz",
    ColumnType.NUMBER: "integer",
    ColumnType.SIZE: "bigint",
    ColumnType.REAL: "double",
    ColumnType.SHARE: "float",
    ColumnType.CLAIM: "boolean",
    ColumnType.DIGEST: "ubigint",
    ColumnType.BYTES: "blob",
    ColumnType.WORDS: "varchar[]",
}
"""The types of columns in DuckDB."""
_PLAIN: Final = re.compile(r"BOOLEAN|U?(TINY|SMALL|BIG)INT|U?INTEGER|HUGEINT|FLOAT|DOUBLE|DECIMAL\(.*\)|VARCHAR|BLOB")
"""Types of which DuckDB itself makes the values that Arrow would: times need a package that is not ours."""


class ViewSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of the machine questions may use."""

    memory: str = "1GB"
    """What DuckDB may hold; the rest waits on disk, in a temporary folder."""
    spill: str = "20GB"
    """What may wait on disk at most."""
    threads: int = 0
    """Processors; 0: all that this process may use."""
    max_spooled_rows: int = 1 << 62
    """Rows of a table in no Parquet file yet that are held in memory; if there are more, they are copied to one."""
    memory_bytes: int = 4 << 30
    """Bytes that links, or sketches, may take in one memory; if they take more, they are processed in partitions."""


class Answer(Struct, frozen=True):
    """The result of a user's query: the columns' names, and row after row as it is read, each once."""

    names: list[str]
    rows: Iterator[tuple[Any, ...]]


class Views:
    """A collection and its views, until closed. `say` is called with a message before long computations."""

    def __init__(
        self,
        folder: Path,
        *,
        spooled: Sequence[Spooled] = (),
        settings: ViewSettings | None = None,
        say: Callable[[str], None] | None = None,
        executor: Executor | None = None,
        scratch: Path | None = None,
        computed: Path | None = None,
        is_verified: bool = False,
    ) -> None:
        """With an `executor`, PageRank and near-duplicates are computed there, in partitions, whatever their size.

        What does not fit into memory is written to a temporary folder in `scratch`, or where the system has those.
        `computed` is the folder of computed tables, by default `insight` in the collection. `is_verified`: the caller
        has compared the files of the tables with their digests.
        """
        self.folder = folder
        self.settings = settings or ViewSettings()
        self.executor = executor
        self._files_of = files_of if is_verified else intact_files_of
        self.tables = folder / "tables"
        self.spooled = tuple(spooled)
        self._print = say or (lambda _: None)
        self._scratch = TemporaryDirectory(prefix="periplus-insight-", dir=scratch, ignore_cleanup_errors=True)
        self.scratch = Path(self._scratch.name)
        self.kept = Kept(computed or folder / "insight", self.scratch, self.tables, self.spooled)
        self._there: set[str] = set()
        self._is_locked = False
        self.database = self._opened(self.settings)

    def _opened(self, settings: ViewSettings) -> duckdb.DuckDBPyConnection:
        threads = settings.threads or _cores()
        spill = self.scratch / "spill"
        database = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": settings.memory,
                "threads": threads,
                "temp_directory": str(spill),
                "max_temp_directory_size": settings.spill,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
                "preserve_insertion_order": False,
                "allocator_flush_threshold": "1MB",  # what is not needed any more is for PageRank, not for later
                "allocator_bulk_deallocation_flush_threshold": "1MB",
            },
        )
        is_shown = database.execute("select current_setting('enable_progress_bar')").fetchall()
        if is_shown == [(True,)]:  # it would be written to stdout; where it is off, notebooks may refuse to change it
            database.execute("set enable_progress_bar = false")
        return database

    def close(self) -> None:
        """Close the database; what was computed is kept."""
        self.database.close()
        self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # asking

    def ask(self, sql: str, parameters: Sequence[object] | dict[str, object] = ()) -> pa.RecordBatchReader:
        """The result of a query of our own."""
        self.prepare(sql)
        with self._noticing_damage():
            return self._run(sql, parameters)

    @contextmanager
    def _noticing_damage(self, names: Iterable[str] = ()) -> Iterator[None]:
        """Where DuckDB cannot read on, look whether a file of the tables in use is damaged, and name it."""
        try:
            yield
        except (duckdb.Error, pa.ArrowException) as error:
            used = {*names, *self._there} & {view.name for view in TABLES}
            if found := damaged_files(self.tables, used):
                raise CollectionDamaged(f"{found[0]} is damaged", hint=repair_hint(found[0])) from error
            if found := self.kept.damaged():
                hint = "run the same command again: it is computed again from the tables"
                raise CollectionDamaged(f"{found[0]} is damaged", hint=hint) from error
            raise

    def rows(self, sql: str, parameters: Sequence[object] | dict[str, object] = ()) -> list[dict[str, Any]]:
        """The same as values, for answers of few rows."""
        found: list[dict[str, Any]] = self.ask(sql, parameters).read_all().to_pylist()
        return found

    def select(self, sql: str) -> Answer:
        """The result of a user's query: one `select`, which may read the collection and nothing else.

        Any other kind of statement is refused (`copy`, `attach`, `install`, `set`, `pragma` write, load or unlock).
        Then the database is locked: from here on it opens no file but those of the tables, and its settings stay.
        """
        self._admit(sql)
        with _as_usage_errors(sql), self._noticing_damage():
            batches = self._run(sql, ())
        return Answer(batches.schema.names, self._rows_of(batches))

    def first(self, sql: str, count: int) -> Answer:
        """The same for the first few rows: without Arrow, if their types allow it, which takes long to load."""
        self._admit(sql)
        with _as_usage_errors(sql), self._noticing_damage():
            found = self.database.sql(sql)
            if not all(_PLAIN.fullmatch(str(kind)) for kind in found.types):
                return self.select(sql)
            return Answer(found.columns, iter(self.database.execute(sql).fetchmany(count)))

    def _rows_of(self, batches: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
        """The rows of a user's query, a few of them in memory at a time."""
        with _as_usage_errors(), self._noticing_damage():
            for batch in batches:
                yield from zip(*[column.to_pylist() for column in batch.columns], strict=True)

    def relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Like `select`, but returns a DuckDB relation, which is valid until this is closed."""
        self._admit(sql)
        with _as_usage_errors(sql), self._noticing_damage():
            return self.database.sql(sql)

    def _admit(self, sql: str) -> None:
        """Check that it is one query, create the tables it uses, and lock the database."""
        with _as_usage_errors(sql):
            statements = self.database.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError(
                "a query must be one statement that only reads: select ..., describe ..., summarize ...",
                hint="to keep the result, write it to a file: periplus query DIR --csv 'select ...' > answer.csv",
            )
        self._check_names(sql)
        self.prepare(sql)
        self._lock()

    def _check_names(self, sql: str) -> None:
        """Refuse functions and tables of the database that show more than the collection, such as its settings."""
        with _as_usage_errors(sql):
            parsed = self.database.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()[0][0]
        try:
            waiting: list[Any] = [msgspec.json.decode(parsed)]
        except RecursionError as error:
            raise UsageError("the query is nested too deeply", hint="take it apart with `with`") from error
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict):
                if (refused := _refused_name(node)) is not None:
                    raise UsageError(
                        f"a query reads the collection only: {refused} is not allowed",
                        hint=f"`show tables` lists what there is; besides that: {', '.join(sorted(_TABLE_FUNCTIONS))}",
                    )
                waiting += node.values()
            elif isinstance(node, list):
                waiting += node

    def _run(self, sql: str, parameters: Sequence[object] | dict[str, object]) -> pa.RecordBatchReader:
        from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made

        return self.database.sql(sql, params=parameters or None).to_arrow_reader(_ROWS_AT_ONCE)

    def _lock(self) -> None:
        if self._is_locked:
            return
        places = (self.tables, self.folder / "insight", self.kept.folder, self.scratch)
        quoted = ", ".join(_quoted(str(place.resolve())) for place in places)
        self.database.execute(f"set allowed_directories = [{quoted}]")
        self.database.execute("set enable_external_access = false")
        self.database.execute("set lock_configuration = true")
        self._is_locked = True

    # putting in place

    def prepare(self, sql: str) -> None:
        """Create every table and view that is named in some SQL, and those they depend on."""
        for name in names_in(sql):
            self._put(name)

    def _put(self, name: str) -> None:
        if name in self._there:
            return
        view = VIEWS[name]
        if view in TABLES:
            self._put_table(name)
        elif view in MADE:
            self._put_made()
        elif view in (ITEMS, ITEM_VERSIONS):
            self._put("fetches")
            self.database.execute(f"create or replace view {name} as {self._items_sql(is_latest=view is ITEMS)}")
        elif view is ENTITIES:
            self._put_entities()
        else:
            self.prepare(view.sql)
            self.database.execute(f'create or replace view "{name}" as {view.sql}')
        self._there.add(name)

    def _put_table(self, name: str) -> None:
        """The Parquet files of a table and, for a crawl that runs or was killed, the rows that are in none yet."""
        files = [str(path) for path in self._files_of(self.tables, name, self.spooled)]
        columns = ", ".join(f'null::{_SQL[kind]} as "{column}"' for column, kind in columns_of(ROWS[name]).items())
        parts = [f"select {columns} where false"]  # the columns, which older files may lack
        if waiting := count_spooled(name, self.spooled):
            from periplus.store.tables.reader import read_spooled, write_spooled  # loads Arrow

            if waiting > self.settings.max_spooled_rows:
                files.append(str(write_spooled(name, self.spooled, self.scratch / f"{name}.parquet")))
            else:
                self.database.register(f"spooled_{name}", read_spooled(name, self.spooled))
                parts.append(f"select * from spooled_{name}")
        if name == "verdicts":
            files += map(str, files_of_judges(self.folder))
        if files:
            listed = ", ".join(_quoted(file) for file in files)
            parts.append(f"select * from read_parquet([{listed}], union_by_name = true)")
        rows = " union all by name ".join(parts)
        if name == "changes":  # of several rows of one comparison, the one with the lowest level is right
            rows = (
                f"with every as ({rows}) select * from every where not ("
                "level = 'major' and (url, seen_at) in (select (url, seen_at) from every where level = 'minor')"
                " or level in ('elsewhere', 'minor', 'major')"
                " and (url, seen_at) in (select (url, seen_at) from every where level = 'template'))"
            )
        if name in TIMES and self._has_outages:
            self._put("outages")
            rows = _without_outages(name, rows)
        try:
            with self._noticing_damage((name,)):
                self.database.execute(f'create or replace view "{name}" as {rows}')
        except duckdb.Error as error:
            hint = repair_hint(self.tables)
            raise CollectionDamaged(f"the table {name} cannot be read: {error}", hint=hint) from error

    @property
    def _has_outages(self) -> bool:
        return bool(self._files_of(self.tables, "outages", self.spooled) or count_spooled("outages", self.spooled))

    def _items_sql(self, *, is_latest: bool) -> str:
        """The items with their fields as columns, whose types are those that all items have in common."""
        from periplus.store.items import item_files  # loads Arrow

        files = ", ".join(_quoted(str(path)) for path in item_files(self.tables))
        if not files:
            no_time = "null::timestamptz as vanished_at"
            return f"select ''::varchar as url, now() as fetched_at, now() as extracted_at, {no_time} where false"
        rows = f"read_parquet([{files}])"
        with self._noticing_damage():
            found = self.database.sql(f"select json_group_structure(item::json) from {rows}").fetchall()
        structure = str(found[0][0])
        fields = f", unnest(from_json(item, {_quoted(structure)}))" if structure.startswith("{") else ""
        if is_latest:
            last = "rank() over (partition by url order by fetched_at desc, extracted_at desc) = 1"
            rows = f"(select * from {rows} qualify {last})"
        return (
            f"select url, fetched_at, extracted_at, vanished_at{fields} from {rows} as extracted"
            f" left join ({_VANISHED}) as vanished using (url) where item is not null"
        )

    def _put_entities(self) -> None:
        from ..entities import update_entities

        kept = self.kept.path(ENTITIES.name)
        if not kept.exists():
            self._print("reading the structured data of all pages (kept; later only new pages are read)")
        try:
            file = update_entities(self.folder, kept, self.spooled)
        except PermissionError:  # an archive that cannot be written
            file = update_entities(self.folder, self.scratch / kept.name, self.spooled)
        rows = f"select * from read_parquet({_quoted(str(file))}) where syntax is not null"
        self.database.execute(f"create or replace view entities as {rows}")

    def _put_made(self) -> None:
        if not self.kept.is_current:
            from .making import make  # knows this class, and loads Arrow

            self._print("computing PageRank, near-duplicates and the table of URLs (kept until the tables grow)")
            make(self)
        for view in MADE:
            self._there.add(view.name)
            path = _quoted(str(self.kept.path(view.name)))
            with self._noticing_damage():
                self.database.execute(f'create or replace view "{view.name}" as select * from read_parquet({path})')


_VANISHED: Final = """\
select url, min(ended_at) as vanished_at from fetches
join (
    select url, max(ended_at) as seen_at from fetches
    where purpose = 'page' and (outcome = 'not-modified' or status between 200 and 299) group by url
) using (url)
where purpose = 'page' and (outcome = 'redirected' or status in (404, 410) or reason = 'robots') and ended_at > seen_at
group by url"""
"""Since when pages are gone that were there, as `apps.changes` defines it."""


_DOWN: Final = """exists (from (
    select site, since, coalesce(max(until), 'infinity'::timestamptz) as until
    from outages group by site, since) as down
    where down.site = every.site and every.{at} >= since and every.{at} < until)"""
"""Whether the site of a row was down. An outage has one row for its beginning and one for its end."""


def _without_outages(table: str, rows: str) -> str:
    """Rows of a table without what outages show, as `store.tables.outages` has it."""
    is_down = _DOWN.format(at=TIMES[table])
    if table != "fetches":
        return f"select * from ({rows}) as every where not {is_down}"
    probes = f"case when purpose = 'page' and {is_down} then 'probe' else purpose end"
    return f"select * replace ({probes} as purpose) from ({rows}) as every"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _refused_name(node: dict[str, Any]) -> str | None:
    """The function or table that a part of a parsed query must not name."""
    name = str(node.get("function_name") or "").lower()
    if node.get("type") == "TABLE_FUNCTION":
        source = str(node["function"]["function_name"])
        return None if source.lower() in _TABLE_FUNCTIONS else source
    if name in _SHOW_PLACES:
        return name
    table, schema = str(node.get("table_name") or "").lower(), str(node.get("schema_name") or "").lower()
    is_system = table.startswith(_SYSTEM_TABLES) or (schema, table) == ("information_schema", "views")
    return table if is_system else None


@contextmanager
def _as_usage_errors(sql: str = "") -> Iterator[None]:
    """The error in a user's query, as DuckDB reports it."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        message, near = str(error).strip(), ""
        unknown = _UNKNOWN.search(message)
        if unknown is not None:
            close = get_close_matches(unknown[1].lower(), VIEWS, 1)
            message, near = f"there is nothing of the name {unknown[1]}", f"perhaps {close[0]}: " if close else ""
        known = [name for name in _FROM.findall(sql.lower()) if name in VIEWS] or ["urls"]
        hint = (
            f"{near}periplus query DIR lists what can be asked; periplus query DIR 'describe {known[0]}' lists columns"
        )
        raise UsageError(message, hint=hint) from error

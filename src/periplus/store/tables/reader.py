"""The tables as they were written: the Parquet files of all shards and, of a crawl that was killed, its spools.

A collection that came to rest is Parquet alone, and any tool reads it: `read_parquet('tables/fetches/*.parquet')`. Of
one that was killed, some rows are still in the spools, and some Parquet files may be newer than the state that was
committed; a `Spooled` for each shard says which, and `files` which files there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from periplus.lazy_exports import LazyModule
from periplus.model import CollectionDamaged
from periplus.model.rows import ColumnType, TableRow, columns_of

from ..folders import repair_hint
from .columns import widened
from .files import count_spooled, intact_files_of, places_of, spool_path
from .manifest import Spooled, TableFile, finished_file
from .outages import TIMES, Downtimes
from .schemas import SCHEMAS
from .spool import read_spool, whole_batches
from .table import ParquetFile

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = LazyModule("pyarrow.parquet")

R = TypeVar("R", bound=TableRow)


def scan(
    folder: Path, table: str, *, spooled: Sequence[Spooled] = (), columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Every row of a table, a batch at a time, in the order of shards and of writing; without what outages show."""
    chosen = list(columns) if columns is not None else SCHEMAS[table].names
    if table in TIMES and (downtimes := Downtimes(scan(folder, "outages", spooled=spooled))):
        wanted = list(dict.fromkeys([*chosen, "site", TIMES[table], *(["purpose"] if table == "fetches" else [])]))
        for batch in _written(folder, table, spooled, wanted):
            yield downtimes.apply(table, batch).select(chosen)
    else:
        yield from _written(folder, table, spooled, chosen)


def _written(folder: Path, table: str, spooled: Sequence[Spooled], chosen: list[str]) -> Iterator[pa.RecordBatch]:
    """Every row of a table as it was written."""
    for path in intact_files_of(folder, table, spooled):
        yield from scan_file(path, chosen, SCHEMAS[table])
    yield from scan_spools(table, spooled, chosen)


def scan_spools(
    table: str, spooled: Sequence[Spooled], columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a table that are committed and not in a Parquet file yet."""
    chosen = list(columns) if columns is not None else SCHEMAS[table].names
    for shard in spooled:
        place = places_of(shard.mark)[table]
        for batch, _ in read_spool(spool_path(shard.folder, table, place.number), 0, place.length):
            yield widened(batch, SCHEMAS[table]).select(chosen)


def scan_file(path: Path, columns: Sequence[str], schema: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    """Every row of one Parquet file, a batch at a time. With a schema, columns that are not in it are null."""
    with parquet_of(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        if schema is None or file.schema_arrow.names == schema.names:
            yield from file.iter_batches(columns=list(columns))
            return
        wanted = pa.schema([schema.field(name) for name in columns])
        there = [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=there):
            yield widened(batch, wanted)


@contextmanager
def parquet_of(path: Path) -> Iterator[None]:
    """Report what Arrow cannot read as damage; errors of the system (with an errno) stay."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CollectionDamaged(f"{path} is damaged: {error}", hint=repair_hint(path)) from error


def read(
    folder: Path, table: str, *, spooled: Sequence[Spooled] = (), columns: Sequence[str] | None = None
) -> pa.Table:
    """A whole table, in memory."""
    schema = SCHEMAS[table]
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(scan(folder, table, spooled=spooled, columns=columns), schema).unify_dictionaries()


def rows_of(row: type[R], batch: pa.RecordBatch) -> list[R]:
    """The rows of a batch with all columns of a table, as they were given to be written; times are POSIX seconds."""
    columns = [
        _seconds(batch[name]) if kind is ColumnType.MOMENT else batch[name].to_pylist()
        for name, kind in columns_of(row).items()
    ]
    return [row(*values) for values in zip(*columns, strict=True)]


def _seconds(column: pa.Array) -> list[float | None]:
    return [None if micros is None else micros / 1e6 for micros in column.cast(pa.int64()).to_pylist()]


def read_spooled(table: str, spooled: Sequence[Spooled], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a table that are in no Parquet file yet, or some columns of them, in memory."""
    schema = SCHEMAS[table] if columns is None else pa.schema([SCHEMAS[table].field(name) for name in columns])
    return pa.Table.from_batches(scan_spools(table, spooled, columns), schema).unify_dictionaries()


def write_spooled(table: str, spooled: Sequence[Spooled], path: Path) -> Path:
    """Copy the rows of a table that are in no Parquet file yet to one, a batch at a time."""
    with pq.ParquetWriter(path, SCHEMAS[table], compression="lz4") as writer:
        for batch in scan_spools(table, spooled):
            writer.write_batch(batch)
    return path


def count_rows(folder: Path, table: str, *, spooled: Sequence[Spooled] = ()) -> int:
    """How many rows a table has, without reading them."""
    return sum(_rows_in(path) for path in intact_files_of(folder, table, spooled)) + count_spooled(table, spooled)


def _rows_in(path: Path) -> int:
    with parquet_of(path):
        return int(pq.read_metadata(path).num_rows)


_ROWS_PER_GROUP: Final = 100_000
"""Rows of a row group: the default of `TableSettings`."""


def whole_groups(path: Path, table: str) -> Iterator[pa.Table]:
    """The complete row groups of a file, in order; none if it is missing or its footer cannot be read."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError):
        return
    with file:
        for number in range(file.num_row_groups):
            try:
                group = _whole(file.read_row_group(number), SCHEMAS[table])
                group.validate(full=True)
            except (pa.ArrowException, OSError, ValueError, KeyError):
                continue
            yield group


def _whole(group: pa.Table, schema: pa.Schema) -> pa.Table:
    """A row group with all columns of its table; those that were added later are null."""
    return pa.Table.from_batches([widened(batch, schema) for batch in group.to_batches()], schema)


def is_readable(path: Path, table: str) -> bool:
    """Whether every row of a file can be read, by its checksums."""
    try:
        rows = pq.read_metadata(path).num_rows
    except (pa.ArrowException, OSError):
        return False
    return bool(rows == sum(group.num_rows for group in whole_groups(path, table)))


def replace_damaged(damaged: Path, path: Path, table: str, *, spool: Path, rows: int | None) -> TableFile:
    """Write a new file of what can be saved of a damaged one that was set aside; maybe without rows.

    The spool that it was made from may still be there: if that has the `rows` that were written, nothing is lost.
    """
    path.parent.mkdir(exist_ok=True)  # the whole folder of a table may be lost
    file = ParquetFile(path, SCHEMAS[table])
    length, spooled = whole_batches(spool)
    is_spooled = rows is not None and spooled == rows > 0
    groups = _spooled_groups(spool, length) if is_spooled else _batches(damaged, table)
    for group in groups:
        file.write(group)
    file.finish()
    return finished_file(path, file.rows)


def _batches(damaged: Path, table: str) -> Iterator[list[pa.RecordBatch]]:
    return (group.to_batches() for group in whole_groups(damaged, table) if group.num_rows)


def _spooled_groups(spool: Path, length: int) -> Iterator[list[pa.RecordBatch]]:
    """The batches of a spool, as many at a time as make a row group."""
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch, _ in read_spool(spool, 0, length):
        group.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_PER_GROUP:
            yield group
            group, rows = [], 0
    if group:
        yield group

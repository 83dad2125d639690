"""The tables as they were written: the Parquet files of all shards and, of a crawl that was killed, its spools.

A collection that came to rest is Parquet alone, and any tool reads it: `read_parquet('tables/fetches/*.parquet')`. Of
one that was killed, some rows are still in the spools, and some Parquet files may be newer than the state that was
committed; a `Spooled` for each shard says which. Which files there must be is in the manifests (`manifest`): every
reader goes through `files_of`, which compares names and sizes with them, or through `intact_files_of`, which compares
digests, too, before rows are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from periplus.lazy_exports import LazyModule
from periplus.model import CollectionDamaged
from periplus.model.rows import ColumnType, TableRow, columns_of

from ..folders import repair_hint
from .columns import widened
from .manifest import (
    Spooled,
    TableFile,
    TableFiles,
    check_size,
    finished_file,
    is_intact,
    listing_shards,
    read_manifest,
    unlisted,
)
from .schemas import SCHEMAS
from .spool import read_spool, whole_batches
from .table import ParquetFile, number_of, parquet_path, shard_of, spool_path
from .verifying import verify
from .writer import places_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = LazyModule("pyarrow.parquet")

R = TypeVar("R", bound=TableRow)


def scan(
    folder: Path, table: str, *, spooled: Sequence[Spooled] = (), columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Every row of a table, a batch at a time, in the order of shards and of writing."""
    chosen = list(columns) if columns is not None else SCHEMAS[table].names
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


def count_spooled(table: str, spooled: Sequence[Spooled]) -> int:
    """How many rows of a table are in no Parquet file yet."""
    return sum(places_of(shard.mark)[table].rows for shard in spooled)


def count_rows(folder: Path, table: str, *, spooled: Sequence[Spooled] = ()) -> int:
    """How many rows a table has, without reading them."""
    return sum(_rows_in(path) for path in intact_files_of(folder, table, spooled)) + count_spooled(table, spooled)


def _rows_in(path: Path) -> int:
    with parquet_of(path):
        return int(pq.read_metadata(path).num_rows)


def files_of(folder: Path, table: str, spooled: Sequence[Spooled] = ()) -> list[Path]:
    """The Parquet files of a table, without those that a shard wrote after its last commit.

    Every file that was finished must be there, as long as it was: else `CollectionDamaged` names it.
    """
    return list(_files(folder, table, spooled))


def intact_files_of(folder: Path, table: str, spooled: Sequence[Spooled] = ()) -> list[Path]:
    """The same files, each with the bytes that were written: else `CollectionDamaged` names it.

    A file that has not changed since it was last verified is not read again.
    """
    found = _files(folder, table, spooled)
    verify(folder, {path: file for path, file in found.items() if file is not None})
    return list(found)


def _files(folder: Path, table: str, spooled: Sequence[Spooled]) -> dict[Path, TableFile | None]:
    """The files of a table, each with what is listed of it; `None` where a shard has no list."""
    ends = {shard.shard: places_of(shard.mark)[table].number for shard in spooled}
    present = sorted((folder / table).glob("[0-9]*.parquet"))
    found: dict[Path, TableFile | None] = {}
    for shard in sorted({*ends, *listing_shards(folder), *map(shard_of, present)}):
        listed = read_manifest(folder, shard)
        if listed is None and ends.get(shard, 1) == 1:
            found |= dict.fromkeys(path for path in present if shard_of(path) == shard and shard not in ends)
        else:
            found |= _listed(folder, table, shard, listed or {}, ends.get(shard))
    return found


def _listed(folder: Path, table: str, shard: int, listed: TableFiles, end: int | None) -> dict[Path, TableFile]:
    """The files of a shard up to a number, all of them there; all that are listed where the number is not known."""
    if end is None:
        end = 1 + max((number_of(Path(path)) for path in listed if path.startswith(f"{table}/")), default=0)
    paths = [parquet_path(folder / table, shard, number) for number in range(1, end)]
    found = {}
    for path in paths:
        expected = listed.get(f"{table}/{path.name}")
        if expected is None:
            raise unlisted(folder, path, shard)
        check_size(path, expected)
        found[path] = expected
    return found


def damaged_files(folder: Path, tables: Iterable[str] = tuple(SCHEMAS)) -> list[Path]:
    """The finished files of these tables whose bytes differ from what was written. Reads all of them."""
    wanted = set(tables)
    return [
        folder / path
        for shard in listing_shards(folder)
        for path, expected in (read_manifest(folder, shard) or {}).items()
        if path.partition("/")[0] in wanted and not is_intact(folder / path, expected)
    ]


def check_digests(folder: Path, tables: Iterable[str]) -> None:
    """Raise `CollectionDamaged` if a finished file of these tables has not the bytes that were written."""
    for path in damaged_files(folder, tables):
        raise CollectionDamaged(f"{path} is damaged", hint=repair_hint(path))


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

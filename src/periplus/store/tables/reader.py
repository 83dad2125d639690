"""The tables as they were written: the Parquet files of all shards and, of a crawl that was killed, its spools.

A collection that came to rest is Parquet alone, and any tool reads it: `read_parquet('tables/fetches/*.parquet')`. Of
one that was killed, some rows are still in the spools, and some Parquet files may be newer than the state that was
committed; a `Spooled` for each shard tells which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from periplus.model import CollectionDamaged

from .schemas import SCHEMAS
from .spool import read_spool
from .table import number_of, shard_of, spool_path
from .writer import places_of


class Spooled(Struct, frozen=True):
    """Where a shard keeps its spools, and the mark that it committed last."""

    shard: int
    folder: Path
    mark: bytes | None


def scan(
    folder: Path, table: str, *, spooled: Sequence[Spooled] = (), columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Every row of a table, a batch at a time, in the order of shards and of writing."""
    chosen = list(columns) if columns is not None else SCHEMAS[table].names
    for path in files_of(folder, table, spooled):
        yield from scan_file(path, chosen)
    for shard in spooled:
        place = places_of(shard.mark)[table]
        for batch, _ in read_spool(spool_path(shard.folder, table, place.number), 0, place.length):
            yield batch.select(chosen)


def scan_file(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Every row of one Parquet file, a batch at a time."""
    with parquet_of(path), pq.ParquetFile(path) as file:
        yield from file.iter_batches(columns=list(columns))


@contextmanager
def parquet_of(path: Path) -> Iterator[None]:
    """What Arrow says of a file that is damaged, in our words. What the system says of it (an errno) stays."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CollectionDamaged(f"{path} is no whole Parquet file", hint="restore it, or remove it") from error


def read(
    folder: Path, table: str, *, spooled: Sequence[Spooled] = (), columns: Sequence[str] | None = None
) -> pa.Table:
    """A whole table, in memory."""
    schema = SCHEMAS[table]
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(scan(folder, table, spooled=spooled, columns=columns), schema).unify_dictionaries()


def count_rows(folder: Path, table: str, *, spooled: Sequence[Spooled] = ()) -> int:
    """How many rows a table has, without reading them."""
    in_files = sum(_rows_in(path) for path in files_of(folder, table, spooled))
    return in_files + sum(places_of(shard.mark)[table].rows for shard in spooled)


def _rows_in(path: Path) -> int:
    with parquet_of(path):
        return int(pq.read_metadata(path).num_rows)


def files_of(folder: Path, table: str, spooled: Sequence[Spooled] = ()) -> list[Path]:
    """The Parquet files of a table, without those that a shard wrote after its last commit."""
    ends = {shard.shard: places_of(shard.mark)[table].number for shard in spooled}
    paths = sorted((folder / table).glob("[0-9]*.parquet"))
    return [path for path in paths if shard_of(path) not in ends or number_of(path) < ends[shard_of(path)]]

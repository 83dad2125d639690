"""Follows a table while its shards write it: the rows committed since a position, in the order of writing.

A position is a file number and a number of rows in it. It stays valid while rows move from the spool to the Parquet
file of the same number, because both hold the same rows in the same order. Only committed rows are returned, so a row
is never returned by one process and then undone by a crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from msgspec import Struct

from periplus.model import CollectionDamaged

from .files import Place, parquet_path, places_of, spool_path
from .manifest import Spooled
from .reader import scan_file
from .spool import read_spool


class Position(Struct, frozen=True, array_like=True, order=True):
    """How far a table of one shard was read: `rows` rows of file `number`, and all of the files before it."""

    number: int = 1
    rows: int = 0


class Tail:
    """Reads a table as it grows. It remembers how far each spool was read, so no row is decoded twice."""

    def __init__(self, tables: Path, table: str, columns: Sequence[str]) -> None:
        self._folder = tables / table
        self._table = table
        self._columns = list(columns)
        self._offsets: dict[int, tuple[Position, int]] = {}

    def read(self, shard: Spooled, since: Position) -> Iterator[tuple[pa.RecordBatch, Position]]:
        """The committed rows of a shard after a position; each batch with the position of its first row."""
        place = places_of(shard.mark)[self._table]
        for number in range(since.number, place.number):
            yield from self._from_parquet(shard.shard, number, since.rows if number == since.number else 0)
        done = since.rows if since.number == place.number else 0
        if since.number <= place.number and done < place.rows:
            yield from self._from_spool(shard, place, done)

    def _from_parquet(
        self, shard: int, number: int, done: int, end: int | None = None
    ) -> Iterator[tuple[pa.RecordBatch, Position]]:
        """The rows of a finished file from `done` on, and before `end`."""
        first = 0
        for batch in scan_file(parquet_path(self._folder, shard, number), self._columns):
            if end is not None:
                batch = batch.slice(0, max(end - first, 0))
            start, first = max(done - first, 0), first + batch.num_rows
            if start < batch.num_rows:
                rest = batch.slice(start)
                yield rest, Position(number, first - rest.num_rows)

    def _from_spool(self, shard: Spooled, place: Place, done: int) -> Iterator[tuple[pa.RecordBatch, Position]]:
        """The rows of a spool from `done` on. If it became a Parquet file in the meantime, that is read instead."""
        path = spool_path(shard.folder, self._table, place.number)
        known, offset = self._offsets.get(shard.shard, (Position(), 0))
        if known.number != place.number or known.rows > done:
            known, offset = Position(place.number), 0
        first = known.rows
        try:
            for batch, end in read_spool(path, offset, place.length):
                start, first = max(done - first, 0), first + batch.num_rows
                if start < batch.num_rows:
                    rest = batch.slice(start).select(self._columns)
                    yield rest, Position(place.number, first - rest.num_rows)
                    done = first
                self._offsets[shard.shard] = Position(place.number, first), end
        except CollectionDamaged:
            if path.exists() or not parquet_path(self._folder, shard.shard, place.number).exists():
                raise
            yield from self._from_parquet(shard.shard, place.number, done, place.rows)


def end_of(shard: Spooled, table: str) -> Position:
    """The position after the last committed row of a shard."""
    place = places_of(shard.mark)[table]
    return Position(place.number, place.rows)

"""Writes one table of one shard: a spool that grows, and the Parquet file that it becomes.

Spool number n becomes Parquet file number n. Row groups are written as soon as the spool has enough rows for one, so
that no checkpoint has much to do; when enough of them are in the file, it is finished and spool n + 1 begins. The old
spool stays until the caller has committed a mark that does not need it.

A `Place` is how far the table had come: all Parquet files before `number` are complete, and spool `number` holds `rows`
rows in `length` bytes. When the table is opened at a committed place, everything beyond it is removed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from periplus.lazy_exports import LazyModule

from ..durable import replace_file
from ..settings import TableSettings
from .columns import widened
from .files import SPOOL, Place, number_of, parquet_path, spool_path
from .manifest import TableFiles, finished_file
from .schemas import SCHEMAS
from .spool import Spool, read_spool

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = LazyModule("pyarrow.parquet")

_RANDOM = frozenset({"sketch", "raw_digest", "text_digest", "main_digest", "links_digest"})
_VARIED = frozenset({"anchor", "digest", "text", "main_text", "markdown"})
_PACKED = frozenset({"sitemap_entries"})
"""Tables whose spool is compressed."""


class ParquetFile:
    """Write row groups, then `finish`: only then is there a file of that name; until then its name is hidden.

    The codec is zstd level 1: level 3 takes a fifth longer for 7 % less. Minima and maxima are kept for times and
    numbers only: for strings they cost as much as writing the column and never let a reader skip anything, since a
    crawl's URLs come in no order. Texts that hardly repeat get no dictionary, and digests and sketches, whose bits are
    nearly random, are not compressed. Pages carry checksums, which our own readers verify.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self._hidden = hidden(path)
        self._sink = pa.OSFile(str(self._hidden), "wb")
        self._writer = pq.ParquetWriter(
            self._sink,
            schema,
            compression={name: "none" if name in _RANDOM else "zstd" for name in schema.names},
            compression_level={name: 1 for name in schema.names if name not in _RANDOM},
            use_dictionary=[name for name in schema.names if name not in _RANDOM | _VARIED],
            write_statistics=[field.name for field in schema if _is_ordered(field.type)],
            write_page_checksum=True,
        )
        self._schema = schema
        self.rows = 0

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Write one row group. Its dictionaries are unified, or the writer would drop them at the second batch."""
        table = pa.Table.from_batches([widened(batch, self._schema) for batch in batches]).unify_dictionaries()
        self._writer.write_table(table, row_group_size=table.num_rows)
        self.rows += table.num_rows

    def finish(self) -> None:
        """Make the file durable, then known by its name, then the name durable."""
        self._writer.close()
        self._sink.close()
        replace_file(self._hidden, self.path)

    def abandon(self) -> None:
        """Remove what was begun: the spool still has every row of it."""
        with suppress(OSError):
            self._writer.close()
            self._sink.close()
        self._hidden.unlink(missing_ok=True)


def hidden(path: Path) -> Path:
    """The name of a file in the making. Readers of a folder pass over names that begin with a dot."""
    return path.with_name(f".{path.name}.part")


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_signed_integer(kind) or pa.types.is_floating(kind))


class Table:
    """One table. Opened at a place, it has exactly the rows that were there."""

    def __init__(self, name: str, folder: Path, spool: Path, settings: TableSettings, shard: int, place: Place) -> None:
        self._name = name
        self._folder = folder / name
        self._spool_folder = spool
        self._settings = settings
        self._shard = shard
        self._spent: list[Path] = []
        self._finished: TableFiles = {}
        self._folder.mkdir(parents=True, exist_ok=True)
        self._spool_folder.mkdir(parents=True, exist_ok=True)
        self._remove_all_but(place)
        self._begin(place)

    def _begin(self, place: Place) -> None:
        """Go on with a spool. Nothing of it is in its Parquet file yet."""
        self._number = place.number
        self._rows = place.rows
        path = spool_path(self._spool_folder, self._name, place.number)
        self._spool = Spool(path, place.length, is_packed=self._name in _PACKED)
        self._file: ParquetFile | None = None
        self._grouped_rows = 0
        self._grouped_length = 0
        self._waiting = place.length
        """Bytes in memory of the rows that are in no row group; for rows of an earlier process, a lower bound."""

    @property
    def place(self) -> Place:
        """The current position."""
        return Place(self._number, self._spool.length, self._rows)

    def append(self, batch: pa.RecordBatch) -> None:
        """Add rows, durable after the next `advance`. What is enough for a row group becomes one at once.

        So neither the work of an `advance` nor what it maps of the spool grows with what was added before it.
        """
        self._spool.append(batch)
        self._rows += batch.num_rows
        self._waiting += batch.nbytes
        self._write_full_groups()

    def advance(self, *, everything: bool = False) -> Place:
        """Make all rows durable, move full row groups (or everything) to Parquet, and return the position.

        Everything is at least one file, even without rows: most readers do not accept a folder without files.
        """
        self._spool.sync()
        self._write_full_groups()
        settings = self._settings
        is_full = self._grouped_rows >= settings.rows_per_file or self._grouped_length >= settings.bytes_per_file
        if is_full or (everything and (self._rows or self._number == 1)):
            self._write_groups(everything=True)
            self._finish()
        return self.place

    def take_finished(self) -> TableFiles:
        """The Parquet files finished since the last call."""
        finished, self._finished = self._finished, {}
        return finished

    def forget(self, place: Place) -> None:
        """Remove the spools before this place: no recovery will read them again."""
        while self._spent and number_of(self._spent[0]) < place.number:
            self._spent.pop(0).unlink()

    def close(self) -> None:
        """Let go. What was not advanced may be lost."""
        if self._file:
            self._file.abandon()
            self._file = None
        self._spool.close()

    def _write_full_groups(self) -> None:
        settings = self._settings
        if self._rows - self._grouped_rows >= settings.rows_per_group or self._waiting >= settings.bytes_per_group:
            self._write_groups()

    def _write_groups(self, *, everything: bool = False) -> None:
        """Move row groups from the spool to the Parquet file, one in memory at a time."""
        settings = self._settings
        group: list[pa.RecordBatch] = []
        rows, size, end = 0, 0, self._grouped_length
        for batch, end in read_spool(self._spool.path, self._grouped_length, self._spool.length):
            group.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= settings.rows_per_group or size >= settings.bytes_per_group:
                self._write(group, rows, end)
                group, rows, size = [], 0, 0
        self._waiting = size
        if everything and group:
            self._write(group, rows, end)

    def _write(self, group: list[pa.RecordBatch], rows: int, end: int) -> None:
        self._opened().write(group)
        self._grouped_rows += rows
        self._grouped_length = end

    def _opened(self) -> ParquetFile:
        if self._file is None:
            self._file = ParquetFile(parquet_path(self._folder, self._shard, self._number), SCHEMAS[self._name])
        return self._file

    def _finish(self) -> None:
        """The Parquet file is whole. Its spool stays: the place committed last may still need it."""
        file = self._opened()
        file.finish()
        self._finished[f"{self._name}/{file.path.name}"] = finished_file(file.path, file.rows)
        self._spool.close()
        self._spent.append(self._spool.path)
        self._begin(Place(self._number + 1))

    def _remove_all_but(self, place: Place) -> None:
        """Remove what lies beyond the place; rows before it in spools are in Parquet."""
        for path in self._spool_folder.glob(f"{self._name}-*{SPOOL}"):
            if number_of(path) != place.number:
                path.unlink()
        for path in self._folder.glob(f".{self._shard:02d}-*"):
            path.unlink()
        for path in self._folder.glob(f"{self._shard:02d}-*.parquet"):
            if number_of(path) >= place.number:
                path.unlink()

"""The tables of one shard, written so that a crash at any moment loses no row that was committed and doubles none.

`checkpoint` makes the rows of what was recorded durable in the spools; when a spool has enough of them they move on to
Parquet. It returns a mark, a few bytes that say how far everything has come. The caller commits the mark together with
its own state, and gives the last committed one when it opens the tables again: what was written after it is removed,
and will be written again by the work that is done again. That is all it takes for exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa

from periplus.model import CollectionDamaged, CollectionError, Event

from ..folders import repair_hint
from ..settings import TableSettings
from .files import Place, Places, number_of, parquet_path, places_of, spool_path
from .manifest import TableFiles, check_size, manifest_path, read_manifest, unlisted, write_manifest
from .rows import RowBuffer
from .schemas import SCHEMAS
from .spool import whole_batches
from .table import Table

_HINT = "make room on the disk, then crawl again: the crawl goes on from its last commit"


class Tables:
    """An `EventSink` that writes the tables of one shard.

    `folder` holds a folder for each table, with the Parquet files of all shards; `spool` belongs to this shard alone.
    `suffixes` are further public suffixes, for columns with a domain.
    """

    def __init__(
        self,
        folder: Path,
        spool: Path,
        settings: TableSettings | None = None,
        *,
        shard: int,
        mark: bytes | None,
        suffixes: tuple[str, ...] = (),
    ) -> None:
        self._folder = folder
        self._shard = shard
        self._settings = settings or TableSettings()
        self._rows = RowBuffer(suffixes)
        self._places = places_of(mark)
        self._is_broken = False
        with self._writing(), ExitStack() as opened:
            self._files = _listed_at(folder, shard, self._places)
            self._tables = {
                name: opened.enter_context(closing(Table(name, folder, spool, self._settings, shard, place)))
                for name, place in self._places.items()
                if name in SCHEMAS
            }
            opened.pop_all()

    def record(self, events: Sequence[Event]) -> None:
        """Take note, in memory. Only when very much is waiting does it go to the spools before the next checkpoint."""
        self._rows.add(events)
        if self._rows.weight > self._settings.bytes_in_memory:
            with self._writing():
                self._spill()

    def append(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows of one table that are made already."""
        with self._writing():
            self._tables[table].append(batch)

    def checkpoint(self) -> bytes:
        """Make every row durable that was recorded; the answer is to be committed before this is called again.

        What the mark of the call before needs is on disk until then.
        """
        return self._advance(everything=False)

    def settle(self) -> bytes:
        """Like `checkpoint`, but write all rows to Parquet: for the end of a crawl."""
        return self._advance(everything=True)

    def close(self) -> None:
        """Let go, without a checkpoint."""
        for table in self._tables.values():
            table.close()

    def _advance(self, *, everything: bool) -> bytes:
        with self._writing():
            for name, table in self._tables.items():
                table.forget(self._places[name])
            self._spill()
            self._places |= {name: table.advance(everything=everything) for name, table in self._tables.items()}
            self._list_finished()
        pa.default_memory_pool().release_unused()  # until the next checkpoint nothing of it is needed
        return msgspec.msgpack.encode(self._places)

    def _list_finished(self) -> None:
        """List what was finished before the caller commits a mark that counts on it."""
        finished = {path: file for table in self._tables.values() for path, file in table.take_finished().items()}
        if finished:
            self._files |= finished
            write_manifest(self._folder, self._shard, self._files)

    def _spill(self) -> None:
        for name, batch in self._rows.take():
            self._tables[name].append(batch)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Translate disk errors into our exceptions.

        After one the length of the files is unknown, and nothing more is written.
        """
        if self._is_broken:
            raise CollectionError(f"the tables in {self._folder} could not be written before", hint=_HINT)
        self._is_broken = True
        try:
            yield
        except OSError as error:
            raise CollectionError(f"cannot write the tables in {self._folder}: {error}", hint=_HINT) from error
        self._is_broken = False


def _listed_at(folder: Path, shard: int, places: Places) -> TableFiles:
    """The files that a mark counts on, all of them there. What is listed beyond it is taken off the list."""
    listed = read_manifest(folder, shard) or {}
    for name, place in places.items():
        for number in range(1, place.number):
            path = parquet_path(folder / name, shard, number)
            if f"{name}/{path.name}" not in listed:
                raise unlisted(folder, path, shard)
            check_size(path, listed[f"{name}/{path.name}"])
    kept = {path: file for path, file in listed.items() if number_of(Path(path)) < _place(path, places).number}
    if len(kept) < len(listed):
        _check_newest(folder, shard, listed, places)
        write_manifest(folder, shard, kept)
    return kept


def _check_newest(folder: Path, shard: int, listed: TableFiles, places: Places) -> None:
    """A checkpoint finishes one file of a table at most: a list that is further ahead belongs to a later mark."""
    for path in listed:
        if number_of(Path(path)) > _place(path, places).number:
            listing = manifest_path(folder, shard)
            raise CollectionDamaged(
                f"{listing} lists {path}, which the state does not know of: the state is older than the tables",
                hint=repair_hint(listing),
            )


def _place(path: str, places: Places) -> Place:
    """The place of the table that a listed file belongs to."""
    return places.get(_table_of(path), Place())


def _table_of(path: str) -> str:
    return path.partition("/")[0]


def surviving_mark(folder: Path, spool: Path, shard: int) -> bytes:
    """A mark made from the files alone, for a shard whose state is lost: every row, once."""
    listed = read_manifest(folder, shard) or {}
    places: Places = {}
    for name in {**SCHEMAS, **{_table_of(path): None for path in listed}}:
        number = 1 + max((number_of(Path(path)) for path in listed if _table_of(path) == name), default=0)
        places[name] = Place(number, *whole_batches(spool_path(spool, name, number)))
    return msgspec.msgpack.encode(places)


def usable_mark(mark: bytes | None, spool: Path) -> bytes:
    """A mark without the rows that are damaged in the spools."""
    places = places_of(mark)
    for name, place in places.items():
        length, rows = whole_batches(spool_path(spool, name, place.number))
        if length < place.length:
            places[name] = Place(place.number, length, rows)
    return msgspec.msgpack.encode(places)

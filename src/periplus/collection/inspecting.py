"""Looks at every part of a collection and reports what is whole and what is not. Changes nothing.

| part | whole if |
|---|---|
| state of a shard | its seal fits, or (after a kill) every row can be read and the counts agree |
| tables | every finished file has the bytes that were written; spools hold what was committed |
| archive | every WARC file reads from end to end, as far as the state says that it goes |
| index | every CDXJ file says what its WARC file says |

A damaged LMDB file can end the process that reads it, so a state without a seal is read in a process of its own.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.engine.sharding.processes import start_fork_server
from periplus.model import CollectionDamaged, PeriplusError, Problem
from periplus.store import DiskState, WarcEnd, is_begun
from periplus.store.layout import Layout, ShardCommit
from periplus.store.state.files import DATA, SEAL, check_seal, was_begun
from periplus.store.tables import SCHEMAS
from periplus.store.tables.files import Places, number_of, parquet_path, places_of, shard_of, spool_path
from periplus.store.tables.manifest import TableFiles, is_intact, listing_shards, read_manifest
from periplus.store.tables.reader import is_readable
from periplus.store.tables.spool import whole_batches
from periplus.store.tables.writer import surviving_mark
from periplus.store.warc import INDEX, WarcRecord, read_records
from periplus.store.warc.answers import is_copied
from periplus.store.warc.archive import ORPHAN
from periplus.store.warc.cdxj import line_of
from periplus.store.warc.records import files_of, index_of, read_name, warc_files

STATE, TABLE, SPOOL, ARCHIVE, INDEXES = "state", "table", "spool", "archive", "index"
"""The kinds of parts."""

_UNREADABLE: Final = frozenset({"torn", "damaged", "not-a-record", "bad-length", "more-problems"})
"""Problems of a WARC file that mean that a record is lost."""
_MAX_BLOCK: Final = 128 << 20
"""Bytes of a record that are read: more than any crawl keeps of an answer."""
_MASK: Final = 2**64 - 1


class InspectedPart(Struct, frozen=True):
    """One part of a collection: its kind, its path below the collection, and what is wrong with it (empty: nothing)."""

    kind: str
    path: str
    problem: str = ""
    shard: int = 0


class Inspection(Struct, frozen=True):
    """What was found: every part, and how far each shard with a whole state had come."""

    parts: tuple[InspectedPart, ...]
    commits: dict[int, ShardCommit]

    @property
    def damaged(self) -> tuple[InspectedPart, ...]:
        """The parts that are not whole."""
        return tuple(part for part in self.parts if part.problem)

    def of(self, kind: str, shard: int | None = None) -> list[InspectedPart]:
        """The damaged parts of a kind."""
        return [part for part in self.damaged if part.kind == kind and shard in (None, part.shard)]


def inspect(layout: Layout, shards: int) -> Inspection:
    """Look at every part of a collection of `shards` shards."""
    states = [_state_part(layout, number) for number in range(shards)]
    lost = {part.shard for part in states if part.problem}
    commits = {
        commit.shard: commit
        for number in range(shards)
        if number not in lost and (commit := layout.commit_of(number)) is not None
    }
    parts = [*states, *_table_parts(layout, shards, commits), *_archive_parts(layout, commits)]
    return Inspection(tuple(parts), commits)


# states


def _state_part(layout: Layout, number: int) -> InspectedPart:
    folder = layout.shard(number)
    path = str(folder.relative_to(layout.folder))
    try:
        layout.check_begun(number)
        if not is_begun(folder):
            return InspectedPart(STATE, path, "", number)
        if (folder / SEAL).exists() and (folder / DATA).exists():
            check_seal(folder / DATA, is_reader=False)
        with closing(DiskState.read_only(folder, shard=number)):
            pass
    except CollectionDamaged as error:
        return InspectedPart(STATE, path, str(error), number)
    return InspectedPart(STATE, path, "" if (folder / SEAL).exists() else _deep_problem(folder), number)


def _deep_problem(folder: Path) -> str:
    """Read every row of a state that has no seal, in a process that may die of it."""
    context = multiprocessing.get_context("forkserver")
    start_fork_server(__name__)  # it imports this once for all states
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_read_all, args=(folder, sender))
    process.start()
    sender.close()
    try:
        problem = str(receiver.recv())
    except EOFError:
        problem = f"{folder / DATA} cannot be read to its end"
    process.join()
    return problem


def _read_all(folder: Path, sender: multiprocessing.connection.Connection) -> None:
    try:
        with closing(DiskState.read_only(folder)) as state:
            state.environment.verify()
            state.check_invariants()
        sender.send("")
    except (PeriplusError, msgspec.MsgspecError, ValueError, AssertionError) as error:
        sender.send(str(error) or type(error).__name__)


# tables


def _table_parts(layout: Layout, shards: int, commits: dict[int, ShardCommit]) -> Iterator[InspectedPart]:
    tables = layout.tables
    present = {shard_of(path) for path in tables.glob("*/[0-9]*.parquet")}
    for shard in sorted({*range(shards), *listing_shards(tables), *present}):
        files, problem = _listed(tables, shard)
        places = _places(layout, shard, commits, files)
        if any(place.number > 1 for place in places.values()):
            path = tables / f"manifest-{shard:02d}.json"
            yield InspectedPart(TABLE, str(path.relative_to(layout.folder)), problem, shard)
        for name in SCHEMAS:
            yield from _file_parts(layout, shard, name, places, files)
        if shard in commits:
            yield from _spool_parts(layout, shard, places)


def _listed(tables: Path, shard: int) -> tuple[TableFiles | None, str]:
    try:
        files = read_manifest(tables, shard)
    except CollectionDamaged as error:
        return None, str(error)
    return files, "" if files is not None else f"{tables}/manifest-{shard:02d}.json is missing"


def _places(layout: Layout, shard: int, commits: dict[int, ShardCommit], files: TableFiles | None) -> Places:
    """How far the tables of a shard go: by its state, else by its list, else by the files that are there."""
    if shard in commits:
        return places_of(commits[shard].tables)
    if files is not None:
        return places_of(surviving_mark(layout.tables, layout.spool(shard), shard))
    found = places_of(None)
    for path in layout.tables.glob(f"*/{shard:02d}-*.parquet"):
        name = path.parent.name
        if name in found:
            found[name] = msgspec.structs.replace(found[name], number=max(found[name].number, number_of(path) + 1))
    return found


def _file_parts(
    layout: Layout, shard: int, name: str, places: Places, files: TableFiles | None
) -> Iterator[InspectedPart]:
    for number in range(1, places[name].number):
        path = parquet_path(layout.tables / name, shard, number)
        expected = None if files is None else files.get(f"{name}/{path.name}")
        if not path.exists():
            problem = "is missing"
        elif expected is None:
            problem = "" if is_readable(path, name) else "cannot be read"
        else:
            problem = "" if is_intact(path, expected) else "has not the bytes that were written"
        yield InspectedPart(TABLE, str(path.relative_to(layout.folder)), problem, shard)


def _spool_parts(layout: Layout, shard: int, places: Places) -> Iterator[InspectedPart]:
    for name, place in places.items():
        path = spool_path(layout.spool(shard), name, place.number)
        length, rows = whole_batches(path)
        if length < place.length:
            problem = f"has {rows:,} of {place.rows:,} rows"
            yield InspectedPart(SPOOL, str(path.relative_to(layout.folder)), problem, shard)


# archive


def _archive_parts(layout: Layout, commits: dict[int, ShardCommit]) -> Iterator[InspectedPart]:
    warc = layout.warc
    if not warc.is_dir():
        yield from (
            InspectedPart(ARCHIVE, "warc", "is missing", shard) for shard in commits if _end(commits[shard]).file
        )
        return
    committed: list[Path] = []
    for path in warc_files(warc):
        name = read_name(path.name)
        shard = 0 if name is None else name.shard
        end = _end(commits[shard]) if shard in commits else WarcEnd()
        last = read_name(end.file)
        if shard in commits and (last is None or (name is not None and name.serial > last.serial)):
            continue  # begun by a process that was killed before its commit
        problem, is_indexed = _read_through(path, end.length if end.file == path.name else None)
        yield InspectedPart(ARCHIVE, f"warc/{path.name}", problem, shard)
        yield InspectedPart(
            INDEXES, f"warc/{index_of(path).name}", "" if is_indexed else "does not fit its WARC file", shard
        )
        committed.append(index_of(path))
    yield from _gaps(layout, commits)
    every = [index_of(path) for path in warc_files(warc)]
    if committed and not any(_is_merged(warc / INDEX, sources) for sources in (committed, every)):
        yield InspectedPart(INDEXES, f"warc/{INDEX}", "does not fit the other indexes")


def _end(commit: ShardCommit) -> WarcEnd:
    return commit.archive or WarcEnd()


def _read_through(path: Path, length: int | None) -> tuple[str, bool]:
    """What is wrong with a WARC file as far as it was committed, and whether its index agrees with it."""
    size = path.stat().st_size
    if length is not None and size < length:
        return f"has {size:,} bytes, and {length:,} were written", True
    lost, lines = 0, []
    for record in read_records(path, end=length, max_block=_MAX_BLOCK):
        if isinstance(record, Problem):
            lost += record.reason in _UNREADABLE
        elif isinstance(record, WarcRecord) and (line := line_of(record, path.name)) is not None:
            lines.append(line.encode())
    index = index_of(path)
    has_index = index.exists() and index.read_bytes() == b"".join(sorted(lines))
    is_open = length is not None and size > length  # of a crawl that was killed: its index is written at the end
    return f"{lost} records cannot be read" if lost else "", has_index or is_open or not lines


def _gaps(layout: Layout, commits: dict[int, ShardCommit]) -> Iterator[InspectedPart]:
    """Files that were there: serial numbers of a shard count from 1, up to the one that its state names."""
    found: dict[int, set[int]] = {}
    for path in warc_files(layout.warc):
        if name := read_name(path.name):
            found.setdefault(name.shard, set()).add(name.serial)
    for shard, commit in commits.items():
        if name := read_name(_end(commit).file):
            found.setdefault(shard, set())
            if name.serial not in found[shard]:
                yield InspectedPart(ARCHIVE, f"warc/{_end(commit).file}", "is missing", shard)
                found[shard].add(name.serial)
    for shard, serials in found.items():
        serials |= _orphans(layout.warc, shard)
        for serial in sorted(set(range(1, max(serials))) - serials):
            yield InspectedPart(ARCHIVE, f"warc/periplus-{shard:02d}-*-{serial:05d}.warc.*", "is missing", shard)


def _orphans(warc: Path, shard: int) -> set[int]:
    """Serial numbers of files of a first moment that were kept under another name."""
    names = (read_name(path.name.removesuffix(ORPHAN)) for path in warc_files(warc, ORPHAN))
    return {name.serial for name in names if name is not None and name.shard == shard}


def _is_merged(index: Path, sources: list[Path]) -> bool:
    """Whether an index has the lines of all others, in order. Compares sums of digests: lines may be many."""
    if not index.exists():
        return False
    total, last = 0, b""
    for line in _lines(index):
        if line < last:
            return False
        total, last = (total + xxh3_64_intdigest(line)) & _MASK, line
    expected = sum(xxh3_64_intdigest(line) for path in sources if path.exists() for line in _lines(path))
    return total == expected & _MASK


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def last_whole(layout: Layout, shard: int) -> WarcEnd:
    """How far the archive of a shard goes by its files alone: behind the last exchange that is whole, or was copied."""
    for _, path in reversed(list(files_of(layout.warc, shard)) if layout.warc.is_dir() else []):
        end, warcinfo = 0, ""
        for number, record in enumerate(read_records(path, max_block=_MAX_BLOCK)):
            if isinstance(record, Problem):
                continue
            if not number:
                warcinfo = record.fields.get("warc-record-id", "")
            elif record.type == "metadata" or is_copied(record, warcinfo):
                end = record.offset + record.length
        if end:
            return WarcEnd(path.name, end)
    return WarcEnd()


def was_ever_begun(layout: Layout, number: int) -> bool:
    """Whether a shard has written anything."""
    return is_begun(layout.shard(number)) or was_begun(layout.shard(number)) or layout.has_files(number)

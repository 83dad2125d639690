"""Repairs a collection: sets damaged files aside, saves what can be read of them, and rebuilds the rest.

What is damaged is moved to a folder `damaged/N` of the collection, never deleted. Then, for each shard:

1. Indexes are written again from the WARC files.
2. A damaged Parquet file is replaced by one with the rows that can be saved of it, maybe none, under the same number;
   the list of finished files (`manifest`) is written again.
3. A state that is lost or damaged is replaced by a new one that knows how far tables and archive go (`rebuild`), so
   that nothing is overwritten. Its frontier is empty. Other shards number their batches to and from it from 1.
4. Rows of `fetches`, `pages` and `links` that are missing are made again from archived answers (`rebuilding`).

WARC files are the source of all this and cannot be rebuilt: a damaged one stays where it is, since most of its records
can be read; one that is shorter than the state says is copied aside, and the state takes note of where it ends now.

Killed anywhere, the same command does the rest: each step leaves either the damage or what replaces it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.config import Config
from periplus.crawl.reading import PageReader
from periplus.model import CollectionDamaged, FetchOutcome, Stored
from periplus.store import DiskState, WarcEnd, bring_home, is_begun
from periplus.store.state.environment import DATA
from periplus.store.state.exchange import restart_exchange
from periplus.store.state.replica import is_copied
from periplus.store.state.seal import SEAL
from periplus.store.tables import SCHEMAS, Spooled, Tables
from periplus.store.tables.manifest import finished_file, manifest_path, read_manifest, write_manifest
from periplus.store.tables.salvage import replace_damaged, whole_groups
from periplus.store.tables.spool import sync_folder
from periplus.store.tables.table import number_of, spool_path
from periplus.store.tables.writer import surviving_mark, usable_mark
from periplus.store.warc import archived_answers, merge_indexes, write_index
from periplus.store.warc.names import index_of

from .inspecting import ARCHIVE, INDEXES, SPOOL, STATE, TABLE, Inspection, Part, inspect, last_whole, was_ever_begun
from .layout import Layout
from .rebuilding import REBUILT, Rebuilding
from .resizing import gone_name

ASIDE: Final = "damaged"
"""The folder of a collection for what was damaged."""

_SCRATCH: Final = "rebuilt"
_JOURNAL: Final = "journal"

Answers = Iterator[tuple[FetchOutcome, Stored]]
Say = Callable[[str], None]


class Repaired(Struct, frozen=True):
    """What a repair found and did. `parts`: all that was looked at; `remaining`: what is still damaged afterwards.

    Rows are by table: `saved` from damaged files, `rebuilt` from the archive, `lost` for good (as far as it was known
    how many there were). `new_states` are shards whose next crawl begins with an empty frontier.
    """

    parts: tuple[Part, ...]
    remaining: tuple[Part, ...]
    set_aside: str = ""
    saved: dict[str, int] = {}
    rebuilt: dict[str, int] = {}
    lost: dict[str, int] = {}
    new_states: tuple[int, ...] = ()


def repair(config: Config, layout: Layout, shards: int, *, is_dry: bool = False, say: Say = lambda _: None) -> Repaired:
    """Look at every part of a collection and repair what is damaged. No shard may be open.

    With `is_dry` nothing is changed.
    """
    say("reading every part of the collection")
    found = inspect(layout, shards)
    if is_dry or not found.damaged:
        return Repaired(found.parts, found.damaged)
    _refuse_hopeless(layout, found)
    work = _Repair(config, layout, shards, found, say)
    work.run()
    say("reading every part again")
    after = inspect(layout, shards)
    return Repaired(
        found.parts,
        after.damaged,
        work.set_aside,
        work.saved,
        work.rebuilt,
        work.lost(),
        tuple(sorted(work.lost_states)),
    )


def _refuse_hopeless(layout: Layout, found: Inspection) -> None:
    """A state on another disk has its copy here; if that is damaged, its journal and epochs cannot be trusted."""
    for part in found.of(STATE):
        if is_copied(layout.shard(part.shard)):
            raise CollectionDamaged(
                f"the copy of a state in {layout.shard(part.shard)} is damaged: {part.problem}",
                hint="restore the folder from a backup; a state with a copy cannot be rebuilt here",
            )


def rebuild(layout: Layout, shard: int, answers: Answers) -> Path:  # noqa: ARG001 - what a frontier is rebuilt from
    """Make a new state for a shard from its archived answers, in a folder of its own beside the damaged one.

    No answer is adopted yet: the state knows of no URL, and the next crawl begins with its seeds.
    """
    folder = layout.shard(shard) / _SCRATCH
    shutil.rmtree(folder, ignore_errors=True)
    DiskState(folder, shard=shard).close()
    return folder


class _Repair:
    """A repair under way."""

    def __init__(self, config: Config, layout: Layout, shards: int, found: Inspection, say: Say) -> None:
        self._config = config
        self._layout = layout
        self._shards = shards
        self._found = found
        self._say = say
        self._aside = _next_aside(layout.folder)
        self._expected: dict[str, int] = dict.fromkeys(SCHEMAS, 0)
        self.saved: dict[str, int] = {}
        self.rebuilt: dict[str, int] = {}
        self.lost_states = {part.shard for part in found.of(STATE)}

    @property
    def set_aside(self) -> str:
        """Where damaged files went; empty if there were none."""
        return str(self._aside) if self._aside.exists() else ""

    def lost(self) -> dict[str, int]:
        """Rows of damaged files that were neither saved nor rebuilt."""
        kept = {name: self.saved.get(name, 0) + self.rebuilt.get(name, 0) for name in SCHEMAS}
        return {name: rows - kept[name] for name, rows in self._expected.items() if rows > kept[name]}

    def run(self) -> None:
        """All of it, in this order: each step needs those before it."""
        for number in range(self._shards):
            if number not in self.lost_states and is_begun(self._layout.shard(number)):
                bring_home(self._layout.shard(number))
        self._index_again()
        for shard in sorted({part.shard for part in self._found.of(TABLE)}):
            self._replace_files(shard)
        for shard in range(self._shards):
            if was_ever_begun(self._layout, shard):
                self._repair_shard(shard)
        for shard in sorted(self.lost_states):
            self._tell_others(shard)

    # indexes

    def _index_again(self) -> None:
        if not self._found.of(INDEXES) and not self.lost_states and not self._found.of(ARCHIVE):
            return
        self._say("writing indexes again")
        for part in self._found.of(INDEXES):
            path = self._layout.folder / part.path
            warc = path.with_name(path.name.removesuffix(".cdxj") + ".warc.gz")
            if warc.exists() and index_of(warc) == path:
                write_index(warc)
        merge_indexes(self._layout.warc)

    # tables

    def _replace_files(self, shard: int) -> None:
        """Put a file with the rows that can be saved in the place of each damaged one, and list all files again."""
        tables = self._layout.tables
        listing = manifest_path(tables, shard)
        parts = {self._layout.folder / part.path for part in self._found.of(TABLE, shard)}
        is_listed = listing not in parts
        files = dict((read_manifest(tables, shard) or {}) if is_listed else {})
        if not is_listed:
            self._set_aside(listing)
        for path in sorted(parts - {listing}):
            name = path.parent.name
            before = files.get(f"{name}/{path.name}")
            self._expected[name] += 0 if before is None else before.rows
            spool = spool_path(self._layout.spool(shard), name, number_of(path))
            rows = None if before is None else before.rows
            file = replace_damaged(self._set_aside(path), path, name, spool=spool, rows=rows)
            files[f"{name}/{path.name}"] = file
            self.saved[name] = self.saved.get(name, 0) + file.rows
            self._say(f"{path.name} of {name}: saved {file.rows:,} rows")
        if not is_listed:
            for part in self._found.parts:
                path = self._layout.folder / part.path
                if part.kind == TABLE and part.shard == shard and path.suffix == ".parquet" and path not in parts:
                    rows = sum(group.num_rows for group in whole_groups(path, path.parent.name))
                    files[f"{path.parent.name}/{path.name}"] = finished_file(path, rows)
        write_manifest(tables, shard, files)

    # shards

    def _repair_shard(self, shard: int) -> None:
        """Give a shard a state if it has none, and the rows that it lacks."""
        is_lost = shard in self.lost_states
        damaged = {_table_of(part) for part in (*self._found.of(TABLE, shard), *self._found.of(SPOOL, shard))}
        is_cut = self._cut_short(shard)
        if not is_lost and not damaged and not is_cut:
            return
        layout = self._layout
        folder = self._new_state(shard) if is_lost else layout.shard(shard)
        with closing(DiskState(folder, shard=shard)) as state:
            if is_cut and not is_lost:
                state.mark("archive", msgspec.msgpack.encode(last_whole(layout, shard)))
            mark = usable_mark(state.marked("tables"), layout.spool(shard))
            self._set_spools_aside(shard)
            self._make_rows(shard, state, mark, set(REBUILT) if is_lost else damaged & set(REBUILT))
        if is_lost:
            for name in (DATA, SEAL):
                (folder / name).rename(layout.shard(shard) / name)
            shutil.rmtree(folder)
            sync_folder(layout.shard(shard))

    def _new_state(self, shard: int) -> Path:
        """Set the damaged state and its journal aside, and begin a new one that knows where files end."""
        layout = self._layout
        home = layout.shard(shard)
        home.mkdir(parents=True, exist_ok=True)
        self._say(f"shard {shard}: a new state in the place of the damaged one")
        for name in (SEAL, DATA, _JOURNAL):
            self._set_aside(home / name)
        folder = rebuild(layout, shard, archived_answers(layout.warc, shard))
        with closing(DiskState(folder, shard=shard)) as state:
            for name, mark in self._files_of(shard).items():
                state.mark(name, mark)
            if shard == 0:
                for gone in self._shards_that_went():
                    state.mark(gone_name(gone), msgspec.msgpack.encode(self._files_of(gone)))
            state.commit()
        return folder

    def _files_of(self, shard: int) -> dict[str, bytes]:
        """The marks of tables and archive of a shard, by its files alone."""
        layout = self._layout
        tables = surviving_mark(layout.tables, layout.spool(shard), shard)
        return {"tables": tables, "archive": msgspec.msgpack.encode(last_whole(layout, shard))}

    def _shards_that_went(self) -> list[int]:
        """Shards that a smaller number of shards has no place for, and whose files are still there."""
        return [number for number in range(self._shards, 1000) if self._layout.has_files(number)]

    def _make_rows(self, shard: int, state: DiskState, mark: bytes, wanted: set[str]) -> None:
        layout, config = self._layout, self._config

        def commit(place: bytes) -> None:
            state.mark("tables", place)
            state.commit()

        spooled = Spooled(shard, layout.spool(shard), mark)
        commit(mark)
        with closing(Tables(layout.tables, layout.spool(shard), config.tables, shard=shard, mark=mark)) as tables:
            if not wanted:
                return
            self._say(f"shard {shard}: making rows of {', '.join(sorted(wanted))} again from the archive")
            work = Rebuilding(layout.tables, spooled, wanted, PageReader(config.reading))
            end = msgspec.msgpack.decode(state.marked("archive") or b"\x90", type=WarcEnd)
            if end.file:
                work.run(archived_answers(layout.warc, shard, until=end), tables, commit)
            for name, rows in work.made.items():
                self.rebuilt[name] = self.rebuilt.get(name, 0) + rows

    def _cut_short(self, shard: int) -> bool:
        """Whether the archive of a shard ends before the place where its state says; a copy of its end is kept."""
        commit = self._found.commits.get(shard)
        end = (
            WarcEnd()
            if commit is None or commit.archive is None
            else msgspec.msgpack.decode(commit.archive, type=WarcEnd)
        )
        path = self._layout.warc / end.file
        if not end.file or (path.exists() and path.stat().st_size >= end.length):
            return False
        if path.exists():
            copy = self._aside / path.relative_to(self._layout.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        return True

    def _tell_others(self, shard: int) -> None:
        """Batches between a new state and the others are numbered from 1."""
        for number in range(self._shards):
            if number != shard and number not in self.lost_states and is_begun(self._layout.shard(number)):
                with closing(DiskState(self._layout.shard(number), shard=number)) as state:
                    restart_exchange(state.environment, shard)
                    state.commit()

    # what is set aside

    def _set_spools_aside(self, shard: int) -> None:
        for part in self._found.of(SPOOL, shard):
            path = self._layout.folder / part.path
            if path.exists():
                copy = self._aside / part.path
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)

    def _set_aside(self, path: Path) -> Path:
        """Move a file or folder out of the way, if it is there; where to."""
        target = self._aside / path.relative_to(self._layout.folder)
        if path.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        return target


def _table_of(part: Part) -> str:
    """The table a damaged file or spool belongs to; empty for a list of files."""
    path = Path(part.path)
    return path.name.rpartition("-")[0] if part.kind == SPOOL else path.parent.name


def _next_aside(folder: Path) -> Path:
    """A folder that is not there yet."""
    number = 1
    while (folder / ASIDE / str(number)).exists():
        number += 1
    return folder / ASIDE / str(number)

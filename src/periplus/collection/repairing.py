"""Repairs a collection: sets damaged files aside, saves what can be read of them, and rebuilds the rest.

What is damaged is moved to a folder `damaged/N` of the collection, never deleted. In order:

1. Indexes are written again from the WARC files.
2. A damaged Parquet file is replaced by one with the rows that can be saved of it, maybe none, under the same number;
   the list of finished files (`manifest`) is written again.
3. For a shard whose state is lost or damaged a new one is made from the archive (`rebuilding`), in a folder of its own.
   Rows that the tables lack are added on the way. If only tables are damaged, the same is done with a state that is
   thrown away afterwards, for the sake of the rows.
4. The other shards number their batches to and from a shard with a new state from 1; then that state takes its place.

WARC files are the source of all this and cannot be rebuilt: a damaged one stays where it is, since most of its records
can be read; one that is shorter than the state says is copied aside, and the state records where it ends now.

A repair can be killed at any moment, and the same command completes it: each step leaves either the damage or what
replaces it, and rows that were added once are not added again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.fetch.head import WantedTypes
from periplus.engine.frontier import embedded_name, file_name
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.router import ShardPlacement
from periplus.engine.sitemaps.store import half_read
from periplus.model import CollectionDamaged, Discovery, FetchTask, Purpose, Url
from periplus.store import DiskState, WarcEnd, bring_home, is_begun
from periplus.store.durable import move
from periplus.store.folders import sync_folder
from periplus.store.layout import Layout
from periplus.store.state.exchange import restart_exchange
from periplus.store.state.files import DATA, SEAL
from periplus.store.state.replica import is_copied
from periplus.store.tables import SCHEMAS, Spooled, Tables
from periplus.store.tables.files import number_of, spool_path
from periplus.store.tables.manifest import finished_file, manifest_path, read_manifest, write_manifest
from periplus.store.tables.reader import replace_damaged, whole_groups
from periplus.store.tables.writer import surviving_mark, usable_mark
from periplus.store.warc import merge_indexes, write_index
from periplus.store.warc.records import index_of, read_name, warc_files
from periplus.urls import site_of

from .config.settings import Config
from .inspecting import (
    ARCHIVE,
    INDEXES,
    SPOOL,
    STATE,
    TABLE,
    InspectedPart,
    Inspection,
    inspect,
    last_whole,
    was_ever_begun,
)
from .opening import keep_earlier_ranks, seed_discovery
from .rebuilding import AnswerTimes, MissingRows, Rebuild, answers_of
from .resizing import MAX_SHARDS, FileEnds, ResizeState
from .shards import ShardMaker, open_machine

ASIDE: Final = "damaged"
"""The folder of a collection for what was damaged."""
_DRAFT: Final = "rebuilt"
"""The folder of a shard in which its new state is made, or one that is thrown away."""

Say = Callable[[str], None]


class Repaired(Struct, frozen=True):
    """What a repair found and did. `parts`: all that was looked at; `remaining`: what is still damaged afterwards.

    Rows are by table: `saved` from damaged files, `rebuilt` from the archive, `lost` for good (as far as it was known
    how many there were). `new_states` are shards whose state was rebuilt, from `adopted` answers in all.
    """

    parts: tuple[InspectedPart, ...]
    remaining: tuple[InspectedPart, ...]
    set_aside: str = ""
    saved: dict[str, int] = {}
    rebuilt: dict[str, int] = {}
    lost: dict[str, int] = {}
    new_states: tuple[int, ...] = ()
    adopted: int = 0


def repair(
    config: Config,
    layout: Layout,
    shards: int,
    seeds: Sequence[Url],
    *,
    is_dry: bool = False,
    say: Say = lambda _: None,
) -> Repaired:
    """Look at every part of a collection and repair what is damaged. No shard may be open.

    `config` and `seeds` are those of the crawl: URLs found in the archive are admitted by its filters. With `is_dry`
    nothing is changed.
    """
    say("reading every part of the collection")
    found = inspect(layout, shards)
    if is_dry or not found.damaged:
        return Repaired(found.parts, found.damaged)
    _refuse_copies(layout, found)
    work = _Repair(ShardMaker(config, layout.folder, tuple(seeds)), layout, shards, found, say)
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
        work.adopted,
    )


def _refuse_copies(layout: Layout, found: Inspection) -> None:
    """A state on another disk has its copy here; if that is damaged, its log and epochs cannot be trusted."""
    for part in found.of(STATE):
        if is_copied(layout.shard(part.shard)):
            raise CollectionDamaged(
                f"the copy of a state in {layout.shard(part.shard)} is damaged: {part.problem}",
                hint="restore the folder from a backup; a state with a copy cannot be rebuilt here",
            )


class _Repair:
    """A repair under way."""

    def __init__(self, asked: ShardMaker, layout: Layout, shards: int, found: Inspection, say: Say) -> None:
        self._asked = asked
        self._config = asked.config
        self._layout = layout
        self._shards = shards
        self._found = found
        self._print = say
        self._aside = _next_aside(layout.folder)
        self._expected: dict[str, int] = dict.fromkeys(SCHEMAS, 0)
        self.saved: dict[str, int] = {}
        self.rebuilt: dict[str, int] = {}
        self.adopted = 0
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
        """Run all steps in this order: each needs those before it."""
        for number in range(self._shards):
            if number not in self.lost_states and is_begun(self._layout.shard(number)):
                bring_home(self._layout.shard(number))
        self._index_again()
        for shard in sorted({part.shard for part in self._found.of(TABLE)}):
            self._replace_files(shard)
        for shard in range(self._shards):
            if shard in self.lost_states:
                self._rebuild_state(shard)
            elif was_ever_begun(self._layout, shard):
                self._repair_shard(shard)
        for shard in sorted(self.lost_states):
            self._restart_exchange(shard)
        for shard in sorted(self.lost_states):
            self._put_in_place(shard)

    # indexes

    def _index_again(self) -> None:
        if not self._found.of(INDEXES) and not self.lost_states and not self._found.of(ARCHIVE):
            return
        self._print("writing indexes again")
        wrong = {self._layout.folder / part.path for part in self._found.of(INDEXES)}
        for warc in warc_files(self._layout.warc):
            if index_of(warc) in wrong:
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
            self._print(f"{path.name} of {name}: saved {file.rows:,} rows")
        if not is_listed:
            for part in self._found.parts:
                path = self._layout.folder / part.path
                if part.kind == TABLE and part.shard == shard and path.suffix == ".parquet" and path not in parts:
                    rows = sum(group.num_rows for group in whole_groups(path, path.parent.name))
                    files[f"{path.parent.name}/{path.name}"] = finished_file(path, rows)
        write_manifest(tables, shard, files)

    # shards

    def _repair_shard(self, shard: int) -> None:
        """Make an intact state consistent with its files, and add the rows that the tables lack."""
        damaged = {_table_of(part) for part in (*self._found.of(TABLE, shard), *self._found.of(SPOOL, shard))}
        is_cut = self._cut_short(shard)
        if not damaged and not is_cut:
            return
        layout = self._layout
        with closing(DiskState(layout.shard(shard), shard=shard)) as state:
            meta = state.meta(ShardMeta) or ShardMeta()
            end = last_whole(layout, shard) if is_cut else meta.archive
            mark = usable_mark(meta.tables, layout.spool(shard))
            self._set_spools_aside(shard)

            def commit(tables: bytes) -> None:
                state.put_meta(replace(meta, tables=tables, archive=end))
                state.commit()

            commit(mark)
            if damaged & set(SCHEMAS):
                draft = self._new_draft(shard)
                with closing(DiskState(draft, shard=shard)) as scratch:
                    self._adopt(shard, scratch, mark, {shard: end}, damaged & set(SCHEMAS), commit, state)
                shutil.rmtree(draft)
            else:
                Tables(layout.tables, layout.spool(shard), self._config.tables, shard=shard, mark=mark).close()

    def _rebuild_state(self, shard: int) -> None:
        """Set a damaged state and its log aside, and make a new one, which is not in its place yet."""
        layout = self._layout
        home = layout.shard(shard)
        home.mkdir(parents=True, exist_ok=True)
        self._print(f"shard {shard}: making a new state from the archive")
        for path in (home / SEAL, home / DATA, layout.log(shard)):
            self._set_aside(path)
        ends = self._archive_ends()
        mark = usable_mark(surviving_mark(layout.tables, layout.spool(shard), shard), layout.spool(shard))
        self._set_spools_aside(shard)
        duplicates = self._config.duplicates
        with closing(DiskState(self._new_draft(shard), shard=shard, duplicates=duplicates)) as state:
            if shard == 0:
                state.put_meta(ResizeState(removed={number: self._file_ends(number) for number in self._removed()}))
            self._adopt(shard, state, mark, ends, set(SCHEMAS))

    def _adopt(
        self,
        shard: int,
        state: DiskState,
        mark: bytes,
        ends: dict[int, WarcEnd],
        wanted: set[str],
        commit: Callable[[bytes], None] = lambda _mark: None,
        whole: DiskState | None = None,
    ) -> None:
        """Apply archived answers to a machine on a new state, and add the rows that `wanted` tables lack.

        If the state of the shard is `whole`, `commit` keeps there how far the tables go.
        """
        layout, config = self._layout, self._config
        if config.ordering.by:
            keep_earlier_ranks(config, layout)
        self._print(f"shard {shard}: reading archived answers for {', '.join(sorted(wanted))}")
        spooled = Spooled(shard, layout.spool(shard), mark)
        with closing(Tables(layout.tables, layout.spool(shard), config.tables, shard=shard, mark=mark)) as tables:
            rows = MissingRows(layout.tables, spooled, tables, wanted)
            times = AnswerTimes(layout.tables, spooled)
            machine = open_machine(self._asked, layout, shard, self._shards, state)

            def checkpoint(*, is_last: bool = False) -> None:
                rows.flush()
                mark = tables.settle() if is_last else tables.checkpoint()
                known = machine.flush()
                known.commits, known.tables, known.archive = 1, mark, ends.get(shard, WarcEnd())
                state.put_meta(known)
                state.commit()
                commit(mark)

            work = (
                Rebuild(machine, rows, checkpoint) if whole is None else _row_rebuild(whole, machine, rows, checkpoint)
            )
            is_page = WantedTypes(config.transfers.accept_types).wants
            answers = answers_of(layout, ends, times, is_page, shard=shard, shards=self._shards)
            work.run(lambda at: self._seeds_of(shard, at), answers)
            checkpoint(is_last=True)
        self.adopted += work.adopted
        for name, number in rows.added.items():
            self.rebuilt[name] = self.rebuilt.get(name, 0) + number

    def _seeds_of(self, shard: int, at: float) -> list[Discovery]:
        owner = ShardPlacement(self._shards).owner
        return [seed_discovery(self._config, seed, at) for seed in self._asked.seeds if owner(site_of(seed)) == shard]

    def _new_draft(self, shard: int) -> Path:
        """An empty folder for a state; what a repair that was killed left there is removed."""
        folder = self._layout.shard(shard) / _DRAFT
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def _put_in_place(self, shard: int) -> None:
        """Move a new state to where the crawl looks for it: from here on the shard is whole."""
        home = self._layout.shard(shard)
        for name in (DATA, SEAL):
            move(home / _DRAFT / name, home / name)
        shutil.rmtree(home / _DRAFT)
        sync_folder(home)

    def _archive_ends(self) -> dict[int, WarcEnd]:
        """How far the archive of each shard reaches, also of those that were removed: by its state, else by its files.

        What a shard with a whole state has not committed it applies again itself.
        """
        names = (read_name(path.name) for path in warc_files(self._layout.warc))
        ends = {}
        for shard in sorted({name.shard for name in names if name is not None}):
            commit = self._found.commits.get(shard)
            is_cut = commit is not None and self._is_cut(commit.archive or WarcEnd())
            whole = last_whole(self._layout, shard) if commit is None or is_cut else commit.archive
            ends[shard] = whole or WarcEnd()
        return ends

    def _file_ends(self, shard: int) -> FileEnds:
        """How far the files of a shard reach, by the files alone."""
        layout = self._layout
        tables = surviving_mark(layout.tables, layout.spool(shard), shard)
        return FileEnds(last_whole(layout, shard), tables)

    def _removed(self) -> list[int]:
        """Shards that a resize removed, and whose files are still there."""
        return [number for number in range(self._shards, MAX_SHARDS) if self._layout.has_files(number)]

    def _cut_short(self, shard: int) -> bool:
        """Whether the archive of a shard ends before the place that its state has; a copy of its end is kept."""
        commit = self._found.commits.get(shard)
        end = WarcEnd() if commit is None else commit.archive or WarcEnd()
        if not self._is_cut(end):
            return False
        path = self._layout.warc / end.file
        if path.exists():
            copy = self._aside / path.relative_to(self._layout.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        return True

    def _is_cut(self, end: WarcEnd) -> bool:
        path = self._layout.warc / end.file
        return bool(end.file) and not (path.exists() and path.stat().st_size >= end.length)

    def _restart_exchange(self, shard: int) -> None:
        """Have the others number batches to and from a shard with a new state from 1."""
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
            move(path, target)
        return target


_RECORDS: Final = {Purpose.SITEMAP: file_name, Purpose.FILE: embedded_name}
"""The names of records of what is not a page."""


def _row_rebuild(whole: DiskState, machine: Machine, rows: MissingRows, checkpoint: Callable[[], None]) -> Rebuild:
    """A rebuild that adds the rows that a shard had recorded, according to its state."""

    def was_refused(task: FetchTask) -> bool:
        named = _RECORDS.get(task.purpose)
        name = task.url if named is None else named(task.url)
        record = whole.records.get([name])[0]
        return record is not None and bool(record.reason)

    return Rebuild(machine, rows, checkpoint, half_read(whole), was_refused)


def _table_of(part: InspectedPart) -> str:
    """The table a damaged file or spool belongs to; empty for a list of files."""
    path = Path(part.path)
    return path.name.rpartition("-")[0] if part.kind == SPOOL else path.parent.name


def _next_aside(folder: Path) -> Path:
    """A folder that is not there yet."""
    number = 1
    while (folder / ASIDE / str(number)).exists():
        number += 1
    return folder / ASIDE / str(number)

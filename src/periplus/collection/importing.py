"""Makes a collection of archives that others wrote: WARC, ARC and WACZ files become fetches, pages, links and visits.

Each capture is applied to the machine of a shard as an answer that a crawl had archived (`Adopted`), and all records
are copied into the archive of the collection, byte for byte. Afterwards nothing distinguishes the collection from one
that was crawled: it is searched, audited, compared, watched and repaired in the same way. Captures are applied in the
order of time, as far as the files are in order; one that comes late counts as read when it was read.

The collection is made under another name and renamed at the end: it is there as a whole or not at all.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus import __version__
from periplus.engine.engine import ANSWERS_PER_INPUT
from periplus.engine.fetch.head import WantedTypes
from periplus.engine.inputs import (
    Adopted,
    AdoptionEnded,
    Discovered,
    Emit,
    FetchAnswer,
    Flushed,
    Input,
    SitemapsSubmitted,
    Tick,
)
from periplus.engine.machine import Machine
from periplus.formats.headers import Headers
from periplus.model import Fetched, NotModified, Problem, Purpose, UsageError
from periplus.store import Archive, DiskState
from periplus.store.durable import move
from periplus.store.importing import ArchiveFile, FilesSurvey, archive_files, foreign_answers, survey
from periplus.store.importing.files import PACKAGE
from periplus.store.importing.wacz import listed_pages
from periplus.store.tables import Tables
from periplus.store.tables.rows import RowBuffer
from periplus.store.warc.copying import CopiedExchange, SourceRecord
from periplus.urls import canonical

from .collection import CollectionSetup, planned
from .opening import seed_discovery, settle
from .options import with_fixed
from .seeds import MAX_SEEDS
from .shards import ShardMaker, open_machine

_BETWEEN_CHECKPOINTS: Final = 2_000
"""Answers between two checkpoints, as in a crawl: bounds what is held in memory."""
_MAX_ROW_BYTES: Final = 32 << 20
"""Bytes of rows in memory, roughly, after which they go to the spools."""
_MAX_BATCH_BYTES: Final = 16 << 20
"""Bytes of bodies that are applied together."""
_MAX_LISTED: Final = 10_000
"""Pages of a WACZ package that become seeds."""
_DRAFT: Final = ".importing"
_NOT_WANTED: Final = frozenset({"not-get", "capture-left-out", "shared-member"})
"""Reasons of problems that cost no capture of a page or file."""

Say = Callable[[int, int], None]
"""Called with how many captures were imported, and of how many."""


class Imported(Struct, frozen=True):
    """What an import did: files read, captures that became fetches, pages among them, and records left out by reason.

    `lost` counts records left out that hold captures of pages or files, or may. `records` were copied.
    """

    files: int
    captures: int
    pages: int
    problems: dict[str, int]
    examples: dict[str, str]
    """One detail for each reason."""
    lost: int = 0
    records: int = 0


def import_archives(
    folder: Path,
    paths: Sequence[Path],
    *,
    seeds: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    say: Say = lambda _done, _all: None,
) -> Imported:
    """Make a new collection of all captures below these paths.

    `seeds`, which a person gave, bound what a crawl that continues the collection fetches; by default the shortest
    page of every site, or the pages that a WACZ package lists first, which open no private address. `settings` of the
    collection are by name.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} exists already, and an import makes a new collection",
            hint="Import the old files and the new ones together, into a folder that is not there yet: -o DIR",
        )
    folder = folder.resolve()
    draft = folder.with_name(folder.name + _DRAFT)
    scratch = folder.with_name(folder.name + _DRAFT + "-files")
    try:
        files, broken = archive_files(paths, scratch)
        known = survey(files)
        if not known.captures:
            raise UsageError("there are no captures in these files", hint="periplus read FILE shows what a file is")
        shutil.rmtree(draft, ignore_errors=True)
        found = [] if seeds else _seeds(paths, known)
        options = with_fixed(settings or {}, {"crawl.workers": 1}, "import")
        collection = planned(draft, typed=seeds, found=found, options=options)
        collection.save()
        done = _Import(collection, files, known, say).run()
        if not done.captures:
            raise UsageError(
                f"no capture of these files can be used: {_listed(done) or 'none is of an http URL'}",
                hint="docs/archives.md explains",
            )
        settle(draft)
        if folder.exists():
            folder.rmdir()
        move(draft, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(draft, ignore_errors=True)
    problems, examples = Counter(done.problems), dict(done.examples)
    for name, problem in broken.items():
        problems[problem.reason] += 1
        examples.setdefault(problem.reason, f"{name}: {problem.detail}")
    lost = sum(count for reason, count in problems.items() if reason not in _NOT_WANTED)
    return replace(done, problems=dict(problems.most_common()), examples=examples, lost=lost)


def _listed(done: Imported) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in done.problems.items())


def _seeds(paths: Sequence[Path], known: FilesSurvey) -> list[str]:
    """The pages that packages list first, and the shortest page of every site that is not among these."""
    packages = [path for path in paths if path.name.lower().endswith(PACKAGE)]
    listed = [page.url for path in packages for page in islice(listed_pages(path), _MAX_LISTED)]
    found = [str(url) for url in map(canonical, listed) if url is not None]
    return [*found, *known.seeds.values()][:MAX_SEEDS] or ["https://example.invalid/"]


class _Import:
    """An import under way."""

    def __init__(self, collection: CollectionSetup, files: Sequence[ArchiveFile], known: FilesSurvey, say: Say) -> None:
        self._collection = collection
        self._files = files
        self._known = known
        self._print = say
        self._rows = RowBuffer(collection.config.scope.suffixes)
        self._types = WantedTypes(collection.config.transfers.accept_types)
        self._problems: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._captures = 0
        self._pages = 0
        self._records = 0
        self._at = 0.0

    def run(self) -> Imported:
        layout, config = self._collection.layout, self._collection.config
        layout.shard(0).mkdir(parents=True, exist_ok=True)
        with (
            closing(DiskState(layout.shard(0), shard=0, duplicates=config.duplicates)) as state,
            closing(Tables(layout.tables, layout.spool(0), config.tables, shard=0, mark=None)) as tables,
        ):
            archive = Archive(
                layout.warc,
                config.archive,
                shard=0,
                software=f"periplus/{__version__}",
                fields={"description": "imported from archives of others"},
                end=None,
                payloads=state.payloads,
            )
            maker = ShardMaker(config, layout.folder, self._collection.seeds)
            machine = open_machine(maker, layout, 0, 1, state)
            self._adopt_all(machine, archive, tables, state)
            archive.close()
        counts = (len(self._files), self._captures, self._pages)
        return Imported(*counts, dict(self._problems), self._examples, records=self._records)

    def _adopt_all(self, machine: Machine, archive: Archive, tables: Tables, state: DiskState) -> None:
        last = 0
        self._rows.add([source.row(time.time()) for source in self._known.sources])
        begins = min(filter(None, self._known.begins), default=0.0)
        for group in self._groups():
            if isinstance(group, SourceRecord):
                archive.copy(group, self._at or begins)
                self._records += 1
                continue
            if not self._at:
                self._begin(machine, group[0])
            self._at = max(self._at, *(answer.outcome.started_at + answer.outcome.duration for answer in group))
            kept = archive.copy_all(group)
            answers = [
                FetchAnswer(answer.outcome, stored, payload, is_read=self._is_read(answer))
                for answer, (stored, payload) in zip(group, kept, strict=True)
            ]
            self._apply(machine, Adopted(tuple(answers), self._at))
            self._count(group)
            self._spill(tables)
            if self._captures - last >= _BETWEEN_CHECKPOINTS:
                last = self._captures
                self._checkpoint(machine, archive, tables, state, is_last=False)
                self._print(self._captures, self._known.captures)
        self._apply(machine, AdoptionEnded(self._at))
        self._apply(machine, Flushed(self._at))
        self._checkpoint(machine, archive, tables, state, is_last=True)
        self._print(self._captures, self._known.captures)

    def _groups(self) -> Iterator[list[CopiedExchange] | SourceRecord]:
        """Answers of one second, each URL once, and records that belong to none; problems are counted."""
        group: dict[str, CopiedExchange] = {}
        size, second = 0, 0
        for answer in foreign_answers(self._files, self._known, self._types.wants):
            if isinstance(answer, Problem):
                self._problems[answer.reason] += 1
                self._examples.setdefault(answer.reason, answer.detail)
                continue
            if isinstance(answer, SourceRecord):
                if group:
                    yield list(group.values())
                    group, size = {}, 0
                yield answer
                continue
            outcome = answer.outcome
            is_full = len(group) >= ANSWERS_PER_INPUT or size > _MAX_BATCH_BYTES
            if group and (is_full or outcome.task.url in group or int(outcome.started_at) != second):
                yield list(group.values())
                group, size = {}, 0
            group[outcome.task.url] = answer
            second = int(outcome.started_at)
            size += 0 if isinstance(outcome, NotModified) else len(outcome.body)
        if group:
            yield list(group.values())

    def _begin(self, machine: Machine, first: CopiedExchange) -> None:
        at = first.outcome.started_at
        seeds = [seed_discovery(self._collection.config, seed, at) for seed in self._collection.seeds]
        self._apply(machine, Discovered(tuple(seeds), at))
        self._apply(machine, SitemapsSubmitted(at))

    def _apply(self, machine: Machine, given: Input) -> None:
        """Apply an input, then read sitemaps and fill queues as long as there is something to do."""
        self._emit(machine, given)
        while machine.wants_tick(given.at):
            self._emit(machine, Tick(given.at))

    def _emit(self, machine: Machine, given: Input) -> None:
        for effect in machine.apply(given):
            if isinstance(effect, Emit):
                self._rows.add(effect.events)

    def _count(self, group: Sequence[CopiedExchange]) -> None:
        self._captures += len(group)
        self._records += sum(1 + len(answer.beside) for answer in group)
        self._pages += sum(self._is_page(answer) for answer in group)

    def _is_page(self, answer: CopiedExchange) -> bool:
        outcome = answer.outcome
        is_there = isinstance(outcome, Fetched) and 200 <= outcome.status < 300
        return is_there and outcome.task.purpose is Purpose.PAGE and self._is_read(answer)

    def _is_read(self, answer: CopiedExchange) -> bool:
        """Whether a body is read: that of a file which a crawl for files has kept is not."""
        outcome = answer.outcome
        if outcome.task.purpose is not Purpose.PAGE or not isinstance(outcome, Fetched) or outcome.is_rendered:
            return True
        return self._types.wants(Headers(outcome.headers).get("content-type"))

    def _spill(self, tables: Tables) -> None:
        if self._rows.weight > _MAX_ROW_BYTES:
            for name, batch in self._rows.take():
                tables.append(name, batch)

    def _checkpoint(
        self, machine: Machine, archive: Archive, tables: Tables, state: DiskState, *, is_last: bool
    ) -> None:
        """Archive first, then tables, then the state that names both."""
        archive.sync()
        for name, batch in self._rows.take():
            tables.append(name, batch)
        mark = tables.settle() if is_last else tables.checkpoint()
        known = machine.flush()
        known.commits, known.tables, known.archive = 1, mark, archive.end
        state.put_meta(known)
        state.commit()

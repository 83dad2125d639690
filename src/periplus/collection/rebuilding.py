"""Rebuilds the state and the table rows of a shard by replaying archived answers through its state machine.

The machine processes an archived answer (`Adopted`) as one that has just arrived, so that crawling and rebuilding share
one code path: URL records, links, robots.txt files, sitemaps, near-duplicates, counts and the revisit queue all come
from it. A shard replays the archives of all shards in order of time, because pages of other shards link to its sites,
and sites may have moved to it when the number of shards changed.

Events without an archived answer are not rebuilt: failed requests, DNS lookups, sites given up because they did not
answer, pings, the price of a watch, and shares of addresses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.engine.engine import ANSWERS_PER_INPUT
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
from periplus.model import (
    Discovery,
    Event,
    Excluded,
    Fetched,
    FetchEnded,
    FetchTask,
    NotModified,
    Redirected,
    SitemapEntriesRead,
    SitemapRead,
    SitemapVisited,
    Stored,
    Url,
)
from periplus.store import WarcEnd
from periplus.store.layout import Layout
from periplus.store.tables import Spooled, Tables
from periplus.store.tables.declared import ROWS
from periplus.store.tables.files import files_of, shard_of
from periplus.store.tables.reader import scan_file, scan_spools
from periplus.store.tables.rows import RowBuffer
from periplus.store.warc import ArchivedAnswer, archived_answers
from periplus.store.warc.answers import IsPage
from periplus.store.warc.records import read_name
from periplus.urls import fingerprint, fingerprints

_MAX_WEIGHT: Final = 32 << 20
"""Bytes of rows in memory, roughly, after which they go to the spools: half of what a crawl holds."""
_EVERY: Final = 1 << 62
"""More rows than there are."""
_SECOND: Final = 1_000_000
_LATEST: Final = 60 * _SECOND
"""Microseconds after the end of an answer within which it was applied."""
_SEPARATOR: Final = "\x1f"


class MissingRows:
    """Appends to the tables the rows of events that these lack. `wanted`: the tables that may lack rows.

    Surviving rows (in complete files, in the readable parts of damaged ones, and in spools) are identified by a 64-bit
    hash of a few columns. Each replayed row cancels one survivor with the same hash; a row without one is missing and
    is added. Adding the same events twice therefore changes nothing, and an interrupted repair can be repeated.
    """

    def __init__(self, folder: Path, spooled: Spooled, tables: Tables, wanted: Collection[str]) -> None:
        self._tables = tables
        self._survivors = {name: _Survivors.read(folder, spooled, name) for name in sorted(wanted)}
        self._rows = RowBuffer()
        self.added = dict.fromkeys(self._survivors, 0)
        """Rows added so far, by table."""

    def add(self, events: Sequence[Event]) -> None:
        """Add the rows of these events, as far as they are missing."""
        self._rows.add(events)
        if self._rows.weight > _MAX_WEIGHT:
            self.flush()

    def flush(self) -> None:
        """Append what is held in memory; the caller makes it durable."""
        for name, batch in self._rows.take():
            survivors = self._survivors.get(name)
            if survivors is None:
                continue
            missing = batch.filter(pa.array(survivors.lack(_keys_of(batch, name))))
            if missing.num_rows:
                self._tables.append(name, missing)
                self.added[name] += missing.num_rows


class _Survivors:
    """How many rows of each key are there that no event was found for yet: 16 bytes a row."""

    def __init__(self, keys: NDArray[np.uint64], *, is_repeated: bool = False) -> None:
        self._keys, self._left = np.unique(keys, return_counts=True)
        if is_repeated:
            self._left = np.full(len(self._keys), _EVERY)

    @classmethod
    def read(cls, folder: Path, spooled: Spooled, table: str) -> _Survivors:
        """Read the keys of the rows in a table of one shard."""
        batches = [_keys_of(batch, table) for batch in _scan(folder, spooled, table, ROWS[table].key)]
        return cls(np.concatenate([np.empty(0, np.uint64), *batches]), is_repeated=ROWS[table].is_repeated)

    def lack(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of the rows with these keys are missing. Those that are not are taken off."""
        unique, inverse, wanted = np.unique(keys, return_inverse=True, return_counts=True)
        places = np.searchsorted(self._keys, unique)
        is_there = places < len(self._keys)
        is_there[is_there] = self._keys[places[is_there]] == unique[is_there]
        found = np.zeros(len(unique), np.int64)
        found[is_there] = np.minimum(self._left[places[is_there]], wanted[is_there])
        self._left[places[is_there]] -= found[is_there]
        ranks = np.empty(len(keys), np.int64)
        first = np.cumsum(wanted) - wanted
        ranks[np.argsort(inverse, kind="stable")] = np.arange(len(keys)) - np.repeat(first, wanted)
        lacking: NDArray[np.bool_] = ranks >= found[inverse]
        return lacking


class AnswerTimes:
    """When the answers of a shard were applied: archives only know when they ended.

    The rows of `fetches` say so, for each answer by its place in the archive; without a row, that of the page that was
    read of it; else an answer counts as applied when it ended.
    """

    def __init__(self, folder: Path, spooled: Spooled) -> None:
        self._fetches = _Times(_fetch_times(folder, spooled))
        self._pages = _Times(_page_times(folder, spooled))

    def applied_at(self, answer: Fetched | NotModified | Redirected, stored: Stored) -> float:
        """In POSIX seconds, to the microsecond."""
        known = self._fetches.of(_place(stored.file, stored.offset))
        return (int(known[0]) if len(known) else self._read_at(answer)) / _SECOND

    def _read_at(self, answer: Fetched | NotModified | Redirected) -> int:
        ended = round((answer.started_at + answer.duration) * _SECOND)
        read = self._pages.of(fingerprint(answer.task.url))
        read = read[(read >= ended - _SECOND) & (read <= ended + _LATEST)]
        return int(read[0]) if len(read) else ended


class _Times:
    """Times in microseconds by a 64-bit key: 16 bytes a row."""

    def __init__(self, batches: Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]) -> None:
        keys, times = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for some_keys, some_times in batches:
            keys.append(some_keys)
            times.append(some_times)
        key, time = np.concatenate(keys), np.concatenate(times)
        order = np.lexsort((time, key))
        self._keys, self._times = key[order], time[order]

    def of(self, key: int) -> NDArray[np.int64]:
        """All times of a key, the earliest first."""
        wanted = np.uint64(key)
        first, end = np.searchsorted(self._keys, wanted, "left"), np.searchsorted(self._keys, wanted, "right")
        return self._times[first:end]


def _fetch_times(folder: Path, spooled: Spooled) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    for batch in _scan(folder, spooled, "fetches", ("warc_file", "warc_offset", "ended_at")):
        stored = batch.filter(pc.is_valid(batch["warc_file"]))
        places = zip(stored["warc_file"].to_pylist(), stored["warc_offset"].to_pylist(), strict=True)
        yield np.array([_place(file, offset) for file, offset in places], np.uint64), _moments(stored["ended_at"])


def _page_times(folder: Path, spooled: Spooled) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    for batch in _scan(folder, spooled, "pages", ("url", "read_at")):
        yield np.array(fingerprints(batch["url"].to_pylist()), np.uint64), _moments(batch["read_at"])


def _place(file: str, offset: int) -> int:
    """A record among those of its shard, as a number: files are smaller than a terabyte."""
    name = read_name(file)
    return (0 if name is None else name.serial) << 40 | offset


def _keys_of(batch: pa.RecordBatch, table: str) -> NDArray[np.uint64]:
    columns = [_texts(batch[name]) for name in ROWS[table].key]
    joined = pc.binary_join_element_wise(*columns, _SEPARATOR, null_handling="replace", null_replacement="")
    return np.array([xxh3_64_intdigest(text.encode()) for text in joined.to_pylist()], np.uint64)


def _texts(column: pa.Array) -> pa.Array:
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return plain.cast(pa.string())


def _scan(folder: Path, spooled: Spooled, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of one shard."""
    for path in files_of(folder, table, [spooled]):
        if shard_of(path) == spooled.shard:
            yield from scan_file(path, columns)
    yield from scan_spools(table, [spooled], columns)


def _moments(column: pa.Array) -> NDArray[np.int64]:
    moments: NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return moments


_BETWEEN_CHECKPOINTS: Final = 2_000
"""Answers between two checkpoints, as in a crawl: bounds what is held in memory."""


class Applied(NamedTuple):
    """An archived answer, when it was applied, and whether this shard archived it."""

    at: float
    is_counted: bool
    answer: ArchivedAnswer


def answers_of(
    layout: Layout, ends: Mapping[int, WarcEnd], times: AnswerTimes, is_page: IsPage, *, shard: int, shards: int
) -> Iterator[Applied]:
    """The answers of these archives up to their ends, in the order of time.

    What shards that were removed have archived counts for the first shard, which has inherited their counts.
    """

    def archived(number: int, end: WarcEnd) -> Iterator[Applied]:
        is_own = number == shard
        is_counted = is_own or (shard == 0 and number >= shards)
        for answer in archived_answers(layout.warc, number, until=end, is_page=is_page):
            outcome = answer.outcome
            at = times.applied_at(outcome, answer.stored) if is_own else outcome.started_at + outcome.duration
            yield Applied(at, is_counted, answer)

    return merge(*(archived(number, end) for number, end in ends.items() if end.file), key=itemgetter(0))


class Rebuild:
    """Applies answers to a machine. `rows` takes the events; `checkpoint` makes durable what was done so far.

    Of a shard with a whole state only rows are wanted, and only those that it had recorded: `half_read` is
    where the lists are stored that it has half read, whose entries it reports when it reads on; `was_refused` says
    whether it had refused a URL.
    """

    def __init__(
        self,
        machine: Machine,
        rows: MissingRows,
        checkpoint: Callable[[], None],
        half_read: Iterable[Stored | None] = (),
        was_refused: Callable[[FetchTask], bool] = lambda _task: True,
    ) -> None:
        self._machine = machine
        self._rows = rows
        self._checkpoint = checkpoint
        self._unfinished = {(stored.file, stored.offset) for stored in half_read if stored is not None}
        self._was_refused = was_refused
        self._silent: set[Url] = set()
        self.adopted = 0
        """Answers applied so far."""

    def run(self, seeds: Callable[[float], Sequence[Discovery]], answers: Iterable[Applied]) -> None:
        """Begin with `seeds`, which are given the time of the first answer, and apply all answers."""
        at, is_counted = 0.0, False
        for inputs in _inputs(answers):
            if not self.adopted:
                self._begin(seeds, inputs.at)
            at, is_counted = inputs.at, is_counted or inputs.is_counted
            self._note_unfinished(inputs)
            self._apply(inputs)
            self.adopted += len(inputs.answers)
            if self.adopted % _BETWEEN_CHECKPOINTS < len(inputs.answers):
                self._checkpoint()
        if not self.adopted:
            at = time.time()
            self._begin(seeds, at)
        self._apply(AdoptionEnded(at, is_counted))
        self._apply(Flushed(at))

    def _begin(self, seeds: Callable[[float], Sequence[Discovery]], at: float) -> None:
        self._apply(Discovered(tuple(seeds(at)), at))
        self._apply(SitemapsSubmitted(at))

    def _apply(self, given: Input) -> None:
        """Apply an input, then read sitemaps and fill queues as long as there is something to do."""
        self._emit(given)
        while self._machine.wants_tick(given.at):
            self._emit(Tick(given.at))

    def _emit(self, given: Input) -> None:
        for effect in self._machine.apply(given):
            if isinstance(effect, Emit):
                self._rows.add([event for event in effect.events if not self._is_silent(event)])

    def _note_unfinished(self, given: Adopted) -> None:
        for answer in given.answers:
            if answer.stored is not None and (answer.stored.file, answer.stored.offset) in self._unfinished:
                self._silent.add(answer.outcome.task.url)

    def _is_silent(self, event: Event) -> bool:
        match event:
            case SitemapEntriesRead(url=url) | SitemapRead(url=url) | SitemapVisited(url=url):
                return url in self._silent
            case FetchEnded(outcome=Excluded(task=task)):
                return not self._was_refused(task)
        return False


def _inputs(answers: Iterable[Applied]) -> Iterator[Adopted]:
    """Answers that were applied together, as far as that is known; of each URL one."""
    for (at, is_counted), some in groupby(answers, itemgetter(0, 1)):
        together: dict[Url, FetchAnswer] = {}
        for each in some:
            url = each.answer.outcome.task.url
            if url in together or len(together) >= ANSWERS_PER_INPUT:
                yield Adopted(tuple(together.values()), at, is_counted)
                together = {}
            together[url] = _answer(each.answer)
        yield Adopted(tuple(together.values()), at, is_counted)


def _answer(archived: ArchivedAnswer) -> FetchAnswer:
    """An archived answer as an input of the state machine. A lost body is not read as an empty one."""
    outcome = archived.outcome
    is_lost = isinstance(outcome, Fetched) and outcome.is_truncated and not outcome.body
    return FetchAnswer(outcome, archived.stored, archived.payload, is_read=not is_lost)

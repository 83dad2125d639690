"""Adds rows to the tables of a shard that are not there yet, when events are made again from archived answers.

Rows that survived, in whole files, in what was saved of damaged ones and in spools, are known by a key of a few
columns: one 64-bit hash for each row. For every row that is made again one with the same key is taken off these; a row
for which none is left is missing, and is added. So adding the same events twice changes nothing, and a repair that was
killed can be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import Event, Fetched, NotModified, Redirected, Stored
from periplus.store.tables import Spooled, Tables
from periplus.store.tables.reader import files_of, scan_file, scan_spools
from periplus.store.tables.rows import Rows
from periplus.store.tables.table import shard_of
from periplus.store.warc.records import read_name
from periplus.urls import fingerprint, fingerprints

_KEYS: Final = {
    "discoveries": ("url", "source", "refused"),
    "fetches": ("url", "outcome", "warc_file", "warc_offset"),
    "pages": ("url", "read_at"),
    "links": ("page", "read_at", "target"),
    "sitemaps": ("url", "visits", "outcome"),
    "sitemap_entries": ("sitemap", "read_at", "url", "kind"),
    "changes": ("url", "seen_at"),
    "verdicts": ("subject", "judge", "verdict"),
    "form_probes": ("form", "status", "requests"),
}
"""The columns by which a row is known; without times that depend on when something was read."""
_REPEATED: Final = frozenset({"discoveries"})
"""Tables in which one row stands for all of its key: a source names a URL again if it turns out to have done so
earlier, and that depends on when sitemaps are read."""
_MAX_WEIGHT: Final = 32 << 20
"""Bytes of rows in memory, roughly, after which they go to the spools: half of what a crawl holds."""
_EVERY: Final = 1 << 62
"""More rows than there are."""
_SECOND: Final = 1_000_000
_LATEST: Final = 60 * _SECOND
"""Microseconds after the end of an answer within which it was applied."""
_SEPARATOR: Final = "\x1f"


class MissingRows:
    """Takes events and appends to the tables what these lack. `wanted`: the tables that may lack something."""

    def __init__(self, folder: Path, spooled: Spooled, tables: Tables, wanted: Collection[str]) -> None:
        self._tables = tables
        self._survivors = {name: _Survivors.read(folder, spooled, name) for name in sorted(wanted)}
        self._rows = Rows()
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
        """Those of a table of one shard."""
        batches = [_keys_of(batch, table) for batch in _scan(folder, spooled, table, _KEYS[table])]
        return cls(np.concatenate([np.empty(0, np.uint64), *batches]), is_repeated=table in _REPEATED)

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
    columns = [_texts(batch[name]) for name in _KEYS[table]]
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

"""Rows of a shard, made again from its archived answers.

Rebuilt are `fetches` (of what was answered), `pages` and `links`: they follow from the answers alone. The other tables
record decisions of the crawl, and failures leave nothing in the archive: of these only what can be saved of the files
themselves is kept.

A row is made if none is there for its answer. An answer is known by its place in the archive, a reading of a page by
URL and time. When an answer was handed over is not archived: it is taken from the tables that are whole, else it is
when the answer ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.crawl.reading import PageReader
from periplus.model import Event, Fetched, FetchEnded, FetchOutcome, NotModified, PageRead, Purpose, Redirected, Stored
from periplus.store.tables import Spooled, Tables
from periplus.store.tables.reader import files_of, scan_file, scan_spools
from periplus.store.tables.rows import Rows
from periplus.store.tables.table import shard_of
from periplus.store.warc.names import read_name
from periplus.urls import fingerprint, fingerprints

REBUILT: Final = ("fetches", "pages", "links")
"""Tables whose rows follow from archived answers."""

_TOGETHER: Final = 32
"""Pages read at once, as the crawl does it: reading several together is faster."""
_BETWEEN_CHECKPOINTS: Final = 2_000
"""Answers between two checkpoints, as in a crawl: bounds what is done again if this is killed."""
_SECOND: Final = 1_000_000
_LATEST: Final = 60 * _SECOND
"""Microseconds after the end of an answer in which its page was read, at the latest."""

Answers = Iterable[tuple[FetchOutcome, Stored]]
Commit = Callable[[bytes], None]
"""Commits a mark of the tables."""


class _Times(Struct, frozen=True):
    """Times (microseconds) by a 64-bit key, sorted by both: 16 bytes a row."""

    keys: NDArray[np.uint64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Sequence[NDArray[np.uint64]], times: Sequence[NDArray[np.int64]]) -> _Times:
        key = np.concatenate([np.empty(0, np.uint64), *keys])
        time = np.concatenate([np.empty(0, np.int64), *times])
        order = np.lexsort((time, key))
        return cls(key[order], time[order])

    def at(self, key: int) -> NDArray[np.int64]:
        """All times of a key, the earliest first."""
        wanted = np.uint64(key)
        first, last = np.searchsorted(self.keys, wanted, "left"), np.searchsorted(self.keys, wanted, "right")
        return self.times[first:last]

    def has(self, key: int, time: int) -> bool:
        return bool((self.at(key) == time).any())


class Rebuilding:
    """Makes the missing rows of some tables of one shard."""

    def __init__(self, tables: Path, spooled: Spooled, wanted: Collection[str], reader: PageReader) -> None:
        self._wanted = [name for name in REBUILT if name in wanted]
        self._reader = reader
        self._fetches = _fetches(tables, spooled)
        self._pages = _readings(tables, spooled, "pages", "url")
        self._links = _readings(tables, spooled, "links", "page") if "links" in wanted else None
        self._rows = {name: Rows() for name in self._wanted}
        self._unread: list[tuple[Fetched, int]] = []
        self.made = dict.fromkeys(self._wanted, 0)
        """Rows made so far, by table."""

    def run(self, answers: Answers, tables: Tables, commit: Commit) -> None:
        """Add the missing rows to the tables, and commit their mark every now and then."""
        for number, (answer, stored) in enumerate(answers, 1):
            self._add(answer, stored)
            if number % _BETWEEN_CHECKPOINTS == 0:
                self._flush(tables)
                commit(tables.checkpoint())
        self._flush(tables)
        commit(tables.settle())

    def _add(self, answer: FetchOutcome, stored: Stored) -> None:
        if not isinstance(answer, Fetched | NotModified | Redirected):
            return
        known = self._fetches.at(_key_of(stored))
        ended = int(known[0]) if len(known) else self._ended(answer)
        if not len(known) and "fetches" in self._rows:
            self._rows["fetches"].add([FetchEnded(answer, ended / _SECOND, stored)])
        if isinstance(answer, Fetched) and _is_page(answer) and self._lacks(answer, ended):
            self._unread.append((answer, ended))
            if len(self._unread) >= _TOGETHER:
                self._read()

    def _ended(self, answer: Fetched | NotModified | Redirected) -> int:
        """When an answer was handed over that has no row: when its page was read, or else when it ended."""
        ended = round((answer.started_at + answer.duration) * _SECOND)
        read = self._pages.at(fingerprint(answer.task.url))
        read = read[(read >= ended - _SECOND) & (read <= ended + _LATEST)]
        return int(read[0]) if len(read) else ended

    def _lacks(self, answer: Fetched, ended: int) -> bool:
        key = fingerprint(answer.task.url)
        lacks_page = "pages" in self._rows and not self._pages.has(key, ended)
        return lacks_page or (self._links is not None and not self._links.has(key, ended))

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for page, (answer, ended) in zip(self._reader.read([answer for answer, _ in unread]), unread, strict=True):
            event: Event = PageRead(page, ended / _SECOND)
            key = fingerprint(answer.task.url)
            if "pages" in self._rows and not self._pages.has(key, ended):
                self._rows["pages"].add([event])
            if self._links is not None and not self._links.has(key, ended):
                self._rows["links"].add([event])

    def _flush(self, tables: Tables) -> None:
        if self._unread:
            self._read()
        for name, rows in self._rows.items():
            for table, batch in rows.take():
                if table == name:
                    tables.append(name, batch)
                    self.made[name] += batch.num_rows


def _is_page(answer: Fetched) -> bool:
    """Whether the crawl read this as a page; one whose body is lost cannot be read again."""
    is_good = answer.task.purpose is Purpose.PAGE and 200 <= answer.status < 300
    return is_good and (bool(answer.body) or not answer.is_truncated)


def _key_of(stored: Stored) -> int:
    return _key(stored.file, stored.offset)


def _key(file: str, offset: int) -> int:
    """The place of a record among those of its shard."""
    name = read_name(file)
    return (0 if name is None else name.serial) << 40 | offset


def _fetches(tables: Path, spooled: Spooled) -> _Times:
    """When the answers were handed over that have a row."""
    keys, times = [], []
    for batch in _scan(tables, spooled, "fetches", ["warc_file", "warc_offset", "ended_at"]):
        stored = batch.filter(pc.is_valid(batch["warc_file"]))
        places = zip(stored["warc_file"].to_pylist(), stored["warc_offset"].to_pylist(), strict=True)
        keys.append(np.array([_key(file, offset) for file, offset in places], np.uint64))
        times.append(_moments(stored["ended_at"]))
    return _Times.of(keys, times)


def _readings(tables: Path, spooled: Spooled, table: str, column: str) -> _Times:
    """When pages were read that have rows in a table."""
    keys, times = [], []
    for batch in _scan(tables, spooled, table, [column, "read_at"]):
        urls = batch[column]
        plain = urls.cast(pa.string()) if pa.types.is_dictionary(urls.type) else urls
        keys.append(np.array(fingerprints(plain.to_pylist()), np.uint64))
        times.append(_moments(batch["read_at"]))
    return _Times.of(keys, times)


def _scan(tables: Path, spooled: Spooled, table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of one shard."""
    for path in files_of(tables, table, [spooled]):
        if shard_of(path) == spooled.shard:
            yield from scan_file(path, columns)
    yield from scan_spools(table, [spooled], columns)


def _moments(column: pa.Array) -> NDArray[np.int64]:
    found: NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found

"""Clusters of near-duplicates on disk, in three tables that are made when the first page comes.

    sketch-pages   site number, fingerprint -> number of its cluster, whether it is the original (keys: see `places`)
    sketches       number -> brief, cluster
    sketch-bands   band, its bytes -> numbers of clusters

A new cluster has 16 bands, which lie anywhere: written at once, each would change a page of the tree of its own, 64 KB
for one page of the web. So bands wait in memory, and are written one band after the other, many at a time and in the
order of keys. What waits is not lost in a crash: it is made again from the clusters, which are numbered in the order in
which they came, from the number on up to which each band was written (`counters`).

Two URLs of a site that have one fingerprint are taken for one here: a site could only confuse its own clusters.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from xxhash import xxh3_64_digest

from periplus.model import Placement, Sketched, Url
from periplus.policy.duplicates import BANDS, VALUES, DuplicateSettings, band_keys
from periplus.store.sketches import MAX_HOT, NUMBER, SketchBook, without

from .environment import Environment, Table
from .names import SiteNames
from .places import places_of

MAX_WAITING = 16_384
"""Clusters of which a band may wait to be written: about 1.5 KB each."""

COUNTS = b"sketches"
_COUNTS = struct.Struct(f">{2 + BANDS}Q")


class DiskSketches:
    """`Sketches` in three tables."""

    def __init__(
        self,
        environment: Environment,
        names: SiteNames,
        settings: DuplicateSettings | None = None,
        *,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._environment = environment
        self._names = names
        self._settings = settings
        self._max_waiting = max_waiting
        self._counters = environment.table("counters")
        counts = self._counters.get(COUNTS)
        self._kept_counts: tuple[int, ...] = (0,) * (2 + BANDS) if counts is None else _COUNTS.unpack(counts)

    @cached_property
    def _bands(self) -> DiskBands:
        tables = self._environment.table("sketch-bands"), self._environment.table("sketches")
        return DiskBands(*tables, list(self._kept_counts[2:]), self._max_waiting)

    @cached_property
    def _book(self) -> SketchBook:
        pages, clusters = self._environment.table("sketch-pages"), self._environment.table("sketches")
        book = SketchBook(pages, clusters, self._bands, self._keys_of, self._settings)
        book.count, book.next_number = self._kept_counts[:2]
        return book

    def _keys_of(self, urls: Sequence[Url]) -> list[bytes]:
        return [key for key, _ in places_of(urls, self._names.number, xxh3_64_digest)]

    def add(self, pages: Sequence[Sketched]) -> list[Placement | None]:
        """Put each with those that it resembles, one after the other."""
        answers = self._book.add(pages)
        self._bands.tidy(self._book.next_number)
        return answers

    def get(self, urls: Sequence[Url]) -> list[Placement | None]:
        """Where each is now, aligned with `urls`."""
        return self._book.get(urls) if len(self) else [None] * len(urls)

    def remove(self, urls: Sequence[Url]) -> None:
        """Take out those that are no more."""
        if len(self):
            self._book.remove(urls)

    def __len__(self) -> int:
        return self._book.count if "_book" in self.__dict__ else self._kept_counts[0]

    def flush(self) -> None:
        """Write down what is counted: before a commit."""
        if "_book" not in self.__dict__:
            return
        counts = (self._book.count, self._book.next_number, *self._bands.written)
        if counts != self._kept_counts:
            self._counters.put(COUNTS, _COUNTS.pack(*counts))
            self._kept_counts = counts


class DiskBands:
    """`Bands` in a table, and what waits for it. Of each band, clusters before the number in `written` are there."""

    def __init__(self, table: Table, clusters: Table, written: list[int], max_waiting: int) -> None:
        self._table = table
        self.written = written
        self._waiting: list[dict[bytes, bytes]] = [{} for _ in range(BANDS)]
        self._step = max(1, max_waiting // BANDS)
        self._next_step = max(written) // self._step
        self._recover(clusters)

    def _recover(self, clusters: Table) -> None:
        start = min(self.written).to_bytes(NUMBER, "big")
        while rows := clusters.page(start, 256):
            for number, row in rows:
                keys = band_keys(row[:VALUES])
                self.add(number, keys, self.find(keys, {}))
            start = rows[-1][0] + b"\0"

    def look_up(self, keys: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """What is written."""
        return self._table.get_many(keys)

    def find(self, keys: Sequence[bytes], looked_up: Mapping[bytes, bytes]) -> list[bytes]:
        """The clusters of each band, written or waiting."""
        return [
            looked_up.get(key, b"") + waiting.get(key, b"") for key, waiting in zip(keys, self._waiting, strict=True)
        ]

    def add(self, number: bytes, keys: Sequence[bytes], found: Sequence[bytes]) -> None:
        """File a cluster under its bands, where there is room. While recovering, only where it was not written."""
        place = int.from_bytes(number, "big")
        for key, others, waiting, written in zip(keys, found, self._waiting, self.written, strict=True):
            if place >= written and len(others) < MAX_HOT * NUMBER:
                waiting[key] = waiting.get(key, b"") + number

    def remove(self, number: bytes, keys: Sequence[bytes]) -> None:
        """Forget a cluster. Those that are written are changed at once: pages seldom become quite others."""
        place = int.from_bytes(number, "big")
        for key, waiting, written in zip(keys, self._waiting, self.written, strict=True):
            if place >= written:
                rest = without(waiting.pop(key, b""), number)
                if rest:
                    waiting[key] = rest
                continue
            rest = without(self._table.get(key) or b"", number)
            if rest:
                self._table.put(key, rest)
            else:
                self._table.delete(key)

    def tidy(self, next_number: int) -> None:
        """Write the next band if enough waits: each has its turn before another `max_waiting` clusters have come."""
        while next_number >= (self._next_step + 1) * self._step:
            self._write(self._next_step % BANDS, next_number)
            self._next_step += 1

    def _write(self, band: int, next_number: int) -> None:
        waiting = self._waiting[band]
        keys = sorted(waiting)
        rows = self._table.get_many(keys)
        self._table.put_many([(key, rows.get(key, b"") + waiting[key]) for key in keys])
        waiting.clear()
        self.written[band] = next_number

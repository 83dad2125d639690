"""Reads the links of a collection as numbers in memory, and defines the operations on links wherever they are stored.

Links with nofollow are left out, a redirect is a link, a repeated link counts twice, and of several readings of a page
the last counts. Each distinct text of a row group is processed once. Memory is about 30 bytes a link and 100 a URL
while PageRank (`graph`) is computed; for more links than fit, see `parted_links`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from periplus.store.tables import Spooled, scan
from periplus.store.tables.files import intact_files_of
from periplus.store.tables.reader import parquet_of, scan_spools
from periplus.urls import fingerprints

from .columns import moments, plain

_NOFOLLOW: Final = re.compile(r"(?:^|\s)nofollow(?:\s|$)")
_COLUMNS: Final = ["page", "target", "rel", "read_at"]

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]


class Newest(Struct, frozen=True):
    """When each page was last read, in microseconds, by the pages' fingerprints in their order."""

    keys: Hashes
    times: NDArray[np.int64]


class LinkBatch(Struct, frozen=True):
    """Links as columns. The links of a page are consecutive: pages have a fingerprint and a number of links.

    Targets are stored once each; every link has the index of its target.
    """

    pages: Hashes
    counts: NDArray[np.int64]
    targets: Hashes
    numbers: Numbers


def read_links(path: Path, newest: Newest | None) -> Iterator[LinkBatch]:
    """The links of a file, a row group at a time: that is how long a dictionary lives."""
    with parquet_of(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        for number in range(file.num_row_groups):
            group = file.read_row_group(number, columns=_COLUMNS)
            for batch in group.unify_dictionaries().combine_chunks().to_batches():
                yield _batch(batch, newest)


def other_links(tables: Path, spooled: Sequence[Spooled], newest: Newest | None) -> Iterator[LinkBatch]:
    """The links that are in no file yet, and redirects."""
    for batch in scan_spools("links", spooled, _COLUMNS):
        yield _batch(batch, newest)
    sources, targets = _redirects(tables, spooled)
    yield LinkBatch(sources, np.ones(len(sources), np.int64), targets, np.arange(len(targets), dtype=np.int32))


def all_links(tables: Path, spooled: Sequence[Spooled]) -> Iterator[LinkBatch]:
    """Everything."""
    newest = newest_of(tables, spooled)
    for path in intact_files_of(tables, "links", spooled):
        yield from read_links(path, newest)
    yield from other_links(tables, spooled, newest)


def newest_of(tables: Path, spooled: Sequence[Spooled]) -> Newest | None:
    """When each page was last read, if any was read twice."""
    keys, times = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in scan(tables, "pages", spooled=spooled, columns=["url", "read_at"]):
        keys.append(np.array(fingerprints(batch["url"].to_pylist()), np.uint64))
        times.append(moments(batch["read_at"]))
    every, when = np.concatenate(keys), np.concatenate(times)
    order = np.lexsort((when, every))
    is_last = np.append(every[order][1:] != every[order][:-1], True)[: len(every)]
    return None if is_last.all() else Newest(every[order][is_last], when[order][is_last])


def places(keys: Hashes, wanted: Hashes) -> NDArray[np.int64]:
    """The index of each value among unique sorted keys; -1 if it is not there."""
    found = pc.index_in(pa.array(wanted, pa.uint64()), value_set=pa.array(keys, pa.uint64()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64))


def _batch(rows: pa.RecordBatch, newest: Newest | None) -> LinkBatch:
    rows = _current(rows, newest)
    pages, numbers = _coded(rows["page"])
    begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    return LinkBatch(pages[numbers[begins]], np.diff(begins, append=len(numbers)), *_coded(rows["target"]))


def _current(batch: pa.RecordBatch, newest: Newest | None) -> pa.RecordBatch:
    """The links of a batch without nofollow and, if pages were read again, without those of earlier readings."""
    rels = batch["rel"].dictionary.to_pylist()
    is_followed = np.array([not _NOFOLLOW.search(rel or "") for rel in rels], np.bool_)
    kept = is_followed[batch["rel"].indices.to_numpy()] if len(rels) else np.ones(len(batch), np.bool_)
    if newest is not None:
        pages, numbers = _coded(batch["page"])
        kept = kept & (moments(batch["read_at"]) >= _last_read(newest, pages)[numbers])
    return batch if kept.all() else batch.filter(pa.array(kept))


def _last_read(newest: Newest, pages: Hashes) -> NDArray[np.int64]:
    """The time of each; 0 if it is not known."""
    at = np.minimum(np.searchsorted(newest.keys, pages), len(newest.keys) - 1)
    return np.where(newest.keys[at] == pages, newest.times[at], 0)


def _redirects(tables: Path, spooled: Sequence[Spooled]) -> tuple[Hashes, Hashes]:
    ends: tuple[list[int], list[int]] = ([], [])
    for batch in scan(tables, "fetches", spooled=spooled, columns=["url", "target", "purpose"]):
        moved = batch.filter(pc.and_(pc.is_valid(batch["target"]), pc.equal(plain(batch["purpose"]), "page")))
        for side, column in zip(ends, ("url", "target"), strict=True):
            side.extend(fingerprints(plain(moved[column]).to_pylist()))
    return np.array(ends[0], np.uint64), np.array(ends[1], np.uint64)


def _coded(column: pa.DictionaryArray) -> tuple[Hashes, Numbers]:
    """The fingerprint of each distinct text of a column, and for each row the index of its text.

    Texts of rows that were left out are still in the dictionary, but are not ends of links.
    """
    numbers: Numbers = column.indices.to_numpy(zero_copy_only=False)
    is_used = np.bincount(numbers, minlength=len(column.dictionary)) > 0
    texts = column.dictionary.filter(pa.array(is_used)).to_pylist()
    return np.array(fingerprints(texts), np.uint64), (np.cumsum(is_used, dtype=np.int32) - 1)[numbers]


_PORTIONS_AT_ONCE: Final = 128

Counts = TypeVar("Counts", bound=NDArray[Any])
Ranks = NDArray[np.float64]
Result = TypeVar("Result")
Shared = TypeVar("Shared")


class Block(Struct, frozen=True):
    """Some of the links: from which page to which each leads. All links to `count` pages from `first` on are here."""

    heads: Numbers
    tails: Numbers
    first: int
    count: int


class NumberedLinks(Protocol):
    """All links of a collection. The URLs at their ends are numbered from 0."""

    @property
    def count(self) -> int:
        """How many URLs there are at ends of links."""

    def places(self, wanted: Hashes) -> NDArray[np.int64]:
        """The numbers of URLs, by their fingerprints; -1: no link begins or ends there."""

    def inlinks(self) -> Numbers:
        """The number of links to each URL."""

    def each(self, work: Callable[[Block, Shared], Result], shared: Shared) -> Iterator[Result]:
        """What comes of work on all links, block by block; work is a function of a module."""

    def pagerank(self, tolerance: float) -> Ranks:
        """The rank of each URL; the sum of all errors is at most `tolerance`."""


class WholeLinks:
    """`NumberedLinks` in this memory, as one block."""

    def __init__(self, tables: Path, spooled: Sequence[Spooled] = ()) -> None:
        linking: list[tuple[Hashes, NDArray[np.int64]]] = []
        linked: list[tuple[Hashes, Numbers]] = []
        for batch in all_links(tables, spooled):
            linking.append((batch.pages, batch.counts))
            linked.append((batch.targets, batch.numbers))
        self._keys = _distinct([hashes for hashes, _ in (*linking, *linked)])
        heads = [np.repeat(at, counts) for at, counts in _numbered(self._keys, linking)]
        linking.clear()
        tails = [at[numbers] for at, numbers in _numbered(self._keys, linked)]
        linked.clear()
        pa.default_memory_pool().release_unused()  # PageRank needs all there is
        self.count = len(self._keys)
        self._block = Block(np.concatenate(heads), np.concatenate(tails), 0, self.count)

    def places(self, wanted: Hashes) -> NDArray[np.int64]:
        """The positions of URLs."""
        return places(self._keys, wanted)

    def inlinks(self) -> Numbers:
        """The number of links to each URL."""
        return np.bincount(self._block.tails, minlength=self.count).astype(np.int32)

    def each(self, work: Callable[[Block, Shared], Result], shared: Shared) -> Iterator[Result]:
        """The result of work on all links at once."""
        yield work(self._block, shared)

    def pagerank(self, tolerance: float) -> Ranks:
        """In this memory."""
        from periplus.graph import pagerank  # its libraries take a second to load

        return pagerank(self._block.heads, self._block.tails, self.count, tolerance=tolerance)


def _numbered(keys: Hashes, portions: Sequence[tuple[Hashes, Counts]]) -> Iterator[tuple[Numbers, Counts]]:
    """Positions among the keys instead of hashes; many at once, because the keys are indexed again each time."""
    for start in range(0, len(portions), _PORTIONS_AT_ONCE):
        some = portions[start : start + _PORTIONS_AT_ONCE]
        at = places(keys, np.concatenate([hashes for hashes, _ in some])).astype(np.int32)
        ends = np.cumsum([len(hashes) for hashes, _ in some])[:-1]
        yield from zip(np.split(at, ends), [counts for _, counts in some], strict=True)


def _distinct(portions: Sequence[Hashes]) -> Hashes:
    found: Hashes = pc.unique(pa.chunked_array(portions, pa.uint64())).to_numpy()
    return found

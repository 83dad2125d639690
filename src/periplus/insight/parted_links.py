"""The links of a collection in partitions on disk, for when they do not all fit into memory.

URLs are numbered by the order of their fingerprints, so that a partition is a range of fingerprints and one of numbers:
it has the links to its URLs. Jobs make the partitions in three stages, as in any external sort:

    spill     a file of the table each: its links by target, and the fingerprints of all sources and targets
    number    a partition each: the fingerprints of its URLs, each once
    compress  a partition each: which URLs link to each of its own, as numbers (4 bytes a link)

A product of PageRank is then a job for each partition: all have the vector in common, and each answers for its own
range. So no job holds more than `BYTES_A_LINK` for each link of its partition, or of one file of the table, and the
vectors that all jobs of a machine read together; the caller holds about 120 bytes a URL, and nothing for links. A URL
with more inlinks than fit into a job makes its partition that much larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import PeriplusError
from periplus.store.tables import Spooled
from periplus.store.tables.files import intact_files_of
from periplus.store.tables.reader import count_rows

from .executors import Workplace, bounds, load, save
from .links import Block, Hashes, LinkBatch, Newest, Numbers, Ranks, newest_of, other_links, read_links

BYTES_A_LINK: Final = 64
"""What the hungriest jobs take for each link: 67 were measured to spill, 42 to compress."""
_LINKS_AT_ONCE: Final = 1 << 19
_NARROW: Final = (1 << 31) - 1
"""URLs have numbers of 4 bytes."""

Floats = TypeVar("Floats", NDArray[np.float32], NDArray[np.float64])
Places = NDArray[np.int64]
Result = TypeVar("Result")
Shared = TypeVar("Shared")


@contextmanager
def parted_links(tables: Path, spooled: Sequence[Spooled], workplace: Workplace) -> Iterator[PartedLinks]:
    """All links of a collection in partitions, which last until this ends."""
    rows = count_rows(tables, "links", spooled=spooled)
    with workplace.files() as folder:
        parts = workplace.parts(rows * BYTES_A_LINK, least=2 * workplace.executor.workers)
        spilled = _spilled(tables, spooled, workplace, folder, parts)
        yield PartedLinks(folder, workplace, spilled)


class Spilled(Struct, frozen=True):
    """Where in each spilled file each partition begins and ends: a row for each file."""

    folder: Path
    edges: Places
    keys: Places

    @property
    def parts(self) -> int:
        """The number of partitions."""
        return int(self.edges.shape[1]) - 1


class _Layout(Struct, frozen=True):
    """The partitions of a folder: the number at which each begins, and where all end."""

    folder: Path
    bases: Places

    def keys(self, part: int) -> Hashes:
        """The fingerprints of its URLs, in order."""
        return load(self.folder / f"keys-{part}.npy")

    def rows(self, part: int) -> tuple[Places, Numbers]:
        """Where the links to each of its URLs end, and those to the next begin; and the sources of the links."""
        return load(self.folder / f"ends-{part}.npy"), load(self.folder / f"heads-{part}.npy")


class PartedLinks:
    """`Links` in partitions."""

    def __init__(self, folder: Path, workplace: Workplace, spilled: Spilled) -> None:
        self._executor = workplace.executor
        self._parts = range(spilled.parts)
        counts = list(self._executor.map(_number, self._parts, spilled))
        self._layout = _Layout(folder, np.append(0, np.cumsum(counts, dtype=np.int64)))
        self.count = int(self._layout.bases[-1])
        if self.count > _NARROW:
            hint = "rank parts of the collection on their own"
            raise PeriplusError(f"{self.count:,} URLs are more than can be ranked at once: {_NARROW:,}", hint=hint)
        self._strength = np.zeros(self.count)
        for pages, links in self._executor.map(_compress, self._parts, (spilled, self._layout)):
            self._strength[pages] += links
        for path in folder.glob("spilled-*"):
            path.unlink()

    def places(self, wanted: Hashes) -> Places:
        """The positions of URLs: range by range, with the fingerprints of one at a time."""
        order = np.argsort(wanted)
        found = np.full(len(wanted), -1, np.int64)
        ends = bounds(wanted[order], len(self._parts))
        for part, (start, end) in enumerate(pairwise(ends.tolist())):
            keys = self._layout.keys(part)
            if start == end or not len(keys):
                continue
            mine = wanted[order[start:end]]
            at = np.minimum(np.searchsorted(keys, mine), len(keys) - 1)
            found[order[start:end]] = np.where(keys[at] == mine, at + self._layout.bases[part], -1)
        return found

    def inlinks(self) -> Numbers:
        """The number of links to each URL."""
        counts = [np.diff(self._layout.rows(part)[0]).astype(np.int32) for part in self._parts]
        return np.concatenate(counts)

    def each(self, work: Callable[[Block, Shared], Result], shared: Shared) -> Iterator[Result]:
        """The results of work on the links of each partition."""
        yield from self._executor.map(_on_block, self._parts, (self._layout, work, shared))

    def pagerank(self, tolerance: float) -> Ranks:
        """By products that are dealt out; most of them in single precision, half to send and half to read."""
        from periplus.graph import pagerank_of_products  # its libraries take a second to load

        return pagerank_of_products(self.spread, self._strength, tolerance=tolerance, single=True)

    def spread(self, held: Floats) -> Floats:
        """The sum of the values of the other ends, over all links to each URL."""
        passed = np.empty_like(held)
        results = self._executor.map(_product, self._parts, (self._layout, held))
        for (start, end), result in zip(pairwise(self._layout.bases.tolist()), results, strict=True):
            passed[start:end] = result
        return passed


# spill


def _spilled(tables: Path, spooled: Sequence[Spooled], workplace: Workplace, folder: Path, parts: int) -> Spilled:
    """Links of files are spilled by jobs. The few rows that are in no file yet are only visible to this machine."""
    newest = newest_of(tables, spooled)
    jobs = list(enumerate(intact_files_of(tables, "links", spooled), 1))
    dealt = [spill(folder / "spilled-0", parts, other_links(tables, spooled, newest))]
    dealt += workplace.executor.map(_spill_file, jobs, (folder, parts, newest))
    return Spilled(folder, np.stack([edges for edges, _ in dealt]), np.stack([keys for _, keys in dealt]))


def _spill_file(job: tuple[int, Path], shared: tuple[Path, int, Newest | None]) -> tuple[Places, Places]:
    number, path = job
    folder, parts, newest = shared
    return spill(folder / f"spilled-{number}", parts, read_links(path, newest))


def spill(name: Path, parts: int, batches: Iterable[LinkBatch]) -> tuple[Places, Places]:
    """Write links and fingerprints to two files, sorted; returns where each partition begins in either."""
    heads, tails, keys = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for batch in batches:
        heads.append(np.repeat(batch.pages, batch.counts))
        tails.append(batch.targets[batch.numbers])
        keys += [np.unique(batch.pages), batch.targets]
    targets = np.concatenate(tails)
    order = np.argsort(targets)
    edges = np.stack([np.concatenate(heads)[order], targets[order]])
    ends = np.unique(np.concatenate(keys))
    save(name.with_name(f"{name.name}-edges.npy"), edges)
    save(name.with_name(f"{name.name}-keys.npy"), ends)
    return bounds(edges[1], parts), bounds(ends, parts)


# number


def _number(part: int, spilled: Spilled) -> int:
    """Keep the fingerprints of a partition, each once; how many there are."""
    keys = np.unique(_collected(spilled, "keys", spilled.keys, part))
    save(spilled.folder / f"keys-{part}.npy", keys)
    return len(keys)


def _collected(spilled: Spilled, kind: str, ends: Places, part: int) -> Hashes:
    """The contents of all spilled files of a partition."""
    found = []
    for number, (start, end) in enumerate(ends[:, part : part + 2].tolist()):
        if start < end:
            found.append(np.array(load(spilled.folder / f"spilled-{number}-{kind}.npy")[..., start:end]))
    width = () if kind == "keys" else (2,)
    return np.concatenate(found, axis=-1) if found else np.empty((*width, 0), np.uint64)


# compress


def _compress(part: int, shared: tuple[Spilled, _Layout]) -> tuple[Places, Places]:
    """Write the links of a partition by where they lead; from which pages they come, and how many of each."""
    spilled, layout = shared
    heads, tails = _collected(spilled, "edges", spilled.edges, part)
    rows = np.searchsorted(layout.keys(part), tails)
    count = int(layout.bases[part + 1] - layout.bases[part])
    save(layout.folder / f"ends-{part}.npy", np.append(0, np.cumsum(np.bincount(rows, minlength=count))))
    rows <<= 32
    rows |= _numbers_of(heads, layout)
    del heads, tails
    rows.sort()  # one number for both ends: much quicker than an order by two
    numbers = (rows & _NARROW).astype(np.int32)
    del rows
    save(layout.folder / f"heads-{part}.npy", numbers)
    pages, links = np.unique(numbers, return_counts=True)
    return pages.astype(np.int64), links


def _numbers_of(hashes: Hashes, layout: _Layout) -> Places:
    """The numbers of URLs of any partition, with the fingerprints of one at a time."""
    order = np.argsort(hashes)
    ranges = pairwise(bounds(hashes[order], len(layout.bases) - 1).tolist())
    numbers = np.empty(len(hashes), np.int64)
    for part, (start, end) in enumerate(ranges):
        if start < end:
            some = order[start:end]
            numbers[some] = np.searchsorted(layout.keys(part), hashes[some]) + layout.bases[part]
    return numbers


# what is asked of partitions


def _on_block(part: int, shared: tuple[_Layout, Callable[[Block, Any], Result], Any]) -> Result:
    layout, work, rest = shared
    ends, heads = layout.rows(part)
    first, count = int(layout.bases[part]), len(ends) - 1
    tails: Numbers = np.repeat(np.arange(first, first + count, dtype=np.int32), np.diff(ends))
    return work(Block(np.asarray(heads), tails, first, count), rest)


def _product(part: int, shared: tuple[_Layout, Floats]) -> Floats:
    """The sum, for each URL of a partition, of what the ends of links to it hold."""
    from scipy.sparse import csr_array

    layout, held = shared
    ends, heads = layout.rows(part)
    passed = np.zeros(len(ends) - 1, held.dtype)
    ones = np.ones(min(_LINKS_AT_ONCE, len(heads)), held.dtype)
    start = 0
    while start < len(passed):
        end = max(start + 1, int(np.searchsorted(ends, ends[start] + _LINKS_AT_ONCE, "right")) - 1)
        some = heads[ends[start] : ends[end]]
        if len(some) > len(ones):
            ones = np.ones(len(some), held.dtype)
        within = (ends[start : end + 1] - ends[start]).astype(some.dtype)
        rows = csr_array((ones[: len(some)], some, within), shape=(end - start, len(held)))
        passed[start:end] = rows @ held
        start = end
    return passed

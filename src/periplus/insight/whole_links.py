"""The links of a collection in memory, and the operations on links wherever they are stored.

Memory is about 30 bytes a link and 100 a URL while PageRank is computed. For more than that: `parted_links`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.store.tables import Spooled

from .links import Hashes, Numbers, all_links, places

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


class Links(Protocol):
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
    """`Links` in this memory, as one block."""

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
        """What comes of work on all links at once."""
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

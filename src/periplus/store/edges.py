"""Edges of a graph at rest: pairs of numbers in a flat file, for graphs that do not fit in memory.

    16 bytes   "periplus edges 4" or "periplus edges 8": how many bytes a number has
    pairs      source, target, source, target ...: little-endian, signed

So an edge takes 8 bytes, or 16 where pages are numbered beyond 2^31. A file that was cut short, by a full disk or a
death while appending, loses the edge it was cut in and nothing before it. Not here: what the numbers mean, and what is
computed from them (`periplus.graph.pagerank_of_blocks` takes `blocks()` as they are).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from periplus.model import CollectionDamaged

_MAGIC = b"periplus edges %d"
_HEADER = 16
_BLOCK = 1 << 20

EdgeArray = NDArray[np.int32] | NDArray[np.int64]


class EdgeFile:
    """A file of edges that grows at its end. It holds nothing open between calls."""

    def __init__(self, path: Path, *, wide: bool = False) -> None:
        """`wide` makes a new file hold numbers beyond 2^31; a file that exists is as wide as it was made."""
        self.path = path
        self._dtype = np.dtype("<i8" if wide else "<i4")
        begun = _first_bytes(path)
        if len(begun) == _HEADER:
            self._dtype = _width(path, begun)
        else:  # new, or cut short before anything was in it
            path.write_bytes(_MAGIC % self._dtype.itemsize)

    @property
    def bytes_an_edge(self) -> int:
        """8, or 16 in a wide file."""
        return 2 * self._dtype.itemsize

    def __len__(self) -> int:
        """Whole edges in the file, without one that was cut short."""
        return max(0, self.path.stat().st_size - _HEADER) // self.bytes_an_edge

    def append(self, sources: ArrayLike, targets: ArrayLike) -> None:
        """Add edges, after the last whole one."""
        heads, tails = self._checked(sources, "sources"), self._checked(targets, "targets")
        if len(heads) != len(tails):
            raise ValueError(f"every edge has two ends: {len(heads)} sources, {len(tails)} targets")
        end = _HEADER + len(self) * self.bytes_an_edge
        with self.path.open("r+b") as file:
            file.truncate(end)
            file.seek(end)
            for at in range(0, len(heads), _BLOCK):
                pairs = np.stack([heads[at : at + _BLOCK], tails[at : at + _BLOCK]], axis=1)
                file.write(pairs.astype(self._dtype).tobytes())

    def blocks(self, size: int = _BLOCK) -> EdgeBlocks:
        """All edges as pairs of arrays of at most `size`, mapped, not read; can be iterated again and again."""
        if size < 1:
            raise ValueError(f"a block of {size} edges has none")
        return EdgeBlocks(self, size)

    def block(self, start: int, end: int) -> tuple[EdgeArray, EdgeArray]:
        """The edges from one position up to another."""
        offset = _HEADER + start * self.bytes_an_edge
        pairs = np.memmap(self.path, self._dtype, "r", offset, (end - start, 2))
        return pairs[:, 0], pairs[:, 1]

    def _checked(self, given: ArrayLike, what: str) -> NDArray[np.integer]:
        ids = np.asarray(given)
        if ids.size == 0:
            return np.zeros(0, self._dtype)
        if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
            raise ValueError(f"{what} must be whole numbers in one dimension")
        if int(ids.min()) < 0 or int(ids.max()) > np.iinfo(self._dtype).max:
            raise ValueError(f"{what} hold numbers that do not fit in {self._dtype.itemsize} bytes, or are negative")
        return ids


class EdgeBlocks:
    """The edges that a file had when this was made. Each block is mapped on its own, to be forgotten after use."""

    def __init__(self, file: EdgeFile, size: int) -> None:
        self._file = file
        self._size = size
        self._edges = len(file)

    def __iter__(self) -> Iterator[tuple[EdgeArray, EdgeArray]]:
        for start in range(0, self._edges, self._size):
            yield self._file.block(start, min(self._edges, start + self._size))


def _first_bytes(path: Path) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        return file.read(_HEADER)


def _width(path: Path, begun: bytes) -> np.dtype[np.signedinteger]:
    for width in (np.dtype("<i4"), np.dtype("<i8")):
        if begun == _MAGIC % width.itemsize:
            return width
    raise CollectionDamaged(f"{path} is no file of edges", hint="name another file, or move this one away")

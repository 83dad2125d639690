"""A priority queue in which each item occurs once, and from which any item can be removed.

Moving an item leaves its old entry in the heap, where it is skipped when it comes to the top; when most entries are
stale, the heap is rebuilt. So every operation takes logarithmic time on average, and the heap never holds more than
about twice the number of its items.

Items of equal keys come in the order of a rank that the caller gives, not in that of their arrival here: the order then
is a function of what is in the heap alone, and a frontier that was read back from disk decides as the one that was
written. A stale entry may have the key and the rank of another item; a serial number keeps items themselves from being
compared.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

_SPARE = 4
"""Stale entries a heap may hold besides as many as it has items: small heaps, one for each address, stay small."""

K = TypeVar("K", float, tuple[float, float, float])
T = TypeVar("T", bound=Hashable)


class IndexedHeap(Generic[K, T]):
    """Items by key, the smallest first; among equal keys by rank. Ranks of the items in a heap differ, and compare."""

    __slots__ = ("_entries", "_heap", "_serial")

    def __init__(self) -> None:
        self._entries: dict[T, tuple[K, Any, int, T]] = {}
        self._heap: list[tuple[K, Any, int, T]] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, item: T) -> bool:
        return item in self._entries

    @property
    def weight(self) -> int:
        """How many entries are held, stale ones included."""
        return len(self._heap)

    def put(self, item: T, key: K, rank: Any) -> None:
        """Insert an item, or move it to another key."""
        before = self._entries.get(item)
        if before is not None and before[0] == key and before[1] == rank:
            return
        self._serial += 1
        entry = self._entries[item] = (key, rank, self._serial, item)
        heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + _SPARE:
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def drop(self, item: T) -> None:
        """Remove an item, if it is there."""
        self._entries.pop(item, None)

    @property
    def first(self) -> K | None:
        """The smallest key."""
        heap, entries = self._heap, self._entries
        while heap:
            if entries.get(heap[0][3]) is heap[0]:
                return heap[0][0]
            heappop(heap)
        return None

    def pop(self) -> T | None:
        """Remove and return the item with the smallest key."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heappop(heap)
            if entries.get(entry[3]) is entry:
                del entries[entry[3]]
                return entry[3]
        return None

    def pop_until(self, limit: K) -> T | None:
        """Remove and return the item with the smallest key, unless that key is larger than the limit."""
        heap, entries = self._heap, self._entries
        while heap and heap[0][0] <= limit:
            entry = heappop(heap)
            if entries.get(entry[3]) is entry:
                del entries[entry[3]]
                return entry[3]
        return None

    def key(self, item: T) -> K | None:
        """The key of an item."""
        entry = self._entries.get(item)
        return None if entry is None else entry[0]

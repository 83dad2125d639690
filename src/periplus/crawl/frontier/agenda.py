"""Who is next: a heap in which each item stands once, and from which any item can be taken.

Moving an item leaves its old entry in the heap, where it is known to be old when it comes to the top; when most entries
are old, the heap is built anew. So every step is logarithmic on average, and the heap never holds more than twice what
is in it: a site that is moved a million times takes the room of two.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

_SPARE = 16

K = TypeVar("K", float, tuple[float, float])
T = TypeVar("T", bound=Hashable)


class Agenda(Generic[K, T]):
    """Items by key, the smallest first; among equals who came first."""

    __slots__ = ("_entries", "_heap", "_serial")

    def __init__(self) -> None:
        self._entries: dict[T, tuple[K, int, T]] = {}
        self._heap: list[tuple[K, int, T]] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, item: T) -> bool:
        return item in self._entries

    @property
    def weight(self) -> int:
        """How many entries are held, old ones included."""
        return len(self._heap)

    def put(self, item: T, key: K) -> None:
        """Give an item its place, whether or not it had another."""
        before = self._entries.get(item)
        if before is not None and before[0] == key:
            return
        self._serial += 1
        entry = self._entries[item] = (key, self._serial, item)
        heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + _SPARE:
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def drop(self, item: T) -> None:
        """Take an item out; one that is not there does not matter."""
        self._entries.pop(item, None)

    @property
    def first(self) -> K | None:
        """The smallest key."""
        heap, entries = self._heap, self._entries
        while heap:
            if entries.get(heap[0][2]) is heap[0]:
                return heap[0][0]
            heappop(heap)
        return None

    def pop(self) -> T | None:
        """Take out the item with the smallest key."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heappop(heap)
            if entries.get(entry[2]) is entry:
                del entries[entry[2]]
                return entry[2]
        return None

    def pop_until(self, limit: K) -> T | None:
        """Take out the item with the smallest key, unless that is larger than the limit."""
        heap, entries = self._heap, self._entries
        while heap and heap[0][0] <= limit:
            entry = heappop(heap)
            if entries.get(entry[2]) is entry:
                del entries[entry[2]]
                return entry[2]
        return None

    def key(self, item: T) -> K | None:
        """Where an item stands."""
        entry = self._entries.get(item)
        return None if entry is None else entry[0]

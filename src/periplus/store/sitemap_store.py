"""The files that sites publish about themselves, in memory: rows by key, by site, and in the order of their times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from periplus.model import InvariantError, Site, SitemapFileRow

_SPARE = 64
"""Places of files that were put again which may stay in the heap, beside as many as there are files."""

Place = tuple[float, int, str]


class MemorySitemapStore:
    """`SitemapStore` in memory. A heap orders files by due time; one that is put again leaves a gap in it."""

    def __init__(self) -> None:
        self._rows: dict[str, SitemapFileRow] = {}
        self._keys: dict[Site, dict[str, None]] = {}
        self._places: dict[str, Place] = {}
        self._waiting: list[Place] = []
        self._memories: dict[str, bytes] = {}
        self._sequence = 0

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """The row of each, aligned with `keys`."""
        found = [self._rows.get(key) for key in keys]
        return [None if row is None else row.row for row in found]

    def put(self, rows: Sequence[SitemapFileRow]) -> None:
        """Keep these."""
        for row in rows:
            _check_time(row)
        for row in rows:
            self._put(row)
        if len(self._waiting) > 2 * len(self._places) + _SPARE:
            self._waiting = list(self._places.values())
            heapify(self._waiting)

    def _put(self, row: SitemapFileRow) -> None:
        before = self._rows.get(row.key)
        if before is not None and before.site != row.site:
            self._keys[before.site].pop(row.key)
        self._rows[row.key] = row
        self._keys.setdefault(row.site, {})[row.key] = None
        self._places.pop(row.key, None)
        self._sequence += 1
        if row.due_at < math.inf:
            place = self._places[row.key] = (row.due_at, self._sequence, row.key)
            heappush(self._waiting, place)

    def due(self, now: float, limit: int) -> list[str]:
        """The keys of at most `limit` files that are due, the longest due first; they stay due."""
        found: list[Place] = []
        while len(found) < limit and (first := self._first()) is not None and first[0] <= now:
            found.append(heappop(self._waiting))
        for place in found:
            heappush(self._waiting, place)
        return [key for _, _, key in found]

    def next_due(self) -> float | None:
        """The earliest due time; `None`: no file is due."""
        first = self._first()
        return None if first is None else first[0]

    def _first(self) -> Place | None:
        waiting = self._waiting
        while waiting and self._places.get(waiting[0][2]) != waiting[0]:
            heappop(waiting)
        return waiting[0] if waiting else None

    def of_site(self, site: Site) -> Iterator[bytes]:
        """The rows of the sitemap files on a site."""
        return iter([self._rows[key].row for key in self._keys.get(site, ())])

    def __iter__(self) -> Iterator[bytes]:
        return iter([row.row for row in self._rows.values()])

    def memory(self, key: str) -> bytes:
        """The entries of a file at its last reading; empty if they are not kept."""
        return self._memories.get(key, b"")

    def remember(self, key: str, memory: bytes) -> None:
        """Store the entries of a file; an empty value removes them."""
        if memory:
            self._memories[key] = memory
        else:
            self._memories.pop(key, None)

    def __len__(self) -> int:
        return len(self._rows)


def _check_time(row: SitemapFileRow) -> None:
    """Refuse a time that is not a number: it cannot be ordered."""
    if row.due_at != row.due_at:
        raise InvariantError(f"the time when {row.key} is due is not a number")

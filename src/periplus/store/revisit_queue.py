"""The revisit times of URLs, in memory: a heap in which entries with an outdated time are skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from periplus.model import InvariantError, Url

_SPARE = 1000


class MemoryRevisitQueue:
    """`RevisitQueue` in memory."""

    def __init__(self) -> None:
        self._times: dict[Url, float] = {}
        self._waiting: list[tuple[float, Url]] = []

    def move(self, moves: Sequence[tuple[Url, float | None, float | None]]) -> None:
        """Each from the time that it had to the one that it gets."""
        for url, _, after in moves:
            if after is None:
                self._times.pop(url, None)
                continue
            if after != after:
                raise InvariantError("a time to wait for is not a number")
            self._times[url] = after
            heappush(self._waiting, (after, url))
        if len(self._waiting) > 2 * len(self._times) + _SPARE:
            self._waiting = [(at, url) for url, at in self._times.items()]
            heapify(self._waiting)

    def due(self, now: float, limit: int) -> list[tuple[Url, float]]:
        """Entries that are due, with their time, the earliest first. They stay."""
        found: list[tuple[float, Url]] = []
        while len(found) < limit and (first := self._first()) is not None and first[0] <= now:
            found.append(heappop(self._waiting))
        for place in found:
            heappush(self._waiting, place)
        return [(url, at) for at, url in found]

    def after(self, time: float) -> tuple[Url, float] | None:
        """The first entry at or after a time. Searches all entries."""
        later = [(at, url) for url, at in self._times.items() if at >= time]
        return min(later)[::-1] if later else None

    def next_due(self) -> float | None:
        """The first time of all."""
        first = self._first()
        return None if first is None else first[0]

    def __iter__(self) -> Iterator[Url]:
        """Every URL, the earliest first."""
        return iter(sorted(self._times, key=lambda url: (self._times[url], url)))

    def __len__(self) -> int:
        return len(self._times)

    def _first(self) -> tuple[float, Url] | None:
        waiting = self._waiting
        while waiting and self._times.get(waiting[0][1]) != waiting[0][0]:
            heappop(waiting)
        while len(waiting) > 1 and waiting[0] in waiting[1:3]:  # moved there and back
            heappop(waiting)
        return waiting[0] if waiting else None

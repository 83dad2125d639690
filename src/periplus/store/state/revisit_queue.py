"""The revisit times of URLs, on disk: one row a URL, in the order of time.

    calendar    time, fingerprint -> URL

The caller that moves a URL knows its old time, so no second table is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xxhash import xxh3_64_digest

from periplus.model import Url

from .environment import Environment
from .keys import sortable, time_of


class DiskRevisitQueue:
    """`RevisitQueue` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("calendar")

    def move(self, moves: Sequence[tuple[Url, float | None, float | None]]) -> None:
        """Each from the time that it had to the one that it gets."""
        rows = []
        for url, before, after in moves:
            key = url.encode()
            fingerprint = xxh3_64_digest(key)
            if before is not None:
                self._table.delete(sortable(before) + fingerprint)
            if after is not None:
                rows.append((sortable(after) + fingerprint, key))
        if rows:
            self._table.put_many(sorted(rows))

    def due(self, now: float, limit: int) -> list[tuple[Url, float]]:
        """Entries that are due, with their time, the earliest first. They stay."""
        found = []
        for key, url in self._table.page(b"\0", limit):
            at = time_of(key)
            if at > now:
                break
            found.append((Url(url.decode()), at))
        return found

    def after(self, time: float) -> tuple[Url, float] | None:
        """The first entry at or after a time."""
        row = self._table.at_or_after(sortable(time))
        return None if row is None else (Url(row[1].decode()), time_of(row[0]))

    def next_due(self) -> float | None:
        """The first time of all."""
        row = self._table.at_or_after(b"\0")
        return None if row is None else time_of(row[0])

    def __iter__(self) -> Iterator[Url]:
        """Every URL, the earliest first."""
        return (Url(url.decode()) for _, url in self._table.walk())

    def __len__(self) -> int:
        return len(self._table)

"""URLs that files list and that are not queued yet, on disk: one row a slice, in the order of use.

    listings    site number, level, sequence -> a slice

A slice is some hundred URLs in one value, so that a million of them cost a thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from periplus.model import Site

from .environment import Environment
from .names import ID_LENGTH, SiteNames

_SEQUENCE = b"listings-sequence"


class DiskListings:
    """`Listings` in one table."""

    def __init__(self, environment: Environment, names: SiteNames) -> None:
        self._names = names
        self._table = environment.table("listings")
        self._counters = environment.table("counters")
        self._sequence = int.from_bytes(self._counters.get(_SEQUENCE) or b"", "big")
        self._kept = self._sequence

    def add(self, site: Site, level: int, slices: Sequence[bytes]) -> None:
        """Keep slices at the end of a level."""
        head = self._names.number(site) + bytes([level])
        rows = []
        for each in slices:
            self._sequence += 1
            rows.append((head + self._sequence.to_bytes(8, "big"), each))
        if rows:
            self._table.put_many(rows)

    def take(self, site: Site) -> bytes | None:
        """The first slice of a site, lowest level first."""
        number = self._names.find(site)
        row = None if number is None else self._table.at_or_after(number)
        if row is None or number is None or not row[0].startswith(number):
            return None
        self._table.delete(row[0])
        return row[1]

    def has(self, site: Site) -> bool:
        """Whether something is listed of a site."""
        number = self._names.find(site)
        row = None if number is None else self._table.at_or_after(number)
        return row is not None and number is not None and row[0].startswith(number)

    def take_in(self, site: Site, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store rows of a site that come from another state, in their order."""
        number = self._names.number(site)
        for key, value in rows:
            self._table.put(number + key[ID_LENGTH:], value)
            self._sequence = max(self._sequence, int.from_bytes(key[-8:], "big"))

    def sites(self) -> Iterator[Site]:
        """Every site with listed URLs: one lookup for each."""
        start = b"\0"
        while row := self._table.at_or_after(start):
            number = row[0][:ID_LENGTH]
            yield self._names.name(number)
            start = number + b"\xff" * 10

    def __len__(self) -> int:
        return len(self._table)

    def flush(self) -> None:
        """Write how far places were given out: before a commit."""
        if self._sequence != self._kept:
            self._counters.put(_SEQUENCE, self._sequence.to_bytes(8, "big"))
            self._kept = self._sequence

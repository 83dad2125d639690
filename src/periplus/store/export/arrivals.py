"""Pages in the order in which they are stored, while a crawl runs: each good version once.

A page is good if it came back with a status of 2xx and its body is in the archive, as for an export (`captures`). The
reader keeps a position for each shard; the caller may save it and continue there in another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from periplus.model import Stored

from ..tables import Spooled
from ..tables.tail import Position, Tail, end_of
from .captures import COLUMNS, Capture, good_captures

TABLE = "fetches"
MAX_ORIGINALS = 100_000
"""Maximum number of bodies whose place is remembered: about 20 MB. The place of an older one is
looked up in the table (`captures.find_original`)."""

Positions = dict[int, Position]
"""How far each shard was read."""


class Arrival(Struct, frozen=True):
    """A page that was stored. `position` is behind its row: what to save once it was handled."""

    capture: Capture
    shard: int
    position: Position


class Arrivals:
    """Reads the pages of all shards as they are committed, from `positions` on."""

    def __init__(self, tables: Path, positions: Mapping[int, Position]) -> None:
        self._tail = Tail(tables, TABLE, COLUMNS)
        self._positions: Positions = dict(positions)
        self._originals: dict[str, Stored] = {}

    def take(self, spooled: Sequence[Spooled]) -> Iterator[Arrival]:
        """The pages committed up to these marks that were not returned before."""
        for shard in spooled:
            since = self._positions.get(shard.shard, Position())
            for batch, first in self._tail.read(shard, since):
                for row, capture in good_captures(batch, self._originals):
                    self._remember(capture)
                    after = Position(first.number, first.rows + row + 1)
                    self._positions[shard.shard] = after
                    yield Arrival(capture, shard.shard, after)
                self._positions[shard.shard] = Position(first.number, first.rows + batch.num_rows)

    def _remember(self, capture: Capture) -> None:
        if not capture.stored.is_revisit:
            self._originals[capture.stored.digest] = capture.stored
            if len(self._originals) > MAX_ORIGINALS:
                del self._originals[next(iter(self._originals))]


def ends(spooled: Sequence[Spooled]) -> Positions:
    """The positions after everything that is committed: only pages stored later are returned from there."""
    return {shard.shard: end_of(shard, TABLE) for shard in spooled}


def valid_positions(saved: Mapping[int, Position], spooled: Sequence[Spooled]) -> Positions:
    """Saved positions, each no further than its shard was committed; a shard without one is read from its beginning."""
    last = ends(spooled)
    return {shard: min(position, last[shard]) for shard, position in saved.items() if shard in last}

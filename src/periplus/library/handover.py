"""Which pages a program has handled: positions in the table of fetches, kept beside the state of the collection.

A page counts as handled when the program asks for the next one or leaves the loop normally. The next crawl of the same
collection hands over what was stored but not handled, so a program that stops or crashes misses no page. After a crash
it may get some pages again: those since the positions were last saved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from periplus.assembly import Layout
from periplus.model import CollectionDamaged
from periplus.store.export.arrivals import Positions, ends, valid_positions
from periplus.store.items import positions_of_items
from periplus.store.tables import Spooled
from periplus.store.tables.tail import Position

SAVE_INTERVAL: Final = 5.0
"""Seconds between two saves: how much work a crash repeats, against a small file written while pages are handled."""


class Handover:
    """The positions up to which pages were handled, of one collection."""

    def __init__(self, layout: Layout, spooled: Sequence[Spooled], *, extracts: bool) -> None:
        self._path = layout.handed_over
        self.positions: Positions = _begin(layout, spooled, extracts=extracts)
        self._saved_at = time.monotonic()

    def handled(self, shard: int, position: Position) -> None:
        """Record that a page was handled."""
        self.positions[shard] = position

    @property
    def is_due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() >= self._saved_at + SAVE_INTERVAL

    def save(self) -> None:
        """Write the positions, whole or not at all."""
        draft = self._path.with_name(self._path.name + ".new")
        draft.write_bytes(msgspec.json.encode(self.positions))
        draft.replace(self._path)
        self._saved_at = time.monotonic()


def _begin(layout: Layout, spooled: Sequence[Spooled], *, extracts: bool) -> Positions:
    """Where the last program stopped; in a collection that none has iterated over, after what it holds now."""
    saved = _saved(layout)
    if saved is None:
        return ends(spooled)
    if extracts:
        saved = furthest(saved, positions_of_items(layout.tables))
    return valid_positions(saved, spooled)


def _saved(layout: Layout) -> Positions | None:
    try:
        return msgspec.json.decode(layout.handed_over.read_bytes(), type=Positions)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        hint = f"remove {layout.handed_over}: pages stored from then on are handed over"
        raise CollectionDamaged(f"{layout.handed_over} is damaged", hint=hint) from error


def furthest(one: Mapping[int, Position], other: Mapping[int, Position]) -> Positions:
    """The later position of each shard."""
    first = Position()
    return {shard: max(one.get(shard, first), other.get(shard, first)) for shard in {*one, *other}}

"""Extractors: functions that make items of pages, called with every page once, while it is stored or later.

A loop over a crawl calls its extractor itself (`crawling`). `Extraction` does the same for a crawl without a loop, such
as that of the command line; both remember in the collection which pages were handled.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from periplus.model import UsageError
from periplus.store.export.captures import Arrivals, Capture, find_original
from periplus.store.items import ItemWriter
from periplus.store.layout import Layout
from periplus.store.tables import Spooled

from .crawling import Handover, items_of
from .page import Page

if TYPE_CHECKING:
    from periplus.engine.shard import ShardStatus

    from .crawling import Extract


class Extraction:
    """Calls a function with every page that a crawl stores, and writes what it returns into the table `items`."""

    def __init__(self, layout: Layout, extract: Extract) -> None:
        self._layout = layout
        self._extract = extract
        self._spooled: tuple[Spooled, ...] = layout.spooled
        self._handover = Handover(layout, self._spooled, extracts=True)
        self._items = ItemWriter(layout.tables)
        self._arrivals = Arrivals(layout.tables, self._handover.positions)
        self._handover.save()

    def follow(self, statuses: Sequence[ShardStatus]) -> None:
        """Handle what the shards have committed since the last call. Raises `UsageError` if the function fails."""
        marks = {shard.shard: shard for shard in self._spooled}
        for status in statuses:
            marks[status.shard] = Spooled(status.shard, self._layout.spool(status.shard), status.tables)
        self.take(tuple(marks[number] for number in sorted(marks)))

    def finish(self) -> None:
        """Handle the rest, after the last shard has closed."""
        self.take(self._layout.spooled)
        self.save()

    def save(self) -> None:
        """Items first: their file has the positions, too, so a crash in between extracts no page twice."""
        self._items.flush(self._handover.positions)
        self._handover.save()

    def take(self, spooled: tuple[Spooled, ...]) -> None:
        """Handle what is committed up to these marks. Raises `UsageError` if the function fails."""
        self._spooled = spooled
        try:
            for arrival in self._arrivals.take(spooled):
                page = Page(arrival.capture, self._layout.warc, self._with_body)
                self._items.add(arrival.capture.url, page.fetched_at, items_of(self._extract, page), time.time())
                self._handover.handled(arrival.shard, arrival.position)
                if self._items.is_full or self._handover.is_due:
                    self.save()
        except UsageError:
            self.save()
            raise

    def _with_body(self, capture: Capture) -> Capture:
        return find_original(self._layout.tables, self._spooled, capture)

"""From events to rows: what waits in memory until the next checkpoint, as small as it can be.

Of a fetch and a page a tuple is kept, never a body or a text: those are large. Events are looked at some dozens at a
time, since between two pages the processor has forgotten this code, and that costs as much as the work itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from periplus.model import (
    ChangeSeen,
    Discovered,
    EntryColumns,
    Event,
    Fetched,
    FetchEnded,
    Judged,
    PageRead,
    Refused,
    SitemapEntriesRead,
    SitemapRead,
    SitemapVisited,
)

from .columns import batch_of
from .discoveries import discoveries_batch
from .links import LinkRows
from .schemas import SCHEMAS
from .single_rows import change_row, fetch_row, page_row, sitemap_row, verdict_row
from .sitemap_entries import sitemaps_batch

_MOST_UNREAD = 64
_HEAVIEST_UNREAD = 8 << 20
"""Events, and bytes of what they hold, roughly, before rows are made of them."""
_ROW_WEIGHT = 1000
_LINK_WEIGHT = 100
"""Bytes of a row besides its URL, roughly."""


class Rows:
    """The rows of all tables since the last batches. `weight` is what they take in memory, in bytes, roughly.

    `suffixes` are further public suffixes, for the column `domain`.
    """

    def __init__(self, suffixes: tuple[str, ...] = ()) -> None:
        self._suffixes = suffixes
        self.weight = 0
        self._unread: list[Event] = []
        self._unread_weight = 0
        self._rows: dict[str, list[Any]] = {name: [] for name in SCHEMAS if name != "links"}
        self._links = LinkRows()
        self._takers: Mapping[type, Callable[[Any], None]] = {
            Discovered: self._take_offer,
            Refused: self._take_offer,
            FetchEnded: self._take_fetch,
            PageRead: self._take_page,
            SitemapVisited: self._take_visit,
            SitemapEntriesRead: self._take_entries,
            SitemapRead: self._take_sitemap,
            ChangeSeen: self._take_change,
            Judged: self._take_verdict,
        }

    def add(self, events: Sequence[Event]) -> None:
        """Record these events."""
        self._unread.extend(events)
        self._unread_weight += sum(map(_weight, events))
        if len(self._unread) >= _MOST_UNREAD or self._unread_weight >= _HEAVIEST_UNREAD:
            self._read()

    def take(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """A batch for each table that has rows, which are removed here."""
        self._read()
        for name, rows in self._rows.items():
            if rows:
                yield name, _batch(name, rows)
                rows.clear()
        if self._links:
            yield "links", self._links.take()
        self.weight = 0

    def _read(self) -> None:
        """Make rows of what was added, and hold the events no longer."""
        takers = self._takers
        for event in self._unread:
            takers[type(event)](event)
        self._unread.clear()
        self._unread_weight = 0

    def _take_offer(self, event: Discovered | Refused) -> None:
        self._rows["discoveries"].append(event)
        self.weight += _ROW_WEIGHT + 2 * len(event.discovery.url)

    def _take_fetch(self, event: FetchEnded) -> None:
        row = fetch_row(event, self._suffixes)
        if row is not None:
            self._add("fetches", row)

    def _take_page(self, event: PageRead) -> None:
        page = event.page
        self._add("pages", page_row(event))
        self._links.add(page, event.read_at)
        self.weight += len(page.links) * (_LINK_WEIGHT + len(page.base))

    def _take_entries(self, event: SitemapEntriesRead) -> None:
        self._rows["sitemap_entries"].append(event)
        entries = event.entries
        urls = entries.urls if isinstance(entries, EntryColumns) else [entry.url for entry in entries]
        self.weight += _ROW_WEIGHT * len(urls) + sum(map(len, urls))

    def _take_sitemap(self, event: SitemapRead) -> None:
        self._rows["sitemap_entries"].append(event)
        self.weight += _ROW_WEIGHT + len(event.url)

    def _take_visit(self, event: SitemapVisited) -> None:
        self._add("sitemaps", sitemap_row(event))

    def _take_change(self, event: ChangeSeen) -> None:
        self._add("changes", change_row(event))

    def _take_verdict(self, event: Judged) -> None:
        self._add("verdicts", verdict_row(event))
        self.weight += sum(map(len, event.evidence))

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        self._rows[table].append(row)
        self.weight += _ROW_WEIGHT + len(row[0])


_BATCHES: Mapping[str, Callable[[list[Any]], pa.RecordBatch]] = {
    "discoveries": discoveries_batch,
    "sitemap_entries": sitemaps_batch,
}
"""Tables whose rows are made of events, column by column."""


def _batch(table: str, rows: list[Any]) -> pa.RecordBatch:
    make = _BATCHES.get(table)
    return batch_of(SCHEMAS[table], zip(*rows, strict=True)) if make is None else make(rows)


def _weight(event: Event) -> int:
    """What an event holds, in bytes, roughly: bodies, texts and links."""
    if isinstance(event, PageRead):
        page = event.page
        return 2 * len(page.text) + len(page.links) * (_LINK_WEIGHT + len(page.base))
    if isinstance(event, FetchEnded):
        return len(event.outcome.body) if isinstance(event.outcome, Fetched) else 0
    return len(event.entries) * _ROW_WEIGHT if isinstance(event, SitemapEntriesRead) else 0

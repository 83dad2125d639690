"""From events to rows: what waits in memory until the next checkpoint, as small as it can be.

Of a fetch and a page a row is kept, never a body or a text: those are large. Events are looked at some dozens at a
time, since between two pages the processor has forgotten this code, and that costs as much as the work itself.

Rows of discoveries and of sitemap entries are made column by column from the events: a page has many links, and a
sitemap up to 50,000 entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from msgspec.structs import astuple
from numpy.typing import NDArray

from periplus.model import (
    ChangeFreq,
    ChangeSeen,
    EntryColumns,
    Event,
    Fetched,
    FetchEnded,
    Granularity,
    Hints,
    PageRead,
    Refused,
    SitemapEntriesRead,
    SitemapEntry,
    SitemapRead,
    SitemapVisited,
    UrlDiscovered,
)
from periplus.model.rows import TableRow
from periplus.urls import site_of

from .columns import (
    batch_of_arrays,
    batch_of_rows,
    batch_of_values,
    lastmod_values,
    lists,
    moments,
    plain,
    sites,
    texts,
    words,
)
from .declared import ROWS, ChangeRow, FetchRow, PageRow, SitemapRow
from .links import LinkRows
from .schemas import REAL, SCHEMAS, SIZE, TEXT
from .single_rows import change_row, fetch_row, page_row, sitemap_row

Column = Sequence[Any]


def discoveries_batch(events: Sequence[UrlDiscovered | Refused]) -> pa.RecordBatch:
    """The rows of these events, in their order."""
    discoveries = [event.discovery for event in events]
    urls, sources, found_at, depths, referrers, hints, redirects, *_ = zip(*map(astuple, discoveries), strict=True)
    columns: dict[str, Column] = {
        "url": urls,
        "site": sites(urls),
        "source": [source._value_ for source in sources],
        "found_at": found_at,
        "depth": depths,
        "redirects": redirects,
        "referrer": referrers,
    }
    return batch_of_values("discoveries", columns | _fates(events) | _hints(hints))


def _fates(events: Sequence[UrlDiscovered | Refused]) -> dict[str, Column]:
    """Whether it was new, why it was refused, by which rule. Whether a refused URL was new is not known."""
    fates = [
        (event.is_new, None, None) if isinstance(event, UrlDiscovered) else (None, event.reason, event.rule)
        for event in events
    ]
    return dict(zip(("is_new", "refused", "rule"), zip(*fates, strict=True), strict=True))


def _hints(hints: Sequence[Hints]) -> dict[str, Column]:
    lastmods, frequencies, priorities, anchors, titles = zip(*map(astuple, hints), strict=True)
    if lastmods.count(None) == len(hints):
        times: Column = lastmods
        granularities: Column = lastmods
    else:
        times, granularities = zip(*map(lastmod_values, lastmods), strict=True)
    return {
        "lastmod": times,
        "lastmod_granularity": granularities,
        "changefreq": [frequency and frequency._value_ for frequency in frequencies],
        "priority": priorities,
        "anchor": anchors,
        "title": titles,
    }


_KINDS: Final = ("page", "sitemap", "summary")
_SUMMARY: Final = _KINDS.index("summary")
_GRANULARITIES: Final = tuple(granularity.name.lower() for granularity in Granularity)
_FREQUENCIES: Final = tuple(frequency.value for frequency in ChangeFreq)
_NO_CODE: Final = 255

Codes = NDArray[np.uint8]


def sitemaps_batch(events: Sequence[SitemapEntriesRead | SitemapRead]) -> pa.RecordBatch:
    """A row for each entry, in the order of the sitemap, and for each sitemap that was read to its end."""
    lists = [event.entries if isinstance(event, SitemapEntriesRead) else (_itself(event),) for event in events]
    of_event = pa.array(np.repeat(np.arange(len(lists), dtype=np.int32), list(map(len, lists))))
    entries = EntryColumns.joined(list(map(EntryColumns.of, lists)))
    columns = {
        "url": texts(entries.urls),
        "kind": _coded(np.concatenate(list(map(_kinds, events, lists))), _KINDS),
        "sitemap": words([event.url for event in events]).take(of_event),
        "site": words([site_of(event.url) for event in events]).take(of_event),
        "read_at": moments([event.read_at for event in events]).take(of_event),
        "lastmod": moments(entries.at),
        "lastmod_granularity": _coded(np.where(np.isnan(entries.at), _NO_CODE, entries.grains), _GRANULARITIES),
        "changefreq": _coded(entries.frequencies - np.uint8(1), _FREQUENCIES),  # 0, which is none, becomes 255
        "priority": pa.array(entries.priorities, REAL, mask=np.isnan(entries.priorities)),
        "title": _titles(lists),
        "size": _sizes(entries),
    }
    sums = {name: column.take(of_event) for name, column in _sums(events).items()}
    return batch_of_arrays("sitemap_entries", columns | sums)


def _itself(event: SitemapRead) -> SitemapEntry:
    return SitemapEntry(event.url, event.lastmod)


def _kinds(event: SitemapEntriesRead | SitemapRead, entries: Sequence[SitemapEntry]) -> Codes:
    if isinstance(event, SitemapRead):
        return np.array([_SUMMARY], np.uint8)
    if isinstance(entries, EntryColumns):
        return np.zeros(len(entries), np.uint8)
    return np.array([entry.is_sitemap for entry in entries], np.uint8)


def _titles(lists: Sequence[Sequence[SitemapEntry]]) -> pa.Array:
    columns = [
        pa.nulls(len(entries), TEXT) if isinstance(entries, EntryColumns) else texts([entry.title for entry in entries])
        for entries in lists
    ]
    return pa.concat_arrays(columns)


def _sizes(entries: EntryColumns) -> pa.Array:
    if entries.sizes is None:
        return pa.nulls(len(entries), SIZE)
    is_missing = np.isnan(entries.sizes)
    return pa.array(np.where(is_missing, 0, entries.sizes).astype(np.int64), SIZE, mask=is_missing)


def _sums(events: Sequence[SitemapEntriesRead | SitemapRead]) -> dict[str, pa.Array]:
    """The summary of a reading, for each event."""
    ends = [event if isinstance(event, SitemapRead) else None for event in events]
    number = plain(SIZE)
    return {
        "entries": number([None if end is None else end.entries for end in ends]),
        "children": number([None if end is None else end.children for end in ends]),
        "problems": lists([() if end is None else [problem.reason for problem in end.problems] for end in ends]),
    }


def _coded(codes: Codes, names: Sequence[str]) -> pa.DictionaryArray:
    """A column of strings from a fixed set."""
    indices = pa.array(codes.astype(np.int32), mask=codes == _NO_CODE)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, TEXT))


_MOST_UNREAD = 64
_HEAVIEST_UNREAD = 8 << 20
"""Events, and bytes of what they hold, roughly, before rows are made of them."""
_ROW_WEIGHT = 1000
_LINK_WEIGHT = 100
"""Bytes of a row besides its URL, roughly."""


class RowBuffer:
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
        self._takers: Mapping[type, Callable[[Any], None]] = dict.fromkeys(ROWS.values(), self._take_row) | {
            FetchEnded: self._take_fetch,
            PageRead: self._take_page,
            SitemapVisited: self._take_visit,
            SitemapEntriesRead: self._take_entries,
            SitemapRead: self._take_sitemap,
            ChangeSeen: self._take_change,
        }

    def add(self, events: Sequence[Event]) -> None:
        """Record these events."""
        self._unread.extend(events)
        self._unread_weight += sum([_weight(event) for event in events if type(event) not in _LIGHT])
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
        """Make rows of what was added, and hold the events no longer; but discoveries wait as they are."""
        takers = self._takers
        offers = cast("list[UrlDiscovered | Refused]", [event for event in self._unread if type(event) in _LIGHT])
        self._rows["discoveries"] += offers
        self.weight += sum([_ROW_WEIGHT + 2 * len(event.discovery.url) for event in offers])
        for event in self._unread:
            if type(event) not in _LIGHT:
                takers[type(event)](event)
        self._unread.clear()
        self._unread_weight = 0

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

    def _take_row(self, row: TableRow) -> None:
        """Take an event that is a row itself."""
        self._rows[row.table].append(row)
        self.weight += _ROW_WEIGHT + sum([_length(value) for value in astuple(row)])

    def _add(self, table: str, row: FetchRow | PageRow | SitemapRow | ChangeRow) -> None:
        self._rows[table].append(row)
        self.weight += _ROW_WEIGHT + len(row.url)


_BATCHES: Mapping[str, Callable[[list[Any]], pa.RecordBatch]] = {
    "discoveries": discoveries_batch,
    "sitemap_entries": sitemaps_batch,
}
"""Tables whose rows are made of events, column by column."""


def _batch(table: str, rows: list[Any]) -> pa.RecordBatch:
    make = _BATCHES.get(table)
    return batch_of_rows(table, rows) if make is None else make(rows)


def _length(value: object) -> int:
    """Characters of a text, or of all in a list."""
    if isinstance(value, str):
        return len(value)
    return sum(map(len, value)) if isinstance(value, tuple | list) else 0


_LIGHT = frozenset({UrlDiscovered, Refused})
"""Events that hold next to nothing, and are most of all: they wait as they are."""


def _weight(event: Event) -> int:
    """What an event holds, in bytes, roughly: bodies, texts and links."""
    if isinstance(event, PageRead):
        page = event.page
        return 2 * len(page.text) + len(page.links) * (_LINK_WEIGHT + len(page.base))
    if isinstance(event, FetchEnded):
        return len(event.outcome.body) if isinstance(event.outcome, Fetched) else 0
    return len(event.entries) * _ROW_WEIGHT if isinstance(event, SitemapEntriesRead) else 0

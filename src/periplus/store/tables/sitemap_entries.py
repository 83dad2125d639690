"""Rows of `sitemap_entries`: the entries of sitemaps, and one summary row for each reading.

They are made column by column from the events: a sitemap has up to 50,000 entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from periplus.model import ChangeFreq, EntryColumns, Granularity, SitemapEntriesRead, SitemapEntry, SitemapRead
from periplus.urls import site_of

from .columns import lists, moments, plain, texts, words
from .schemas import REAL, SITEMAP_ENTRIES, SIZE, TEXT

_KINDS: Final = ("page", "sitemap", "summary")
_SUMMARY: Final = _KINDS.index("summary")
_GRANULARITIES: Final = tuple(granularity.name.lower() for granularity in Granularity)
_FREQUENCIES: Final = tuple(frequency.value for frequency in ChangeFreq)
_NO_CODE: Final = 255

Codes = NDArray[np.uint8]


def sitemaps_batch(events: Sequence[SitemapEntriesRead | SitemapRead]) -> pa.RecordBatch:
    """A row for each entry, in the order of the sitemap, and for each sitemap that was read to its end."""
    told = [event.entries if isinstance(event, SitemapEntriesRead) else (_itself(event),) for event in events]
    of_event = pa.array(np.repeat(np.arange(len(told), dtype=np.int32), list(map(len, told))))
    entries = EntryColumns.joined(list(map(EntryColumns.of, told)))
    columns = [
        texts(entries.urls),
        _coded(np.concatenate(list(map(_kinds, events, told))), _KINDS),
        words([event.url for event in events]).take(of_event),
        words([site_of(event.url) for event in events]).take(of_event),
        moments([event.read_at for event in events]).take(of_event),
        moments(entries.at),
        _coded(np.where(np.isnan(entries.at), _NO_CODE, entries.grains), _GRANULARITIES),
        _coded(entries.frequencies - np.uint8(1), _FREQUENCIES),  # 0, which is none, becomes 255
        pa.array(entries.priorities, REAL, mask=np.isnan(entries.priorities)),
        _titles(told),
        *(column.take(of_event) for column in _sums(events)),
        _sizes(entries),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SITEMAP_ENTRIES)


def _itself(event: SitemapRead) -> SitemapEntry:
    return SitemapEntry(event.url, event.lastmod)


def _kinds(event: SitemapEntriesRead | SitemapRead, entries: Sequence[SitemapEntry]) -> Codes:
    if isinstance(event, SitemapRead):
        return np.array([_SUMMARY], np.uint8)
    if isinstance(entries, EntryColumns):
        return np.zeros(len(entries), np.uint8)
    return np.array([entry.is_sitemap for entry in entries], np.uint8)


def _titles(told: Sequence[Sequence[SitemapEntry]]) -> pa.Array:
    columns = [
        pa.nulls(len(entries), TEXT) if isinstance(entries, EntryColumns) else texts([entry.title for entry in entries])
        for entries in told
    ]
    return pa.concat_arrays(columns)


def _sizes(entries: EntryColumns) -> pa.Array:
    if entries.sizes is None:
        return pa.nulls(len(entries), SIZE)
    is_missing = np.isnan(entries.sizes)
    return pa.array(np.where(is_missing, 0, entries.sizes).astype(np.int64), SIZE, mask=is_missing)


def _sums(events: Sequence[SitemapEntriesRead | SitemapRead]) -> list[pa.Array]:
    """The summary of a reading, for each event: entries, children, problems."""
    ends = [event if isinstance(event, SitemapRead) else None for event in events]
    number = plain(SIZE)
    return [
        number([None if end is None else end.entries for end in ends]),
        number([None if end is None else end.children for end in ends]),
        lists([() if end is None else [problem.reason for problem in end.problems] for end in ends]),
    ]


def _coded(codes: Codes, names: Sequence[str]) -> pa.DictionaryArray:
    """A column of strings from a fixed set."""
    indices = pa.array(codes.astype(np.int32), mask=codes == _NO_CODE)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, TEXT))

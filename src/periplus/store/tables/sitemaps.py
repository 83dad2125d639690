"""Rows of `sitemap_entries`: what sites say of their pages, and one row in the end on each sitemap as a whole.

Made column by column from the events themselves: a sitemap has up to 50,000 entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from periplus.model import ChangeFreq, Granularity, Lastmod, SitemapEntriesRead, SitemapEntry, SitemapRead
from periplus.urls import site_of

from .columns import lists, moments, plain, texts, words
from .schemas import REAL, SITEMAP_ENTRIES, SIZE, TEXT

_KINDS: Final = ("page", "sitemap", "summary")
_SUMMARY: Final = _KINDS.index("summary")
_GRANULARITIES: Final = tuple(granularity.name.lower() for granularity in Granularity)
_FREQUENCIES: Final = tuple(frequency.value for frequency in ChangeFreq)
_NO_CODE: Final = 255
_CODES: Final = {word: code for code, word in enumerate(_FREQUENCIES)}

Codes = NDArray[np.uint8]


def sitemaps_batch(events: Sequence[SitemapEntriesRead | SitemapRead]) -> pa.RecordBatch:
    """A row for each entry, in the order of the sitemap, and for each sitemap that was read to its end."""
    told = [event.entries if isinstance(event, SitemapEntriesRead) else (_itself(event),) for event in events]
    of_event = pa.array(np.repeat(np.arange(len(told), dtype=np.int32), list(map(len, told))))
    entries = list(chain.from_iterable(told))
    columns = [
        texts([entry.url for entry in entries]),
        _coded(_kinds(events, told), _KINDS),
        words([event.url for event in events]).take(of_event),
        words([site_of(event.url) for event in events]).take(of_event),
        moments([event.read_at for event in events]).take(of_event),
        *_lastmods([entry.lastmod for entry in entries]),
        _frequencies(entries),
        plain(REAL)([entry.priority for entry in entries]),
        _titles([entry.title for entry in entries]),
        *(column.take(of_event) for column in _sums(events)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SITEMAP_ENTRIES)


def _itself(event: SitemapRead) -> SitemapEntry:
    return SitemapEntry(event.url, event.lastmod)


def _kinds(events: Sequence[SitemapEntriesRead | SitemapRead], told: Sequence[Sequence[SitemapEntry]]) -> Codes:
    is_summary = [isinstance(event, SitemapRead) for event in events]
    kinds = np.array([entry.is_sitemap for entries in told for entry in entries], np.uint8)
    kinds[np.repeat(is_summary, list(map(len, told)))] = _SUMMARY
    return kinds


def _lastmods(lastmods: Sequence[Lastmod | None]) -> tuple[pa.Array, pa.Array]:
    """When, and how finely that was written."""
    codes = bytes([_NO_CODE if lastmod is None else lastmod.granularity for lastmod in lastmods])
    at = moments([None if lastmod is None else lastmod.at for lastmod in lastmods])
    return at, _coded(np.frombuffer(codes, np.uint8), _GRANULARITIES)


def _frequencies(entries: Sequence[SitemapEntry]) -> pa.Array:
    codes = [_NO_CODE if entry.changefreq is None else _CODES[entry.changefreq._value_] for entry in entries]
    return _coded(np.frombuffer(bytes(codes), np.uint8), _FREQUENCIES)


def _titles(titles: Sequence[str | None]) -> pa.Array:
    return pa.nulls(len(titles), TEXT) if titles.count(None) == len(titles) else texts(titles)


def _sums(events: Sequence[SitemapEntriesRead | SitemapRead]) -> list[pa.Array]:
    """What is known of a sitemap as a whole, for each event: entries, children, problems."""
    ends = [event if isinstance(event, SitemapRead) else None for event in events]
    number = plain(SIZE)
    return [
        number([None if end is None else end.entries for end in ends]),
        number([None if end is None else end.children for end in ends]),
        lists([() if end is None else [problem.reason for problem in end.problems] for end in ends]),
    ]


def _coded(codes: Codes, names: Sequence[str]) -> pa.DictionaryArray:
    """A column of words that are known beforehand."""
    indices = pa.array(codes.astype(np.int32), mask=codes == _NO_CODE)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, TEXT))

"""Rows of `links`, by far the most: a page has a hundred of them and some tens of microseconds.

They are taken column by column while the page is still warm in the processor's caches: a second later, finding its
objects in memory again would cost more than all the rest, and so would burying them. A page's own URL is a run of one
dictionary index. Targets repeat from page to page (navigation), so that each is kept once, and its site is found once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress, count

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from periplus.model import LinkKind, ParsedPage

from .columns import batch_of_arrays, moments, sites, texts

Codes = npt.NDArray[np.int32]

_KINDS = tuple(LinkKind)
_KIND_WORDS = pa.array([kind.value for kind in _KINDS])


class LinkRows:
    """The links of pages since the last batch, as columns in the making."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pages: list[str] = []
        self._read_at: list[float] = []
        self._counts: list[int] = []
        self._targets = _codebook()
        self._codes: list[int] = []
        self._anchors: list[str] = []
        self._rels: dict[int, str] = {}
        self._kinds: dict[int, LinkKind] = {}

    def add(self, page: ParsedPage, read_at: float) -> None:
        """Take the links of a page, but for those within it."""
        links = page.links
        urls, anchors, rels, kinds = links.urls, links.anchors, links.rels, links.kinds
        count = len(urls) - len(links.own)
        if not count:
            return
        start = len(self._codes)
        self._pages.append(page.url)
        self._read_at.append(read_at)
        self._counts.append(count)
        if links.own:
            flags = links.flags
            self._codes.extend(map(self._targets.__getitem__, compress(urls, flags)))
            self._anchors.extend(compress(anchors, flags))
            rels, kinds = links.moved(rels), links.moved(kinds)
        else:
            self._codes.extend(map(self._targets.__getitem__, urls))
            self._anchors.extend(anchors)
        self._rels.update([(start + position, rel) for position, rel in rels.items()])
        self._kinds.update([(start + position, kind) for position, kind in kinds.items()])

    def __len__(self) -> int:
        return len(self._codes)

    def take(self) -> pa.RecordBatch:
        """The rows since the last batch, in their order."""
        counts = np.array(self._counts)
        codes = np.array(self._codes, dtype=np.int32)
        pages, page_codes = _coded(self._pages)
        own_sites, own_site_codes = _coded(sites(pages))
        their_sites, their_site_codes = _coded(sites(self._targets))
        own_site_of_row = own_site_codes[page_codes].repeat(counts)
        their_site_of_row = their_site_codes[codes]
        columns = {
            "page": _column(pages, page_codes.repeat(counts)),
            "site": _column(own_sites, own_site_of_row),
            "read_at": moments(self._read_at).fill_null(0).take(pa.array(np.arange(len(counts)).repeat(counts))),
            "target": _column(self._targets, codes),
            "target_site": _column(their_sites, their_site_of_row),
            "anchor": texts(self._anchors),
            "rel": self._rel_column(),
            "kind": self._kind_column(),
            "is_internal": pa.array(_same(own_sites, their_sites)[own_site_of_row] == their_site_of_row),
        }
        self._begin()
        return batch_of_arrays("links", columns)

    def _rel_column(self) -> pa.DictionaryArray:
        words, indexes = _coded(["", *self._rels.values()])
        codes = np.zeros(len(self._codes), dtype=np.int32)
        codes[list(self._rels)] = indexes[1:]
        return _column(words, codes)

    def _kind_column(self) -> pa.DictionaryArray:
        codes = np.zeros(len(self._codes), dtype=np.int32)
        codes[list(self._kinds)] = [_KINDS.index(kind) for kind in self._kinds.values()]
        return pa.DictionaryArray.from_arrays(pa.array(codes), _KIND_WORDS)


def _codebook() -> defaultdict[str, int]:
    """A number for every distinct string, counted up as they appear."""
    return defaultdict(count().__next__)


def _coded(values: Sequence[str]) -> tuple[Iterable[str], Codes]:
    """The distinct ones in the order of their appearance, and for each value the place of its equal there."""
    book = _codebook()
    return book, np.fromiter(map(book.__getitem__, values), np.int32, len(values))


def _same(ours: Iterable[str], theirs: Iterable[str]) -> Codes:
    """The index of each value among theirs, or -1."""
    places = {value: place for place, value in enumerate(theirs)}
    return np.array([places.get(value, -1) for value in ours], dtype=np.int32)


def _column(distinct: Iterable[str], codes: Codes) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts(list(distinct)))

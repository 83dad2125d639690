"""Rows of `links`, by far the most: made column by column, because a page has a hundred of them and a few microseconds.

A page's own URL is repeated as a dictionary index. Targets repeat from page to page (navigation), so that each is
looked at once a batch: an index for every row, and the site of each distinct one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, compress, count, repeat
from operator import is_not
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from periplus.model import Link, LinkKind, Site, Url
from periplus.urls import site_of

from .columns import moments, texts
from .schemas import LINKS

Codes = npt.NDArray[np.int32]

_KINDS = tuple(LinkKind)
_KIND_WORDS = pa.array([kind.value for kind in _KINDS])


class PageLinks(NamedTuple):
    """The links of one page: all that is kept of it until the next batch."""

    page: Url
    site: Site
    read_at: float
    links: tuple[Link, ...]


def links_batch(pages: Sequence[PageLinks]) -> pa.RecordBatch:
    """The links of these pages, in their order."""
    counts = np.fromiter((len(page.links) for page in pages), np.int64, len(pages))
    links = list(chain.from_iterable(page.links for page in pages))
    own = Coded([page.page for page in pages])
    own_sites = Coded([page.site for page in pages])
    targets = Coded([link.url for link in links])
    sites = Coded([site_of(Url(url)) for url in targets.distinct])
    target_sites = sites.codes[targets.codes]
    is_internal = own_sites.codes_in(sites).repeat(counts) == target_sites
    columns = [
        own.column(own.codes.repeat(counts)),
        own_sites.column(own_sites.codes.repeat(counts)),
        moments([page.read_at for page in pages]).take(pa.array(np.arange(len(pages)).repeat(counts))),
        targets.column(targets.codes),
        sites.column(target_sites),
        texts([link.anchor for link in links]),
        _rels([link.rel for link in links]),
        _kinds([link.kind for link in links]),
        pa.array(is_internal),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LINKS)


class Coded:
    """Strings as indices into the distinct ones, in the order of their first appearance.

    By a Python dict: building an Arrow array of all rows only to encode it costs half as much again.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self._index = {value: code for code, value in enumerate(dict.fromkeys(values))}
        self.codes: Codes = np.fromiter(map(self._index.__getitem__, values), np.int32, len(values))

    @property
    def distinct(self) -> Iterable[str]:
        """Each value once."""
        return self._index.keys()

    def codes_in(self, other: Coded) -> Codes:
        """The same values as indices into the distinct ones of another; -1 for those that are not there."""
        index = other._index
        return np.array([index.get(value, -1) for value in self._index], dtype=np.int32)[self.codes]

    def column(self, codes: Codes) -> pa.DictionaryArray:
        """Rows of these values."""
        return pa.DictionaryArray.from_arrays(pa.array(codes), texts(list(self._index)))


def _rels(rels: list[str]) -> pa.DictionaryArray:
    """Nearly all are empty, and those that are not are few: only they are looked at."""
    places = list(compress(count(), rels))
    said = Coded(["", *(rels[place] for place in places)])
    codes = np.zeros(len(rels), dtype=np.int32)
    codes[places] = said.codes[1:]
    return said.column(codes)


def _kinds(kinds: list[LinkKind]) -> pa.DictionaryArray:
    """Nearly all are anchors. Members of an enumeration are compared by identity: their hash is slow."""
    codes = np.zeros(len(kinds), dtype=np.int32)
    if kinds.count(LinkKind.ANCHOR) < len(kinds):
        for place in compress(count(), map(is_not, kinds, repeat(LinkKind.ANCHOR))):
            codes[place] = _KINDS.index(kinds[place])
    return pa.DictionaryArray.from_arrays(pa.array(codes), _KIND_WORDS)

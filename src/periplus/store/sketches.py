"""Clusters of near-duplicate pages, on any three maps of bytes; and the port in memory.

    pages      key of a URL -> number of its cluster, whether it counts as the original, how like it is
    clusters   number -> brief of the text of its first page, then the rest of the cluster
    bands      band of a brief -> the numbers of clusters with that band (see `bands`)

Only the first page of a cluster is indexed by its bands: copies take no room there, and a new page is compared with
clusters, not with pages. It is compared with at most `MAX_COMPARED`, those that share most bands first.

What makes a cluster is decided in `policy.duplicates`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged, Placement, Site, Sketched, Url
from periplus.policy.duplicates import (
    Cluster,
    are_thin,
    band_keys,
    brief_of,
    canonical,
    founded,
    is_like,
    joined,
    known_as,
    left,
    likenesses,
    listed,
    rows_of,
)
from periplus.policy.settings import VALUES, DuplicateSettings
from periplus.urls import site_of

from .bands import NUMBER, Bands, MemoryBands, numbers_of

MAX_COMPARED: Final = 16

_BandsOfPage = tuple[Sequence[int], Sequence[int]]
"""The key of each band, and the bands that may be in the index."""
_FIRST, _COPY = b"\1", b"\0"
_ALIKE: Final = b"\xff"
"""How like a page is to its cluster takes a byte; this is all."""
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Cluster).decode


class Shelf(Protocol):
    """A map of bytes."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Write or overwrite all."""

    def delete(self, key: bytes) -> bool:
        """Whether it was there."""


KeysOf = Callable[[Sequence[Url], bool], list[bytes]]
"""The key of each URL, or, if the second value says so, the key it would get."""


class Foreign(Struct, frozen=True, gc=False):
    """A page of another book: its key here, its row, and its cluster there."""

    place: bytes
    row: bytes
    kept: bytes


class SketchBook:
    """`Sketches` on shelves. `count` and `next_number` are the caller's to keep."""

    def __init__(
        self,
        pages: Shelf,
        clusters: Shelf,
        bands: Bands,
        keys_of: KeysOf,
        settings: DuplicateSettings | None = None,
    ) -> None:
        self._pages = pages
        self._clusters = clusters
        self._bands = bands
        self._keys_of = keys_of
        self._settings = settings or DuplicateSettings()
        self._read: dict[bytes, bytes] = {}
        self._changed: dict[bytes, bytes] = {}
        self.count = 0
        self.next_number = 0

    def add(self, pages: Sequence[Sketched]) -> list[Placement | None]:
        """Put each with those that it resembles, one after the other."""
        briefs = [brief_of(page.sketch) for page in pages]
        bands = self._bands_of(briefs)
        places = self._keys_of([page.url for page in pages], True)
        known = self._pages.get_many(places)
        before = dict(known)
        answers = [self._add(*each, known) for each in zip(pages, briefs, places, bands, strict=True)]
        self._keep(before, known)
        return answers

    def get(self, urls: Sequence[Url]) -> list[Placement | None]:
        """The placement of each URL, aligned with `urls`."""
        places = self._keys_of(urls, False)
        known = self._pages.get_many(places)
        return [self._placement_of(url, known.get(place)) for url, place in zip(urls, places, strict=True)]

    def mark_listed(self, urls: Sequence[Url]) -> None:
        """Their sites list these now."""
        known = self._pages.get_many(places := self._keys_of(urls, False))
        for url, place in zip(urls, places, strict=True):
            number = known[place][:NUMBER] if place in known else b""
            kept = self._row(number) if number else None
            if kept is not None:
                self._change(number, kept, listed(_cluster(kept), url))
        self._keep(known, known)

    def remove(self, urls: Sequence[Url]) -> None:
        """Remove pages that no longer exist."""
        places = self._keys_of(urls, False)
        known = self._pages.get_many(places)
        before = dict(known)
        for url, place in zip(urls, places, strict=True):
            row = known.pop(place, None)
            if row is not None:
                self._leave(row, partial(_left, url))
        self._keep(before, known)

    # whole sites

    def take_in(self, pages: Sequence[Foreign], numbers: dict[bytes, bytes], comes: Callable[[Url], bool]) -> None:
        """Keep pages of another book, with as much of their clusters as comes along; those that are here stay.

        `numbers`: what clusters with several pages are called there and here, to be given again with the next pages.
        """
        known = self._pages.get_many([page.place for page in pages])
        before = dict(known)
        begun: list[tuple[bytes, bytes]] = []
        for page in pages:
            theirs, cluster = page.row[:NUMBER], _cluster(page.kept)
            number = known[page.place][:NUMBER] if page.place in known else numbers.get(theirs)
            if number is None:
                number = self._begin(page.kept[:VALUES], cluster, comes)
                begun.append((number, page.kept[:VALUES]))
            if cluster.size > 1:
                numbers[theirs] = number
            if page.place not in known:
                known[page.place] = number + page.row[NUMBER:]
                self._count_in(number, is_first=_standing(page.row) == _FIRST)
        keys = band_keys(rows_of([brief for _, brief in begun]))
        for (number, _), mine, seen in zip(begun, keys.tolist(), self._bands.look(keys), strict=True):
            self._bands.add(number, mine, seen)
        self._keep(before, known)

    def _begin(self, brief: bytes, cluster: Cluster, comes: Callable[[Url], bool]) -> bytes:
        number = self.next_number.to_bytes(NUMBER, "big")
        self.next_number += 1
        self.count += 1
        members = tuple([each for each in cluster.members if comes(each.url)])
        empty = msgspec.structs.replace(cluster, size=0, has_first=False, members=members)
        self._changed[number] = brief + _encode(empty)
        return number

    def _count_in(self, number: bytes, *, is_first: bool) -> None:
        row = self._row(number)
        if row is None:
            raise _damaged("a page has a cluster that is not there")
        cluster = _cluster(row)
        has_first = cluster.has_first or is_first
        self._change(number, row, msgspec.structs.replace(cluster, size=cluster.size + 1, has_first=has_first))

    def give_away(self, pages: Mapping[bytes, bytes], goes: Callable[[Url], bool]) -> None:
        """Remove these pages: rows by key, as stored here."""
        for row in pages.values():
            self._leave(row, partial(_without, goes))
        self._keep(pages, {})

    def __len__(self) -> int:
        return self.count

    def _bands_of(self, briefs: Sequence[bytes]) -> list[_BandsOfPage | None]:
        """The bands of each page, and which of them may be in the index; none for pages with hardly any text."""
        rows = rows_of(briefs)
        keys = band_keys(rows)
        thin = are_thin(rows, self._settings).tolist()
        both = zip(thin, keys.tolist(), self._bands.look(keys), strict=True)
        return [None if is_thin else (mine, seen) for is_thin, mine, seen in both]

    # one page

    def _add(
        self, page: Sketched, brief: bytes, place: bytes, bands: _BandsOfPage | None, known: dict[bytes, bytes]
    ) -> Placement | None:
        site = site_of(page.url)
        row = known.get(place)
        if row is not None:
            likeness = None if bands is None else self._still_like(row[:NUMBER], page, brief, site)
            if likeness is not None:
                known[place], placement = self._join(row[:NUMBER], page, likeness, _standing(row))
                return placement
            del known[place]
            self._leave(row, partial(_left, page.url))
        if bands is None:
            return None
        nearest = self._nearest(page, brief, site, self._bands.find(*bands)) if bands[1] else None
        if nearest is None:
            known[place], placement = self._found(page, brief, site, bands)
        else:
            number, likeness = nearest
            known[place], placement = self._join(number, page, likeness, None)
        return placement

    def _still_like(self, number: bytes, page: Sketched, brief: bytes, site: Site) -> float | None:
        """How much a page resembles its cluster, if still enough."""
        row = self._row(number)
        if row is None:
            return None
        (likeness,) = likenesses(brief, [row[:VALUES]])
        return likeness if self._is_like(likeness, row, page, site) else None

    def _nearest(self, page: Sketched, brief: bytes, site: Site, found: bytes) -> tuple[bytes, float] | None:
        """The cluster that the page resembles most, if enough; of equals the oldest."""
        numbers = _most_shared(found)
        rows = [(number, row) for number in numbers if (row := self._row(number)) is not None]
        if not rows:
            return None
        likeness = likenesses(brief, [row[:VALUES] for _, row in rows])
        near = sorted(zip([-each for each in likeness], rows, strict=True))
        for less, (number, row) in near:
            if self._is_like(-less, row, page, site):
                return number, -less
        return None

    def _is_like(self, likeness: float, row: bytes, page: Sketched, site: Site) -> bool:
        cluster = _cluster(row)
        has_same_links = page.links != 0 and page.links == cluster.links
        return is_like(likeness, self._settings, is_one_site=cluster.site == site, has_same_links=has_same_links)

    def _found(self, page: Sketched, brief: bytes, site: Site, bands: _BandsOfPage) -> tuple[bytes, Placement]:
        number = self.next_number.to_bytes(NUMBER, "big")
        self.next_number += 1
        self.count += 1
        self._changed[number] = brief + _encode(founded(page, site))
        self._bands.add(number, *bands)
        return number + _FIRST + _ALIKE, Placement(self.next_number - 1, page.url, 1, 1.0, False, page.canonical, site)

    def _join(self, number: bytes, page: Sketched, likeness: float, was: bytes | None) -> tuple[bytes, Placement]:
        """`was`: what the page counted as there, if it is there already."""
        row = self._changed.get(number) or self._read[number]
        cluster = joined(_cluster(row), page, is_new=was is None)
        is_first = was == _FIRST or not cluster.has_first
        if is_first and not cluster.has_first:
            cluster = msgspec.structs.replace(cluster, has_first=True)
        self._change(number, row, cluster)
        placement = _placement(number, cluster, page.url, likeness, not is_first)
        return number + (_FIRST if is_first else _COPY) + bytes([round(likeness * _ALIKE[0])]), placement

    def _leave(self, row: bytes, without: Callable[[Cluster, bool], Cluster]) -> None:
        """`without`: the cluster as it is without the page, given whether that was the original."""
        number = row[:NUMBER]
        kept = self._row(number)
        if kept is None:
            return
        cluster = without(_cluster(kept), _standing(row) == _FIRST)
        if cluster.size > 0:
            self._change(number, kept, cluster)
            return
        self.count -= 1
        self._changed.pop(number, None)
        del self._read[number]
        self._clusters.delete(number)
        self._bands.remove(number, band_keys(rows_of([kept[:VALUES]]))[0].tolist())

    def _placement_of(self, url: Url, row: bytes | None) -> Placement | None:
        kept = None if row is None else self._clusters.get(row[:NUMBER])
        if row is None or kept is None:
            return None
        return _placement(row[:NUMBER], _cluster(kept), url, row[-1] / _ALIKE[0], _standing(row) != _FIRST)

    # rows

    def _row(self, number: bytes) -> bytes | None:
        """The stored form of a cluster."""
        row = self._changed.get(number) or self._read.get(number) or self._clusters.get(number)
        if row is not None:
            self._read[number] = row
        return row

    def _change(self, number: bytes, row: bytes, cluster: Cluster) -> None:
        changed = row[:VALUES] + _encode(cluster)
        if changed != row:
            self._changed[number] = changed

    def _keep(self, before: Mapping[bytes, bytes], known: Mapping[bytes, bytes]) -> None:
        """Write what has changed."""
        for place in before.keys() - known.keys():
            self._pages.delete(place)
        self._pages.put_many(sorted([item for item in known.items() if before.get(item[0]) != item[1]]))
        self._clusters.put_many(sorted(self._changed.items()))
        self._changed.clear()
        self._read.clear()


def _left(url: Url, cluster: Cluster, was_first: bool) -> Cluster:
    return left(cluster, url, was_first=was_first)


def _without(goes: Callable[[Url], bool], cluster: Cluster, was_first: bool) -> Cluster:
    """The cluster with one page less; of its named members, all that go are removed."""
    members = tuple([each for each in cluster.members if not goes(each.url)])
    has_first = cluster.has_first and not was_first
    return msgspec.structs.replace(cluster, size=cluster.size - 1, has_first=has_first, members=members)


def _standing(row: bytes) -> bytes:
    """What a page counts as in its cluster."""
    return row[NUMBER : NUMBER + 1]


def _most_shared(numbers: bytes) -> list[bytes]:
    """Each number once, at most `MAX_COMPARED`: those that come most often, of equals the oldest."""
    if len(numbers) <= NUMBER:
        return [numbers] if numbers else []
    counts = Counter(numbers_of(numbers))
    return sorted(counts, key=lambda number: (-counts[number], number))[:MAX_COMPARED]


def _cluster(row: bytes) -> Cluster:
    try:
        return _decode(row[VALUES:])
    except msgspec.DecodeError as error:
        raise _damaged(str(error)) from error


def _damaged(why: str) -> CollectionDamaged:
    hint = "restore it from a copy, or begin a new crawl"
    return CollectionDamaged(f"a cluster of the state cannot be read: {why}", hint=hint)


def _placement(number: bytes, cluster: Cluster, url: Url, likeness: float, is_copy: bool) -> Placement:
    known = known_as(cluster, url)
    names = None if known is None else known.names
    best = canonical(cluster) or url
    return Placement(int.from_bytes(number, "big"), best, cluster.size, likeness, is_copy, names, cluster.site)


class _Dict(dict[bytes, bytes]):
    """A `Shelf` in memory."""

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: self[key] for key in keys if key in self}

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        self.update(items)

    def delete(self, key: bytes) -> bool:
        return self.pop(key, None) is not None


class MemorySketches(SketchBook):
    """`Sketches` in dicts."""

    def __init__(self, settings: DuplicateSettings | None = None) -> None:
        super().__init__(_Dict(), _Dict(), MemoryBands(), _encoded, settings)


def _encoded(urls: Sequence[Url], is_new: bool) -> list[bytes]:
    del is_new
    return [url.encode() for url in urls]

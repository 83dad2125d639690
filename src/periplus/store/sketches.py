"""Clusters of pages that say nearly the same, on any three maps of bytes; and the port in memory.

    pages      key of a URL -> number of its cluster, and whether it counts as the original
    clusters   number -> brief of what its first page said, then the rest of the cluster
    bands      band of a brief -> the numbers of clusters with that band (see `Bands`)

Only what the first page of a cluster said is filed under its bands: copies take no room there, and a new page is
compared with clusters, not with pages. It is compared with at most `MAX_COMPARED`, those that share most bands first.

What makes a cluster is decided in `policy.duplicates`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol

import msgspec

from periplus.model import CollectionDamaged, Placement, Site, Sketched, Url
from periplus.policy.duplicates import (
    VALUES,
    Cluster,
    DuplicateSettings,
    band_keys,
    brief_of,
    canonical,
    founded,
    is_like,
    is_thin,
    joined,
    left,
    likenesses,
)
from periplus.urls import site_of

NUMBER: Final = 4
"""Bytes of the number of a cluster."""
MAX_HOT: Final = 16
"""Clusters that are filed under one band; who comes later is found by its other bands."""
MAX_COMPARED: Final = 16

_FIRST, _COPY = b"\1", b"\0"
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


class Bands(Protocol):
    """Which clusters have a band, at most `MAX_HOT` of them: numbers of `NUMBER` bytes in a row."""

    def look_up(self, keys: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """What lies where looking takes long: to be handed to `find`, for many at once."""

    def find(self, keys: Sequence[bytes], looked_up: Mapping[bytes, bytes]) -> list[bytes]:
        """The clusters of each of a page's bands."""

    def add(self, number: bytes, keys: Sequence[bytes], found: Sequence[bytes]) -> None:
        """File a cluster under its bands, of which `find` gave `found`."""

    def remove(self, number: bytes, keys: Sequence[bytes]) -> None:
        """Forget a cluster."""


class SketchBook:
    """`Sketches` on shelves. `count` and `next_number` are the caller's to keep."""

    def __init__(
        self,
        pages: Shelf,
        clusters: Shelf,
        bands: Bands,
        keys_of: Callable[[Sequence[Url]], list[bytes]],
        settings: DuplicateSettings | None = None,
    ) -> None:
        self._pages = pages
        self._clusters = clusters
        self._bands = bands
        self._keys_of = keys_of
        self._settings = settings or DuplicateSettings()
        self._read: dict[bytes, bytes] = {}
        self._changed: dict[bytes, bytes] = {}
        self._looked_up: Mapping[bytes, bytes] = {}
        self.count = 0
        self.next_number = 0

    def add(self, pages: Sequence[Sketched]) -> list[Placement | None]:
        """Put each with those that it resembles, one after the other."""
        briefs = [brief_of(page.sketch) for page in pages]
        bands = [[] if is_thin(brief, self._settings) else band_keys(brief) for brief in briefs]
        self._looked_up = self._bands.look_up(chain.from_iterable(bands))
        places = self._keys_of([page.url for page in pages])
        known = self._pages.get_many(places)
        before = dict(known)
        answers = [self._add(*each, known) for each in zip(pages, briefs, bands, places, strict=True)]
        self._keep(before, known)
        return answers

    def get(self, urls: Sequence[Url]) -> list[Placement | None]:
        """Where each is now, aligned with `urls`."""
        places = self._keys_of(urls)
        known = self._pages.get_many(places)
        return [self._placement_of(url, known.get(place)) for url, place in zip(urls, places, strict=True)]

    def remove(self, urls: Sequence[Url]) -> None:
        """Take out those that are no more."""
        places = self._keys_of(urls)
        known = self._pages.get_many(places)
        before = dict(known)
        for url, place in zip(urls, places, strict=True):
            row = known.pop(place, None)
            if row is not None:
                self._leave(url, row)
        self._keep(before, known)

    def __len__(self) -> int:
        return self.count

    # one page

    def _add(
        self, page: Sketched, brief: bytes, bands: list[bytes], place: bytes, known: dict[bytes, bytes]
    ) -> Placement | None:
        site = site_of(page.url)
        row = known.get(place)
        if row is not None:
            likeness = self._still_like(row[:NUMBER], brief, site) if bands else None
            if likeness is not None:
                known[place], placement = self._join(row[:NUMBER], page, likeness, row[NUMBER:])
                return placement
            del known[place]
            self._leave(page.url, row)
        if not bands:
            return None
        found = self._bands.find(bands, self._looked_up)
        nearest = self._nearest(brief, site, found)
        if nearest is None:
            known[place], placement = self._found(page, brief, site, bands, found)
        else:
            known[place], placement = self._join(*nearest[:1], page, nearest[1], None)
        return placement

    def _still_like(self, number: bytes, brief: bytes, site: Site) -> float | None:
        """How much a page resembles its cluster, if still enough."""
        row = self._row(number)
        if row is None:
            return None
        (likeness,) = likenesses(brief, [row[:VALUES]])
        return likeness if is_like(likeness, _cluster(row).site == site, self._settings) else None

    def _nearest(self, brief: bytes, site: Site, found: Sequence[bytes]) -> tuple[bytes, float] | None:
        """The cluster that the page resembles most, if enough; of equals the oldest."""
        numbers = _most_shared(b"".join(found))
        rows = [(number, row) for number in numbers if (row := self._row(number)) is not None]
        if not rows:
            return None
        likeness = likenesses(brief, [row[:VALUES] for _, row in rows])
        near = sorted(zip([-each for each in likeness], rows, strict=True))
        for less, (number, row) in near:
            if is_like(-less, _cluster(row).site == site, self._settings):
                return number, -less
        return None

    def _found(
        self, page: Sketched, brief: bytes, site: Site, bands: list[bytes], found: Sequence[bytes]
    ) -> tuple[bytes, Placement]:
        number = self.next_number.to_bytes(NUMBER, "big")
        self.next_number += 1
        self.count += 1
        self._changed[number] = brief + _encode(founded(page, site))
        self._bands.add(number, bands, found)
        return number + _FIRST, Placement(self.next_number - 1, page.url, 1, 1.0, False)

    def _join(self, number: bytes, page: Sketched, likeness: float, was: bytes | None) -> tuple[bytes, Placement]:
        """`was`: what the page counted as there, if it is there already."""
        row = self._changed.get(number) or self._read[number]
        cluster = joined(_cluster(row), page, is_new=was is None)
        is_first = was == _FIRST or not cluster.has_first
        if is_first and not cluster.has_first:
            cluster = msgspec.structs.replace(cluster, has_first=True)
        self._changed[number] = row[:VALUES] + _encode(cluster)
        placement = _placement(number, cluster, page.url, likeness, not is_first)
        return number + (_FIRST if is_first else _COPY), placement

    def _leave(self, url: Url, row: bytes) -> None:
        number = row[:NUMBER]
        kept = self._row(number)
        if kept is None:
            return
        cluster = left(_cluster(kept), url, was_first=row[NUMBER:] == _FIRST)
        if cluster.size > 0:
            self._changed[number] = kept[:VALUES] + _encode(cluster)
            return
        self.count -= 1
        self._changed.pop(number, None)
        del self._read[number]
        self._clusters.delete(number)
        self._bands.remove(number, band_keys(kept[:VALUES]))

    def _placement_of(self, url: Url, row: bytes | None) -> Placement | None:
        kept = None if row is None else self._clusters.get(row[:NUMBER])
        if row is None or kept is None:
            return None
        return _placement(row[:NUMBER], _cluster(kept), url, 1.0, row[NUMBER:] != _FIRST)

    # rows

    def _row(self, number: bytes) -> bytes | None:
        """What is kept of a cluster."""
        row = self._changed.get(number) or self._read.get(number) or self._clusters.get(number)
        if row is not None:
            self._read[number] = row
        return row

    def _keep(self, before: Mapping[bytes, bytes], known: Mapping[bytes, bytes]) -> None:
        """Write what has changed."""
        for place in before.keys() - known.keys():
            self._pages.delete(place)
        self._pages.put_many(sorted([item for item in known.items() if before.get(item[0]) != item[1]]))
        self._clusters.put_many(sorted(self._changed.items()))
        self._changed.clear()
        self._read.clear()
        self._looked_up = {}


def _most_shared(numbers: bytes) -> list[bytes]:
    """Each number once, at most `MAX_COMPARED`: those that come most often, of equals the oldest."""
    if len(numbers) <= NUMBER:
        return [numbers] if numbers else []
    counts = Counter([numbers[at : at + NUMBER] for at in range(0, len(numbers), NUMBER)])
    return sorted(counts, key=lambda number: (-counts[number], number))[:MAX_COMPARED]


def _cluster(row: bytes) -> Cluster:
    try:
        return _decode(row[VALUES:])
    except msgspec.DecodeError as error:
        raise CollectionDamaged(
            f"a cluster of the state cannot be read: {error}", hint="restore it from a copy, or begin a new crawl"
        ) from error


def _placement(number: bytes, cluster: Cluster, url: Url, likeness: float, is_copy: bool) -> Placement:
    return Placement(int.from_bytes(number, "big"), canonical(cluster) or url, cluster.size, likeness, is_copy)


class _Dict(dict[bytes, bytes]):
    """A `Shelf` in memory."""

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: self[key] for key in keys if key in self}

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        self.update(items)

    def delete(self, key: bytes) -> bool:
        return self.pop(key, None) is not None


class MemoryBands:
    """`Bands` in a dict."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, bytes] = {}

    def look_up(self, keys: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """Nothing takes long here."""
        del keys
        return {}

    def find(self, keys: Sequence[bytes], looked_up: Mapping[bytes, bytes]) -> list[bytes]:
        """The clusters of each band."""
        del looked_up
        return [self._numbers.get(key, b"") for key in keys]

    def add(self, number: bytes, keys: Sequence[bytes], found: Sequence[bytes]) -> None:
        """File a cluster under its bands."""
        for key, others in zip(keys, found, strict=True):
            if len(others) < MAX_HOT * NUMBER:
                self._numbers[key] = others + number

    def remove(self, number: bytes, keys: Sequence[bytes]) -> None:
        """Forget a cluster."""
        for key in keys:
            rest = without(self._numbers.get(key, b""), number)
            if rest:
                self._numbers[key] = rest
            else:
                self._numbers.pop(key, None)


def without(numbers: bytes, number: bytes) -> bytes:
    """Numbers in a row, without this one."""
    parts = [numbers[at : at + NUMBER] for at in range(0, len(numbers), NUMBER)]
    return b"".join([part for part in parts if part != number])


class MemorySketches(SketchBook):
    """`Sketches` in dicts."""

    def __init__(self, settings: DuplicateSettings | None = None) -> None:
        super().__init__(_Dict(), _Dict(), MemoryBands(), _encoded, settings)


def _encoded(urls: Sequence[Url]) -> list[bytes]:
    return [url.encode() for url in urls]

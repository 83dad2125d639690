"""Stores clusters of near-duplicates on disk, in three tables that are made when the first page comes.

    sketch-pages   site number, fingerprint -> number of its cluster, whether it is the original (keys: see `sites`)
    sketches       number -> brief, cluster
    sketch-bands   band, its bytes -> numbers of clusters (see `disk_bands`)

Two URLs of a site with one fingerprint count as one here: a site can only confuse its own clusters. A filter in memory
(`disk_bands.KeyFilter`) spares most lookups of bands, since most pages resemble no other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from xxhash import xxh3_64_digest

from periplus.model import Placement, Site, Sketched, Url
from periplus.policy.duplicates import BANDS
from periplus.policy.settings import DuplicateSettings

from ..bands import NUMBER
from ..sketches import Foreign, SketchBook
from .environment import Environment
from .rows import in_chunks
from .sites import ID_LENGTH, SiteNames, places_of

if TYPE_CHECKING:
    from .disk_bands import DiskBands

MAX_WAITING: Final = 16_384
"""Clusters of which a band may wait to be written: about 2 KB each."""
COUNTS = b"sketches"
_TOGETHER = 1_000
"""Pages that move together."""
Comes = Callable[[Url], bool]
_COUNTS = struct.Struct(f">{2 + BANDS}Q")


class DiskSketches:
    """`Sketches` in three tables."""

    def __init__(
        self,
        environment: Environment,
        names: SiteNames,
        settings: DuplicateSettings | None = None,
        *,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._environment = environment
        self._names = names
        self._settings = settings
        self._max_waiting = max_waiting
        self._counters = environment.table("counters")
        counts = self._counters.get(COUNTS)
        self._kept_counts: tuple[int, ...] = (0,) * (2 + BANDS) if counts is None else _COUNTS.unpack(counts)

    @cached_property
    def _bands(self) -> DiskBands:
        from .disk_bands import DiskBands  # imports numpy: a process that only reads needs none

        tables = self._environment.table("sketch-bands"), self._environment.table("sketches")
        return DiskBands(*tables, list(self._kept_counts[2:]), self._max_waiting)

    @cached_property
    def _book(self) -> SketchBook:
        pages, clusters = self._environment.table("sketch-pages"), self._environment.table("sketches")
        book = SketchBook(pages, clusters, self._bands, self._keys_of, self._settings)
        book.count, book.next_number = self._kept_counts[:2]
        return book

    def _keys_of(self, urls: Sequence[Url], is_new: bool) -> list[bytes]:
        number_of = self._names.number if is_new else self._names.find
        return [key for key, _ in places_of(urls, number_of, xxh3_64_digest)]

    def add(self, pages: Sequence[Sketched]) -> list[Placement | None]:
        """Put each with those that it resembles, one after the other."""
        answers = self._book.add(pages)
        self._bands.tidy(self._book.next_number)
        return answers

    def get(self, urls: Sequence[Url]) -> list[Placement | None]:
        """The placement of each URL, aligned with `urls`."""
        return self._book.get(urls) if len(self) else [None] * len(urls)

    def mark_listed(self, urls: Sequence[Url]) -> None:
        """Their sites list these now."""
        if urls and len(self):
            self._book.mark_listed(urls)

    def remove(self, urls: Sequence[Url]) -> None:
        """Remove pages that no longer exist."""
        if len(self):
            self._book.remove(urls)

    # whole sites

    def carried(self, site: Site) -> Iterator[list[Foreign]]:
        """The pages of a site, many at a time; their places are those that they have here."""
        number = self._names.find(site) if len(self) else None
        if number is None:
            return
        pages, clusters = self._environment.table("sketch-pages"), self._environment.table("sketches")
        for rows in in_chunks(pages.walk(number), _TOGETHER):
            kept = clusters.get_many([row[:NUMBER] for _, row in rows])
            yield [Foreign(place, row, kept[row[:NUMBER]]) for place, row in rows if row[:NUMBER] in kept]

    def take_in(self, site: Site, pages: Sequence[Foreign], numbers: dict[bytes, bytes], comes: Comes) -> None:
        """Store pages of a site that come from another state (see `SketchBook.take_in`)."""
        mine = self._names.number(site)
        own = [Foreign(mine + page.place[ID_LENGTH:], page.row, page.kept) for page in pages]
        self._book.take_in(own, numbers, comes)
        self._bands.tidy(self._book.next_number)

    def forget(self, site: Site, goes: Comes) -> int:
        """Keep nothing of a site any more; how many pages it had. `goes`: what leaves, now or with another site."""
        gone = 0
        number = self._names.find(site) if len(self) else None
        pages = () if number is None else self._environment.table("sketch-pages").walk(number)
        for rows in in_chunks(pages, _TOGETHER):
            self._book.give_away(dict(rows), goes)
            gone += len(rows)
        return gone

    def __len__(self) -> int:
        return self._book.count if "_book" in self.__dict__ else self._kept_counts[0]

    def flush(self) -> None:
        """Write down what is counted: before a commit."""
        if "_book" not in self.__dict__:
            return
        counts = (self._book.count, self._book.next_number, *self._bands.written)
        if counts != self._kept_counts:
            self._counters.put(COUNTS, _COUNTS.pack(*counts))
            self._kept_counts = counts

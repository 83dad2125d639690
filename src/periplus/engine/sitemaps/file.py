"""Reads a sitemap in steps: entries are compared with the last reading, judged, scored, and cut into slices.

A reading takes several inputs. What is committed of it (`UnfinishedFile`) has the number of steps so far: a process
that continues the reading repeats those steps without effects, and goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final, cast

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from zstandard import ZstdCompressor, ZstdDecompressor

from periplus.formats.sitemap import Child, Entry, Kind
from periplus.model import (
    Discovery,
    EntryColumns,
    Hints,
    Lastmod,
    Listings,
    Problem,
    Site,
    SitemapEntry,
    Source,
    Url,
)
from periplus.policy.filters import MediaTypes
from periplus.policy.ordering import levels_of
from periplus.urls import canonical, resolve_all, site_of

from .difference import Compared, Comparison, EntryChange, FileMemory, prints_of, times_at
from .parser import ARCHIVE, IncrementalSitemapParser
from .scores import Priorities, SitemapScore
from .settings import DifferenceSettings
from .store import UnfinishedFile
from .visits import SitemapAuthority

LENGTH = 500
"""Entries of a slice, at most: a whole slice is queued when a site's queue has run dry."""

_BREAK: Final = "\n"
"""No canonical URL has one."""

Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class Slice(Struct, frozen=True, array_like=True):
    """Some hundred entries that a file lists of one site at one level, on their way to the queue of the site.

    A file lists up to 50,000 pages and a site may have thousands of files, so work for each single entry would be most
    of the cost of reading. A slice keeps entries in the columns in which they come, and is packed with zstd: URLs of
    one site compress well. A column is empty where no entry has a value; `scores` may be one number.
    """

    file: Url
    source: Source
    found_at: float
    lines: str
    scores: bytes
    at: bytes = b""
    grains: bytes = b""
    frequencies: bytes = b""
    priorities: bytes = b""

    @property
    def urls(self) -> list[Url]:
        """The pages."""
        return cast("list[Url]", self.lines.split(_BREAK))

    def discoveries(self) -> list[Discovery]:
        """Every entry as it was found."""
        entries = self._entries()
        scores = _reals(self.scores, 1).tolist()
        if len(scores) == 1:
            scores *= len(entries)
        hints = map(Hints, entries.lastmods(), entries.changefreqs(), entries.stated_priorities())
        return [
            Discovery(url, self.source, self.found_at, 1, self.file, hint, score=score)
            for url, score, hint in zip(self.urls, scores, hints, strict=True)
        ]

    def _entries(self) -> EntryColumns:
        urls = self.urls
        count = len(urls)
        grains, frequencies = _codes(self.grains, count), _codes(self.frequencies, count)
        return EntryColumns(urls, _reals(self.at, count), grains, frequencies, _reals(self.priorities, count))


_decode = msgspec.msgpack.Decoder(Slice).decode
_encode = msgspec.msgpack.Encoder().encode
_press = ZstdCompressor(level=1).compress
_unpress = ZstdDecompressor().decompress


def unpack_slice(packed: bytes) -> Slice:
    """A slice as it was packed."""
    return _decode(_unpress(packed))


def pack(
    file: Url, source: Source, found_at: float, listed: EntryColumns, scores: Sequence[float]
) -> Iterator[tuple[int, list[bytes]]]:
    """Entries of one site as slices, by level: each level and its slices."""
    worth = np.array(scores, np.float64)
    levels = levels_of(worth)
    for level in np.unique(levels).tolist():
        places = np.flatnonzero(levels == level)
        yield (
            level,
            [
                _packed(file, source, found_at, listed.take(some), worth[some])
                for start in range(0, len(places), LENGTH)
                for some in [places[start : start + LENGTH]]
            ],
        )


def _packed(file: Url, source: Source, found_at: float, listed: EntryColumns, worth: Reals) -> bytes:
    is_dated = not np.isnan(listed.at).all()
    packed = _encode(
        Slice(
            file,
            source,
            found_at,
            _BREAK.join(listed.urls),
            worth[:1].tobytes() if (worth == worth[0]).all() else worth.tobytes(),
            listed.at.tobytes() if is_dated else b"",
            listed.grains.tobytes() if is_dated else b"",
            listed.frequencies.tobytes() if listed.frequencies.any() else b"",
            b"" if np.isnan(listed.priorities).all() else listed.priorities.tobytes(),
        )
    )
    return _press(packed)


def _codes(kept: bytes, count: int) -> Bytes:
    return np.frombuffer(kept, np.uint8) if kept else np.zeros(count, np.uint8)


def _reals(kept: bytes, count: int) -> Reals:
    return np.frombuffer(kept, np.float64) if kept else np.full(count, np.nan)


_SOURCES = {Kind.RSS.value: Source.FEED, Kind.ATOM.value: Source.FEED, ARCHIVE: Source.ARCHIVE}
VALUES_PER_STEP = 4000
"""Values read in one step: with fewer, handling them by columns takes longer to set up than it saves."""


def source_of(kind: str) -> Source:
    """Which source a file of this kind is."""
    return _SOURCES.get(kind, Source.SITEMAP)


class SitemapFile:
    """One reading of a file.

    `found_at` is when it arrived; `sites` are those with new slices, and how many entries; `steps` counts reads.
    """

    def __init__(
        self,
        unread: UnfinishedFile,
        *,
        authority: SitemapAuthority,
        before: FileMemory,
        difference: DifferenceSettings,
        score: SitemapScore,
        priorities_of: Callable[[Site], Priorities],
        media: MediaTypes | None = None,
    ) -> None:
        self._unread = unread
        self.outcome = outcome = unread.outcome
        self.task = outcome.task
        self.node = unread.node
        self.found_at = unread.found_at
        self.size = len(outcome.body)
        self.entries = self.wanted = self.steps = 0
        self.children: list[Child] = []
        self.problems: Counter[str] = Counter()
        self.sites: dict[Site, int] = {}
        self.reported: list[Problem] = []
        self.voice = authority
        self.before = before
        self._parser = IncrementalSitemapParser(outcome.task.url, outcome.body, media=media)
        self._comparison = Comparison(before, difference, unread.node.read_at or 0.0)
        self._score = score
        self._priorities_of = priorities_of

    def unfinished(self) -> UnfinishedFile:
        """The part of the reading that is committed."""
        return replace(self._unread, steps=self.steps, size=self.size).unfinished()

    def skip(self, steps: int) -> None:
        """Read on as often as an earlier process did, without effects."""
        priorities_of, self._priorities_of = self._priorities_of, lambda _site: Priorities()
        for _ in range(steps):
            self.take(None)
        self._priorities_of = priorities_of
        self.sites.clear()

    @property
    def length(self) -> int:
        """Characters of text that were read so far."""
        return self._parser.length

    @property
    def is_over(self) -> bool:
        """Whether all was read."""
        return self._parser.is_over

    @property
    def lastmod(self) -> Lastmod | None:
        """The time of the last change by a feed's own date; known at the end."""
        return self._parser.lastmod

    def gone(self) -> list[Discovery]:
        """The pages that a feed reports as deleted, as changes at that time; known at the end."""
        return [
            Discovery(url, self.source, self.found_at, 1, self.node.url, Hints(entry.lastmod))
            for entry in self._parser.gone
            if (url := canonical(entry.url)) is not None and not self.voice.refusal(url)
        ]

    @property
    def kind(self) -> str:
        """The detected kind of file; empty while that is not known."""
        return self._parser.kind

    @property
    def source(self) -> Source:
        """The source that the file is, as far as known."""
        return source_of(self._parser.kind)

    def take(self, listings: Listings | None) -> Sequence[SitemapEntry]:
        """Read on. Entries that are new go to the listings, if any; all that were read, to be reported."""
        self.steps += 1
        parts: list[Entry | Child | EntryColumns] = []
        for part in self._parser.take(VALUES_PER_STEP):
            if isinstance(part, Problem):
                self.problems[part.reason] += 1
                self.reported.append(part)
            else:
                parts.append(part)
        self.children += [part for part in parts if isinstance(part, Child)]
        columns = _columns(parts)
        if not columns:
            return list(chain.from_iterable(map(_rows, parts)))
        entries = EntryColumns.joined(columns)
        self._list(entries, listings)
        is_regular = all(isinstance(part, EntryColumns) for part in parts)
        return entries if is_regular else list(chain.from_iterable(map(_rows, parts)))

    def _list(self, entries: EntryColumns, listings: Listings | None) -> None:
        self.entries += len(entries)
        urls = cast("list[Url]", resolve_all(entries.urls, self.node.url))
        if None in urls:
            places = np.array([place for place, url in enumerate(urls) if url is not None], np.intp)
            self.problems["not-a-url"] += len(urls) - len(places)
            entries, urls = entries.take(places), [url for url in urls if url is not None]
        times, bad = times_at(entries.at, self.found_at)
        self.problems["future-lastmod"] += bad
        is_new = self._comparison.compare(prints_of(urls), times) != EntryChange.SAME
        news = self._news(urls, is_new)
        if news and listings is not None:
            listed = entries.with_urls(urls)
            for site, positions in news.items():
                self._slice(site, listed if len(positions) == len(urls) else listed.take(positions), listings)

    def _news(self, urls: Sequence[Url], is_new: NDArray[np.bool_]) -> dict[Site, NDArray[np.intp]]:
        """The indexes of new entries, for each site that the file may list."""
        own = self.voice.own_site(urls)
        if own is not None:
            self.wanted += len(urls)
            return {own: np.flatnonzero(is_new)} if is_new.any() else {}
        news: dict[Site, list[int]] = {}
        for position, (url, is_one) in enumerate(zip(urls, is_new.tolist(), strict=True)):
            refusal = self.voice.refusal(url)
            if refusal:
                self.problems[refusal] += 1
                continue
            self.wanted += 1
            if is_one:
                news.setdefault(site_of(url), []).append(position)
        return {site: np.array(positions, np.intp) for site, positions in news.items()}

    def _slice(self, site: Site, listed: EntryColumns, listings: Listings) -> None:
        """Add a slice of a site's entries, sorted by score so that the best come first."""
        self.sites[site] = self.sites.get(site, 0) + len(listed)
        of_site = self._priorities_of(site)
        priorities = listed.stated_priorities()
        of_site.observe(priorities)
        scores = self._score.scores(cast("Sequence[Url]", listed.urls), priorities, of_site)
        for level, slices in pack(self.node.url, self.source, self.found_at, listed, scores):
            listings.add(site, level, slices)

    def end(self, *, is_whole: bool) -> Compared:
        """The difference to the last reading."""
        return self._comparison.end(is_whole=is_whole)


def _columns(parts: Sequence[Entry | Child | EntryColumns]) -> list[EntryColumns]:
    """All entries by columns, in their order."""
    columns: list[EntryColumns] = []
    for kind, some in groupby(parts, type):
        if kind is EntryColumns:
            columns += cast("Iterator[EntryColumns]", some)
        elif kind is Entry:
            columns.append(EntryColumns.of(cast("list[Entry]", list(some))))
    return columns


def _rows(part: Entry | Child | EntryColumns) -> Iterable[SitemapEntry]:
    """The discoveries of a part, one by one."""
    match part:
        case EntryColumns():
            return part
        case Entry():
            return [SitemapEntry(part.url, part.lastmod, part.changefreq, part.priority, part.title)]
        case Child():
            return [SitemapEntry(part.url, part.lastmod, is_sitemap=True)]

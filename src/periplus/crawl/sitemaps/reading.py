"""A file while it is read: what it says is compared with what it said before, judged, scored, and put into slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import cast

import numpy as np
from numpy.typing import NDArray

from periplus.formats.sitemap import Child, Entry, Kind
from periplus.model import EntryColumns, Fetched, FetchTask, Listings, Problem, Site, SitemapEntry, Source, Url
from periplus.policy.sitemaps import (
    Change,
    Compared,
    Comparison,
    DifferenceSettings,
    FileMemory,
    Priorities,
    SitemapNode,
    SitemapScore,
    Voice,
    prints_of,
    times_at,
)
from periplus.urls import resolve_all, site_of

from ..intake import ARCHIVE, Intake
from .slices import pack

_SOURCES = {Kind.RSS.value: Source.FEED, Kind.ATOM.value: Source.FEED, ARCHIVE: Source.ARCHIVE}
_WORTH = 4000
"""Values below which handling them by columns takes longer to set up than it saves."""


def source_of(kind: str) -> Source:
    """Who speaks in a file of this kind."""
    return _SOURCES.get(kind, Source.SITEMAP)


class FileInProgress:
    """One reading of one file. `found_at` is when its first byte came; `sites` are those with new slices.

    `outcome` is the answer, once all of it has arrived.
    """

    def __init__(
        self,
        task: FetchTask,
        node: SitemapNode,
        intake: Intake,
        *,
        voice: Voice,
        before: FileMemory,
        difference: DifferenceSettings,
        score: SitemapScore,
        said: Callable[[Site], Priorities],
        found_at: float,
    ) -> None:
        self.task = task
        self.node = node
        self.intake = intake
        self.found_at = found_at
        self.entries = self.wanted = 0
        self.children: list[Child] = []
        self.problems: Counter[str] = Counter()
        self.sites: set[Site] = set()
        self.outcome: Fetched | None = None
        self.told: list[Problem] = []
        self.voice = voice
        self.before = before
        self._comparison = Comparison(before, difference)
        self._score = score
        self._said = said

    @property
    def kind(self) -> str:
        """What the file turned out to be; empty while nobody can tell."""
        return self.intake.kind

    @property
    def source(self) -> Source:
        """What it is, as far as is known by now."""
        return source_of(self.intake.kind)

    def take(self, limit: int, listings: Listings | None) -> Sequence[SitemapEntry]:
        """Read on: about so many values. What they list goes to the listings, if any; the rows that tell of them."""
        parts: list[Entry | Child | EntryColumns] = []
        for part in self.intake.take(max(limit, _WORTH)):
            if isinstance(part, Problem):
                self.problems[part.reason] += 1
                self.told.append(part)
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
        is_new = self._comparison.compare(prints_of(urls), times) != Change.SAME
        news = self._news(urls, is_new)
        if news and listings is not None:
            listed = entries.with_urls(urls)
            for site, positions in news.items():
                self._slice(site, listed if len(positions) == len(urls) else listed.take(positions), listings)

    def _news(self, urls: Sequence[Url], is_new: NDArray[np.bool_]) -> dict[Site, NDArray[np.intp]]:
        """Where those stand that are new, of each site for which the file may speak."""
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
        """By score, so that the best of a site come first."""
        self.sites.add(site)
        said = self._said(site)
        priorities = listed.said_priorities()
        said.observe(priorities)
        scores = self._score.scores(cast("Sequence[Url]", listed.urls), priorities, said)
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
    """What is told of a part, each by itself."""
    match part:
        case EntryColumns():
            return part
        case Entry():
            return [SitemapEntry(part.url, part.lastmod, part.changefreq, part.priority, part.title)]
        case Child():
            return [SitemapEntry(part.url, part.lastmod, is_sitemap=True)]

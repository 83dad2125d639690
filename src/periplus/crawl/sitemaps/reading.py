"""A file while it is read: what it says is compared with what it said before, judged, scored, and put into slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from periplus.formats.sitemap import Child, Entry, Kind
from periplus.model import Fetched, FetchTask, Hints, Listings, Problem, Site, SitemapEntry, Source, Url
from periplus.policy.ordering import level_of
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
    times_of,
)
from periplus.urls import resolve_all, site_of

from ..intake import Intake
from .slices import pack

_FEEDS = (Kind.RSS, Kind.ATOM)


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
        self._voice = voice
        self.before = before
        self._comparison = Comparison(before, difference)
        self._score = score
        self._said = said

    @property
    def kind(self) -> str:
        """What the file turned out to be; empty while nobody can tell."""
        return self.intake.kind.value if self.intake.kind is not None else ""

    @property
    def source(self) -> Source:
        """What it is, as far as is known by now."""
        return Source.FEED if self.intake.kind in _FEEDS else Source.SITEMAP

    def take(self, limit: int, listings: Listings | None) -> list[SitemapEntry]:
        """Read on: at most so many values. What they list goes to the listings, if any; the rows that tell of them."""
        values = self.intake.take(limit)
        entries = [value for value in values if isinstance(value, Entry)]
        children = [value for value in values if isinstance(value, Child)]
        for value in values:
            if isinstance(value, Problem):
                self.problems[value.reason] += 1
                self.told.append(value)
        self.children += children
        if entries:
            self._list(entries, listings)
        rows = [SitemapEntry(e.url, e.lastmod, e.changefreq, e.priority, e.title) for e in entries]
        return rows + [SitemapEntry(child.url, child.lastmod, is_sitemap=True) for child in children]

    def _list(self, entries: Sequence[Entry], listings: Listings | None) -> None:
        self.entries += len(entries)
        found = resolve_all([entry.url for entry in entries], self.node.url)
        pairs = [(url, entry) for url, entry in zip(found, entries, strict=True) if url is not None]
        self.problems["not-a-url"] += len(entries) - len(pairs)
        times, bad = times_of([entry.lastmod for _, entry in pairs], self.found_at)
        self.problems["future-lastmod"] += bad
        codes = self._comparison.compare(prints_of([url for url, _ in pairs]), times)
        news: dict[Site, list[tuple[Url, Entry]]] = {}
        for (url, entry), code in zip(pairs, codes.tolist(), strict=True):
            refusal = self._voice.refusal(url)
            if refusal:
                self.problems[refusal] += 1
                continue
            self.wanted += 1
            if code != Change.SAME:
                news.setdefault(site_of(url), []).append((url, entry))
        if listings is not None:
            for site, some in news.items():
                self._slice(site, some, listings)

    def _slice(self, site: Site, entries: Sequence[tuple[Url, Entry]], listings: Listings) -> None:
        """By score, so that the best of a site come first."""
        self.sites.add(site)
        said = self._said(site)
        priorities = [entry.priority for _, entry in entries]
        said.observe(priorities)
        scores = self._score.scores([url for url, _ in entries], priorities, said)
        by_score: dict[float, list[int]] = {}
        for position, score in enumerate(scores):
            by_score.setdefault(score, []).append(position)
        for score, positions in by_score.items():
            urls = [entries[position][0] for position in positions]
            hints = [_hints_of(entries[position][1]) for position in positions]
            listings.add(site, level_of(score), pack(self.node.url, self.source, self.found_at, score, urls, hints))

    def end(self, *, is_whole: bool) -> Compared:
        """The difference to the last reading."""
        return self._comparison.end(is_whole=is_whole)


def _hints_of(entry: Entry) -> Hints:
    return Hints(entry.lastmod, entry.changefreq, entry.priority)

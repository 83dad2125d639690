"""What people are shown of sitemaps: what links and sitemaps contributed to a site, and how far indexes are trusted.

URLs are counted from their records, pages by their places in clusters of near-duplicates. A URL that only waits in a
list on disk has no record yet; `listed` counts the entries in the files instead.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice

from periplus.engine.frontier import LANES
from periplus.model import Lane, SignalCounts, Site, Sketches, SourceCounts, SourceFacts, Url, UrlRecord
from periplus.store import State

from .revisit import IndexTrust
from .store import SitemapStore
from .trees import twin_key

MOST_COUNTED = 500_000
"""Maximum URLs of a site that are counted, so that the result is there within seconds."""
_TOGETHER = 1000
"""Sketches looked up in one batch."""


def index_signals(state: State, site: Site) -> list[SignalCounts]:
    """How far lastmod of files in indexes was right. Such files are read at once, so it is not a signal for pages."""
    first = IndexTrust().silent.changes
    trusts = [node.trust for node in SitemapStore(state).of_site(site)]
    right, wrong = sum(trust.right for trust in trusts), sum(trust.wrong for trust in trusts)
    unsignalled = sum(max(trust.silent.changes - first, 0.0) for trust in trusts)
    if not right and not wrong:
        return []
    return [SignalCounts("index", right, right + wrong, right / max(right + unsignalled, 1.0))]


def sources_of(state: State, site: Site) -> SourceFacts:
    """Count what each source contributed to a site."""
    files = {twin_key(node.url): node for node in SitemapStore(state).of_site(site)}
    counts = {_LINKS: SourceCounts(), _SITEMAPS: SourceCounts(), _LINKS | _SITEMAPS: SourceCounts()}
    first = {Lane.DISCOVERY: 0, Lane.SITEMAPS: 0}
    pages = (record for record in state.records.of_site(site) if _is_page(record.url, files))
    counted = islice(pages, MOST_COUNTED)
    while some := list(islice(counted, _TOGETHER)):
        for record, is_unique in zip(some, _are_unique(state.sketches, some), strict=True):
            lanes = _lanes(record)
            _count(counts[frozenset(lanes)], record, is_unique)
            if len(lanes) > 1 and lanes[Lane.DISCOVERY] != lanes[Lane.SITEMAPS]:
                first[min(lanes, key=lanes.__getitem__)] += 1
    return SourceFacts(
        counts[_LINKS],
        counts[_SITEMAPS],
        counts[_LINKS | _SITEMAPS],
        first[Lane.DISCOVERY],
        first[Lane.SITEMAPS],
        sum(node.read_at is not None for node in files.values()),
        sum(node.entries for node in files.values()),
        next(pages, None) is not None,
    )


_LINKS, _SITEMAPS = frozenset({Lane.DISCOVERY}), frozenset({Lane.SITEMAPS})


def _is_page(url: Url, files: Container[str]) -> bool:
    return "#" not in url and twin_key(url) not in files


def _lanes(record: UrlRecord) -> dict[Lane, float]:
    """When each of the two sources first found a URL."""
    found: dict[Lane, float] = {}
    for seen in record.first_seen:
        lane = LANES[seen.source]
        found[lane] = min(seen.at, found.get(lane, seen.at))
    return found


def _are_unique(sketches: Sketches, records: Iterable[UrlRecord]) -> list[bool]:
    """Whether the content of each page is new; a page with too little text to compare counts as unique."""
    placements = sketches.get([record.url for record in records])
    return [placement is None or not placement.is_copy for placement in placements]


def _count(counts: SourceCounts, record: UrlRecord, is_unique: bool) -> None:
    is_fetched = record.kept_at is not None
    counts.known += 1
    counts.fetched += is_fetched
    counts.unique += is_fetched and is_unique

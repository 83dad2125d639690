"""What links and sitemaps contributed to a site, and how its budget moved between them: facts for `periplus info`.

Read from what the shards have committed, as everything in `facts`. URLs are counted from their records, pages by their
places in clusters of near-duplicates. A URL that only waits in a list on disk has no record yet; `listed` counts the
entries in the files instead.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice

from msgspec import Struct

from periplus.engine.frontier import LANES
from periplus.model import Lane, Site, Sketches, Url, UrlRecord
from periplus.parts.sitemaps.store import SitemapStore
from periplus.parts.sitemaps.trees import twin_key
from periplus.policy.balance import Epoch, SiteBalance
from periplus.policy.settings import BalanceSettings
from periplus.store import DiskState, SiteState

MOST_COUNTED = 500_000
"""Maximum URLs of a site that are counted, so that the result is there within seconds."""
_TOGETHER = 1000
"""Sketches looked up in one batch."""


class SourceCounts(Struct):
    """URLs that some source listed: how many are known, fetched with success, and unique in content."""

    known: int = 0
    fetched: int = 0
    unique: int = 0


class SourceFacts(Struct, frozen=True):
    """What links and sitemaps contributed to a site; seeds and redirects count as links, feeds as sitemaps.

    Of the URLs that both know, `first_by_links` and `first_by_sitemaps` are those that one knew before the other.
    `files` are the sitemap files that were read, `listed` the entries in them. `is_partial`: the site has more URLs
    than were counted.
    """

    links_only: SourceCounts
    sitemaps_only: SourceCounts
    both: SourceCounts
    first_by_links: int
    first_by_sitemaps: int
    files: int
    listed: int
    is_partial: bool


class EpochFacts(Struct, frozen=True):
    """One epoch: its shares, the results for the lowest-scored pages of either source, and what followed.

    `*_utility` is the share of these pages that entered the collection as unique and indexable.
    """

    sitemaps: int
    links: int
    sitemaps_good: int
    sitemaps_known: int
    sitemaps_utility: float | None
    links_good: int
    links_known: int
    links_utility: float | None
    move: str


class BalanceFacts(Struct, frozen=True):
    """How the budget of a site is shared now, how many epochs were judged, and the last of them, the oldest first."""

    sitemaps: int
    links: int
    epochs: int
    history: tuple[EpochFacts, ...]


def balance_of(kept: SiteState, settings: BalanceSettings) -> BalanceFacts | None:
    """How the budget of a site moved; `None`: it never had two sources to choose from."""
    if kept.balance is None:
        return None
    balance = SiteBalance(settings, kept.balance)
    return BalanceFacts(*balance.quotas, balance.judged, tuple(_epoch_facts(epoch) for epoch in balance.history))


def _epoch_facts(epoch: Epoch) -> EpochFacts:
    return EpochFacts(
        epoch.sitemaps,
        epoch.discovery,
        epoch.sitemaps_good,
        epoch.sitemaps_known,
        epoch.sitemaps_utility,
        epoch.discovery_good,
        epoch.discovery_known,
        epoch.discovery_utility,
        epoch.move.word,
    )


def sources_of(state: DiskState, site: Site) -> SourceFacts:
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

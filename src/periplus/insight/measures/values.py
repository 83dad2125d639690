"""What is measured, as values: the names are those of the columns of `measures` and its relatives."""

from __future__ import annotations

from msgspec import Struct


class Measures(Struct, frozen=True):
    """Every measure of some URLs (see `views.MEASURES` for what each is); `None`: it would divide by nothing."""

    seen: int
    seen_sitemaps: int
    seen_discovery: int
    seen_both: int
    crawled: int
    crawled_sitemaps: int
    crawled_discovery: int
    unique: int
    unique_sitemaps: int
    unique_discovery: int
    indexed: int
    indexed_sitemaps: int
    indexed_discovery: int
    coverage: float | None
    unique_coverage: float | None
    index_coverage: float | None
    pagerank_coverage: float | None
    signal_to_noise_sitemaps: float | None
    signal_to_noise_discovery: float | None
    efficiency_sitemaps: float | None
    efficiency_discovery: float | None
    utility: float | None
    seen_delta: float | None
    seen_delta_mean: float | None
    first_seen_share: float | None
    first_seen_share_pinged: float | None
    first_seen_share_unpinged: float | None
    ping_share: float | None


class NewUrls(Struct, frozen=True):
    """How many URLs each source told of for the first time in the period that begins `at` (POSIX seconds)."""

    at: float
    sitemaps: int
    discovery: int


class SeenPair(Struct, frozen=True):
    """How many URLs Sitemaps first told of in one period and Discovery in another (figure 6 of the paper)."""

    sitemaps_at: float
    discovery_at: float
    urls: int


class MissedClass(Struct, frozen=True):
    """What so many of the URLs turned out to be that Sitemaps did not tell of; and some of them."""

    name: str
    says: str
    urls: int
    share: float
    examples: tuple[str, ...]


class DepthRank(Struct, frozen=True):
    """The PageRank of what lies so many clicks from the seeds; `None`: of what no path of links leads to."""

    clicks: int | None
    urls: int
    pagerank: float
    mean: float
    median: float


class CumulativeRank(Struct, frozen=True):
    """The share of all PageRank that the first so many visits had found."""

    pages: int
    share: float


class Hub(Struct, frozen=True):
    """A page that told of new URLs first. `spawned`: those after it was first read, by later readings of it."""

    page: str
    readings: int
    introduced: int
    spawned: int
    spawned_a_day: float | None

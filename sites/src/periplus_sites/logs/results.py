"""What a log says: the values that are printed, and written as JSON and HTML."""

from __future__ import annotations

from msgspec import Struct

from periplus.view.findings import Finding


class Identity(Struct, frozen=True):
    """Requests by the verdict on the address that they came from, and how many addresses have each verdict."""

    verified: int = 0
    false_claims: int = 0
    unknown: int = 0
    verified_addresses: int = 0
    false_addresses: int = 0
    unknown_addresses: int = 0
    false_examples: tuple[str, ...] = ()
    """Addresses, or what stands for them, with the most requests first."""


class Needless(Struct, frozen=True):
    """Repeated requests (200 or 304, of the same crawler for the same URL), and what they could have saved.

    `same` counts those with a 304 or the same size as before; `min_needless` is MinNeedlessReq summed over the URLs,
    where every further size is taken for a change. With a ledger `exact` of `judged` repeated 200s were for pages that
    had not changed.
    """

    repeated: int = 0
    same: int = 0
    min_needless: int = 0
    judged: int | None = None
    exact: int | None = None
    bytes: int = 0
    """Of needless answers with 200: what 304s would have saved."""
    archive_bytes: int = 0
    """What metadata archives would have saved: `bytes` without the archives themselves."""


class CrawlerReport(Struct, frozen=True):
    """One crawler. Times are POSIX times; shares are of all requests and bytes of the log."""

    name: str
    operator: str
    purpose: str
    requests: int
    share: float
    bytes: int
    bytes_share: float
    pages: int
    """Requests for pages, as opposed to images, styles, ..."""
    urls: int
    statuses: dict[int, int]
    not_modified: int
    errors: int
    kinds: dict[str, int]
    needless: Needless
    identity: Identity
    robots_reads: int
    sitemap_reads: int
    forbidden: int | None
    """Requests that robots.txt forbids; null if it is not known."""
    forbidden_examples: tuple[str, ...]
    error_examples: tuple[str, ...]
    crawl_delay: float | None
    faster_than_delay: int
    never_visited: int | None
    """Published pages that it did not ask for; null without a ledger."""
    lag_median: float | None
    lag_p90: float | None
    first_at: float
    last_at: float


class Unnamed(Struct, frozen=True):
    """Addresses that behave as crawlers and do not say so: they read robots.txt, or many pages and no images."""

    addresses: int
    requests: int
    bytes: int
    examples: tuple[str, ...]


class RobotsReaders(Struct, frozen=True):
    """Addresses that read robots.txt; of them, those that ever got a 304, and those with an unknown agent."""

    addresses: int
    with_304: int
    unknown_agent: int

    @property
    def share_with_304(self) -> float:
        """The share that ever got a 304; 13 % in the paper."""
        return self.with_304 / self.addresses if self.addresses else 0.0


class Day(Struct, frozen=True):
    """One day: its first second, requests, and those of known crawlers."""

    at: float
    requests: int
    crawlers: int


class SignedRequests(Struct, frozen=True):
    """Signed requests by the verdict on their signatures; `unverified` could not be checked, `invalid` are wrong.

    `agents` are the verified ones, `reasons` why the others are not.
    """

    verified: int = 0
    invalid: int = 0
    unverified: int = 0
    agents: dict[str, int] = {}
    reasons: dict[str, int] = {}
    invalid_examples: tuple[str, ...] = ()


class LogReport(Struct, frozen=True):
    """Everything a log says of crawlers. `scale` above 1: numbers by URL are estimates from 1 in `scale` URLs."""

    files: tuple[str, ...]
    lines: int
    problems: dict[str, int]
    before_since: int
    """Requests that were left out as too old."""
    requests: int
    bytes: int
    first_at: float | None
    last_at: float | None
    crawler_requests: int
    crawler_bytes: int
    crawlers: tuple[CrawlerReport, ...]
    unnamed: Unnamed
    robots_readers: RobotsReaders
    days: tuple[Day, ...]
    kinds: dict[str, int]
    needless: Needless
    orphans: int | None
    orphan_examples: tuple[str, ...]
    scale: int
    dropped_addresses: int
    ranges_at: float | None
    """When the oldest list of ranges was written; null if there is none."""
    robots: str
    """Which robots.txt requests were checked with; empty if none."""
    findings: tuple[Finding, ...] = ()
    signed: SignedRequests = SignedRequests()
    """Of all requests, where the log has the fields of signatures."""

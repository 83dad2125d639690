"""The state of a crawl as one port, and the record of a site, some of whose fields are the policies' own types.

The other ports of storage are in `model.ports`. These two are here because a site record holds what policies have
learnt about the site, and `model` does not know policies.

In memory, URLs that files list and that are not queued yet are a queue of slices for each level of a site, and revisit
times a heap in which entries with an outdated time are skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol, TypeVar

from msgspec import Raw, Struct, field

from periplus.content import NO_CHURN, ChurnRecord
from periplus.model import (
    AddressVisits,
    DomainVisits,
    Exchange,
    FormRow,
    InvariantError,
    LinkChunk,
    Listings,
    PartValues,
    Payloads,
    Queues,
    RevisitQueue,
    RobotsFiles,
    Rows,
    Site,
    SitemapRows,
    SiteOutage,
    SiteVisits,
    Sketches,
    TreeUse,
    Url,
    UrlRecords,
    UrlScores,
)
from periplus.policy.balance import BalanceRecord
from periplus.policy.filters import SiteFilterState


class MemoryListings:
    """`Listings` in memory."""

    def __init__(self) -> None:
        self._slices: dict[Site, dict[int, deque[bytes]]] = {}
        self._count = 0

    def add(self, site: Site, level: int, slices: Sequence[bytes]) -> None:
        """Keep slices at the end of a level."""
        if slices:
            self._slices.setdefault(site, {}).setdefault(level, deque()).extend(slices)
            self._count += len(slices)

    def take(self, site: Site, first: int = 0, last: int = 255) -> bytes | None:
        """The first slice of a site at these levels, lowest level first."""
        levels = self._slices.get(site, {})
        level = min((level for level in levels if first <= level <= last), default=None)
        if level is None:
            return None
        slice_ = levels[level].popleft()
        if not levels[level]:
            del levels[level]
        if not levels:
            del self._slices[site]
        self._count -= 1
        return slice_

    def has(self, site: Site, first: int = 0, last: int = 255, *, least: int = 1) -> bool:
        """Whether a site has at least `least` slices at these levels."""
        levels = self._slices.get(site, {})
        return sum(len(slices) for level, slices in levels.items() if first <= level <= last) >= least

    def sites(self) -> Iterator[Site]:
        """Every site with listed URLs."""
        return iter(list(self._slices))

    def __len__(self) -> int:
        return self._count


_SPARE = 1000


class MemoryRevisitQueue:
    """`RevisitQueue` in memory."""

    def __init__(self) -> None:
        self._times: dict[Url, float] = {}
        self._waiting: list[tuple[float, Url]] = []

    def move(self, moves: Sequence[tuple[Url, float | None, float | None]]) -> None:
        """Move each URL from its old time to its new one. `None`: it was not, or is no longer, queued."""
        for url, _, after in moves:
            if after is None:
                self._times.pop(url, None)
                continue
            if after != after:
                raise InvariantError("a time to wait for is not a number")
            self._times[url] = after
            heappush(self._waiting, (after, url))
        if len(self._waiting) > 2 * len(self._times) + _SPARE:
            self._waiting = [(at, url) for url, at in self._times.items()]
            heapify(self._waiting)

    def due(self, now: float, limit: int) -> list[tuple[Url, float]]:
        """Entries that are due, with their time, the earliest first. They stay."""
        found: list[tuple[float, Url]] = []
        while len(found) < limit and (first := self._first()) is not None and first[0] <= now:
            found.append(heappop(self._waiting))
        for place in found:
            heappush(self._waiting, place)
        return [(url, at) for at, url in found]

    def after(self, time: float) -> tuple[Url, float] | None:
        """The first entry at or after a time. Searches all entries."""
        later = [(at, url) for url, at in self._times.items() if at >= time]
        return min(later)[::-1] if later else None

    def next_due(self) -> float | None:
        """The first time of all."""
        first = self._first()
        return None if first is None else first[0]

    def __iter__(self) -> Iterator[Url]:
        """Every URL, the earliest first."""
        return iter(sorted(self._times, key=lambda url: (self._times[url], url)))

    def __len__(self) -> int:
        return len(self._times)

    def _first(self) -> tuple[float, Url] | None:
        waiting = self._waiting
        while waiting and self._times.get(waiting[0][1]) != waiting[0][0]:
            heappop(waiting)
        while len(waiting) > 1 and waiting[0] in waiting[1:3]:  # moved there and back
            heappop(waiting)
        return waiting[0] if waiting else None


S = TypeVar("S")


class SiteState(PartValues, Struct, array_like=True):
    """What is known of a site between visits. Mutable: the frontier works on it, and the store keeps copies.

    Rows hold the fields in their order: add fields at the end, with a default. What a policy of every crawl has learnt
    of the site is that policy's own type, `None` until there is something, so that the rows of sites that were never
    visited stay short. What parts have learnt is in `values`.

    `delay` is what its robots.txt asks for, in seconds; `failures` counts failed requests since the last that
    succeeded; `downloaded` is in bytes; `retired` is the reason why the site is not visited any more. While its
    robots.txt is being fetched, `robots_at` is its present URL, after `robots_redirects` redirects, and `robots_tries`
    counts failed attempts. `files` counts fetched sitemaps and feeds, `feeds` those that its pages link to;
    `asked_for_sitemaps`: its robots.txt was searched for sitemaps.

    `traps` is what filters have learnt, `balance` how the budget is shared between links and sitemaps. Of pages that
    were compared with their last version, `stuck` counts those that changed while their validators did not, `moved`
    those that changed together with them, and `quiet` those where neither changed. `churn` is which parts of its pages
    differ at every visit. `visits_since_estimate` counts revisits since the change rates of its pages were last
    estimated together. `is_admitted`: it counts as a host of its domain.
    """

    site: Site
    ip: str | None = None
    ip_expires_at: float = 0.0
    robots_expire_at: float = 0.0
    delay: float | None = None
    ready_at: float = 0.0
    last_duration: float = 0.0
    failures: int = 0
    pages: int = 0
    downloaded: int = 0
    retired: str = ""
    traps: SiteFilterState | None = None
    robots_at: Url | None = None
    robots_redirects: int = 0
    robots_tries: int = 0
    balance: BalanceRecord | None = None
    files: int = 0
    stuck: int = 0
    moved: int = 0
    quiet: int = 0
    churn: ChurnRecord = NO_CHURN
    visits_since_estimate: int = 0
    is_admitted: bool = False
    asked_for_sitemaps: bool = False
    feeds: int = 0
    values: dict[str, Raw] = field(default_factory=dict)


class Sites(Protocol):
    """The records of sites."""

    def get(self, sites: Sequence[Site]) -> list[SiteState | None]:
        """A copy of the state of each, aligned with `sites`."""

    def put(self, states: Iterable[SiteState]) -> None:
        """Keep copies of these."""

    def __len__(self) -> int:
        """The number of known sites."""


class State(Protocol):
    """Everything a shard remembers, changed in memory or in one open transaction, and made durable by `commit`.

    Changes that are not committed when the process dies are lost.
    """

    @property
    def records(self) -> UrlRecords:
        """URLs."""

    @property
    def queues(self) -> Queues:
        """What waits."""

    @property
    def standings(self) -> UrlScores:
        """Scores of URLs, for orderings that learn."""

    @property
    def forest(self) -> SitemapRows:
        """The files that sites publish about themselves."""

    @property
    def listings(self) -> Listings:
        """URLs that files list and that are not queued yet."""

    @property
    def calendar(self) -> RevisitQueue:
        """When each URL is to be visited again."""

    @property
    def sites(self) -> Sites:
        """Hosts."""

    @property
    def robots(self) -> RobotsFiles:
        """Their robots files."""

    @property
    def payloads(self) -> Payloads:
        """What was seen before."""

    @property
    def sketches(self) -> Sketches:
        """Clusters of near-duplicates."""

    @property
    def exchange(self) -> Exchange:
        """What goes to other shards."""

    @property
    def visits(self) -> Rows[SiteVisits]:
        """The active sites, as far as they are in use."""

    @property
    def addresses(self) -> Rows[AddressVisits]:
        """When requests to each address are allowed again."""

    @property
    def domains(self) -> Rows[DomainVisits]:
        """How much was fetched of each registrable domain."""

    @property
    def forms(self) -> Rows[FormRow]:
        """The forms of sites."""

    @property
    def recent_links(self) -> Rows[LinkChunk]:
        """Recently seen links, which need not be looked up again."""

    @property
    def trees(self) -> Rows[TreeUse]:
        """What trees of sitemaps have used of their budgets."""

    @property
    def outages(self) -> Rows[SiteOutage]:
        """The sites that are down."""

    def meta(self, kind: type[S]) -> S | None:
        """The value of this type that was last put, if any: the shard's own metadata, in one typed struct."""

    def put_meta(self, value: Struct) -> None:
        """Keep a value; there is one of each type."""

    @property
    def uncommitted(self) -> int:
        """Rows changed since the last commit, roughly: they take memory until then."""

    def commit(self) -> None:
        """Make everything since the last commit durable, all or nothing."""

    def close(self) -> None:
        """Let go, without a commit."""

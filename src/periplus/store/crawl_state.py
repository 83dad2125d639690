"""The state of a crawl as one port, and the record of a site, whose parts are the policies' own types.

The other ports of storage are in `model.ports`. These two are here because a site record holds what policies have
learnt about the site, and `model` does not know policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from periplus.content import NO_CHURN, ChurnRecord
from periplus.model import (
    AddressVisits,
    DomainVisits,
    Exchange,
    LinkChunk,
    Listings,
    Payloads,
    Queues,
    RevisitQueue,
    RobotsFiles,
    Rows,
    Site,
    SitemapStore,
    SiteVisits,
    Sketches,
    TreeUse,
    Url,
    UrlRecords,
    UrlScores,
)
from periplus.policy.balance import BalanceRecord
from periplus.policy.filters import SiteFilterState
from periplus.policy.refresh import SiteEvidence, SiteGains
from periplus.policy.sitemaps import Priorities

S = TypeVar("S")


class SiteState(Struct, array_like=True):
    """What is known of a site between visits. Mutable: the frontier works on it, and the store keeps copies.

    Rows hold the fields in their order: add fields at the end, with a default. What a policy has learnt of the site is
    that policy's own type, decoded with the record; `None` until there is something, so that the rows of sites that
    were never visited stay short.

    `delay` is what its robots.txt asks for, in seconds; `failures` counts failed requests since the last that
    succeeded; `downloaded` is in bytes; `retired` is the reason why the site is not visited any more. While its
    robots.txt is being fetched, `robots_at` is its present URL, after `robots_redirects` redirects, and `robots_tries`
    counts failed attempts. `files` counts fetched sitemaps and feeds, `feeds` those that its pages link to;
    `asked_for_sitemaps`: its robots.txt was searched for sitemaps.

    `traps` is what the trap filters have learnt, `balance` how the budget is shared between links and sitemaps, and
    `priorities` counts the priorities that its sitemaps state. `signals` is how far its signals of change can be
    trusted, and `gains` what visits have brought. Of pages that were compared with their last version, `stuck` counts
    those that changed while their validators did not, `moved` those that changed together with them, and `quiet` those
    where neither changed. `churn` is which parts of its pages differ at every visit. `visits_since_estimate` counts
    revisits since the change rates of its pages were last estimated together. `is_admitted`: it counts as a host of its
    domain.
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
    priorities: Priorities | None = None
    files: int = 0
    signals: SiteEvidence | None = None
    stuck: int = 0
    moved: int = 0
    quiet: int = 0
    churn: ChurnRecord = NO_CHURN
    gains: SiteGains | None = None
    visits_since_estimate: int = 0
    is_admitted: bool = False
    asked_for_sitemaps: bool = False
    feeds: int = 0


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
    def forest(self) -> SitemapStore:
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
    def recent_links(self) -> Rows[LinkChunk]:
        """Recently seen links, which need not be looked up again."""

    @property
    def trees(self) -> Rows[TreeUse]:
        """What trees of sitemaps have used of their budgets."""

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

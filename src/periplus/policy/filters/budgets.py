"""Limits of a crawl: links from a seed, redirects in a row, URLs of one site.

Reasons: `link-depth`, `redirect-chain`, `site-budget`.

Users seldom go further than a few links into a site (Baeza-Yates & Castillo, "Crawling the infinite web", 2007), and
what has no end has to end somewhere: these are the bounds that hold when every finer guard has been deceived. URLs of
a site are counted when they are admitted, after the seen test, not when they are judged: a link that is found a
thousand times is wanted once. Budgets of domains are not a filter: what is beyond one comes later
(`crawl.frontier.domains`).
"""

from __future__ import annotations

from msgspec import Struct

from ...model import ConfigError, Discovery, Reject, Url, Verdict
from ..reputation import DomainBudgets, check_score
from .site_states import FilterStates
from .verdicts import ACCEPT


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds."""

    max_depth: int = 1000
    """Maximum number of links from a seed; 0: only the seeds."""
    max_redirects: int = 10
    """Maximum number of redirects in a row, of any kind."""
    max_pages_per_site: int = 1_000_000
    """Maximum number of URLs of one site that enter the frontier, from all sources, seeds included."""
    domain: str = "trust"
    """By what the budget of a registrable domain is measured: "trust" (links from the domains of the seeds), "star"
    (domains that link to it), "networks" (networks that link to it); "none": domains have no budgets."""
    base: int = 10
    """Pages of an unknown domain in the first pass over the web; with --limit at least a thousandth of that."""
    largest: int = 10_000
    """Pages of the most reputable domain in the first pass."""
    growth: float = 2.0
    """By how much a domain's pages grow from each pass to the next."""
    seed_budget: int = 0
    """Pages of a seed's domain in the first pass; 0: no limit."""
    hosts: int = 64
    """Hosts of a domain that are always admitted; the n-th is admitted with probability hosts / n."""
    seed_hosts: int = 1000
    """The same for domains of seeds."""
    patience: float = 5.0
    """Seconds for which requests could have been made, but no site was ready, before the next pass begins."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        check_score(self.domain)
        for name, least in (("base", 1), ("largest", 1), ("growth", 1.0), ("hosts", 1), ("seed_hosts", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def of_domains(self, limit: int = 0) -> DomainBudgets | None:
        """The budgets of domains in a crawl of `limit` pages (0: no limit); `None` if there are none."""
        if self.domain == "none":
            return None
        return DomainBudgets(
            base=max(self.base, limit // 1000),
            largest=max(self.largest, self.base),
            growth=self.growth,
            seed_budget=self.seed_budget,
            hosts=self.hosts,
            seed_hosts=self.seed_hosts,
            patience=self.patience,
        )


class Budgets:
    """Refuses what is too far from a seed, at the end of too many redirects, or one too many of its site."""

    def __init__(self, lessons: FilterStates, settings: BudgetSettings | None = None) -> None:
        settings = settings or BudgetSettings()
        self._lessons = lessons
        self._max_depth = settings.max_depth
        self._max_redirects = settings.max_redirects
        self._max_pages = settings.max_pages_per_site

    def judge(self, discovery: Discovery) -> Verdict:
        """By its way here, and by how many of its site were admitted so far."""
        if discovery.depth > self._max_depth:
            return Reject("link-depth", f"max_depth = {self._max_depth}")
        if discovery.redirects > self._max_redirects:
            return Reject("redirect-chain", f"max_redirects = {self._max_redirects}")
        if self._lessons.about(discovery.url).admitted >= self._max_pages:
            return self._refusal()
        return ACCEPT

    def admit(self, discovery: Discovery) -> Verdict:
        """Count one more, unless a neighbour in the same batch has taken the last place."""
        lessons = self._lessons.changing(discovery.url)
        if lessons.admitted >= self._max_pages:
            return self._refusal()
        lessons.admitted += 1
        return ACCEPT

    def observe(self, url: Url, is_unique: bool) -> None:
        """A budget is spent when a URL is admitted; what comes of it does not matter."""

    def reconsider(self, discovery: Discovery) -> Verdict:  # noqa: ARG002 - a port's shape
        """What was admitted has its place."""
        return ACCEPT

    def _refusal(self) -> Reject:
        return Reject("site-budget", f"max_pages_per_site = {self._max_pages}")

"""Settings of limits and traps, and of all filters together."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import ConfigError
from periplus.model.flags import FAR, FOR_AGENTS, Flag

from ..settings import check_score
from .media import ExtensionSettings, MediaSettings
from .patterns import PatternSettings
from .scope import ScopeSettings, ShapeSettings
from .sessions import SessionSettings


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds."""

    max_depth: Annotated[
        int, Flag("--depth", "Maximum number of links from a seed.", "LINKS", FAR, least=0), FOR_AGENTS
    ] = 1000
    """Maximum links from a seed; 0: only the seeds."""
    max_redirects: int = 10
    """Maximum redirects in a row, of any kind."""
    max_pages_per_site: int = 1_000_000
    """Maximum URLs of one site in the frontier, seeds included."""
    domain: str = "trust"
    """Score of domains that sets their budgets: "trust" (links from the domains of the seeds), "star" (linking
    domains), "networks" (linking networks), "none" (no budgets)."""
    base: int = 10
    """Pages of an unknown domain in the first pass; at least a thousandth of --limit."""
    largest: int = 10_000
    """Pages of the most reputable domain in the first pass."""
    growth: float = 2.0
    """Factor by which budgets grow from pass to pass."""
    seed_budget: int = 0
    """Pages of a seed's domain in the first pass; 0: no limit."""
    hosts: int = 64
    """Hosts of a domain that are always admitted; the n-th has the chance hosts / n."""
    seed_hosts: int = 1000
    """The same for domains of seeds."""
    patience: float = 15.0
    """Seconds to wait for the first verdict on domains, if only sites without a verdict are left, and many of them."""
    spam_share: float = 0.05
    """Maximum share of requests to spam domains while other sites have pages waiting."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        check_score(self.domain)
        for name, least in (("base", 1), ("largest", 1), ("growth", 1.0), ("hosts", 1), ("seed_hosts", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0.0 < self.spam_share <= 1.0:
            raise ConfigError(f"spam_share must be above 0 and at most 1, got {self.spam_share}")

    def of_domains(self, limit: int = 0) -> BudgetSettings | None:
        """The settings in a crawl of `limit` pages (0: no limit); `None` if domains have no budgets."""
        if self.domain == "none":
            return None
        return replace(self, base=max(self.base, limit // 1000), largest=max(self.largest, self.base))


class TrapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a kind of URL counts as a trap."""

    window: int = 50
    """Fetched pages of a template that are looked at together, 1 to 64."""
    min_unique: float = 0.05
    """Minimum share of them with new contents."""
    throttle: float = 0.1
    """Share of URLs let through at each step of throttling."""
    least_pages: int = 10
    """Minimum pages of a template before it is throttled with other URLs of its path that have parameters."""
    chain_pages: int = 20
    """Pages in a chain, each leading to one more of its template, before the template is throttled."""
    chain_likeness: float = 0.8
    """Minimum resemblance of each of these pages to the one before."""
    endless_pages: int = 1000
    """Deep pages of a branch of a site, each leading to more that nothing else links to, before it is throttled; 0:
    never."""
    max_values: int = 1000
    """Values of a parameter above which `min_unique_values` applies to it."""
    min_unique_values: float = 0.2
    """Minimum share of unique pages for such a parameter."""
    max_templates: int = 128
    """Maximum templates stored for each site."""
    max_parameters: int = 32
    """Maximum parameters stored for each site."""
    max_sites: int = 2048
    """Maximum sites whose data is in memory."""


class FilterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of every filter."""

    scope: ScopeSettings = ScopeSettings()
    """How far to go from the seeds."""
    patterns: PatternSettings = PatternSettings()
    """What to include and exclude."""
    extensions: ExtensionSettings = ExtensionSettings()
    """Extensions of URLs that are not pages."""
    media: MediaSettings = MediaSettings()
    """Types of files that are wanted instead of pages."""
    budgets: BudgetSettings = BudgetSettings()
    """How much there may be."""
    shape: ShapeSettings = ShapeSettings()
    """Bounds of a URL."""
    sessions: SessionSettings = SessionSettings()
    """Parameters that do not identify a page."""
    traps: TrapSettings = TrapSettings()
    """When a kind of URL counts as a trap."""

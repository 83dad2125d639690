"""The settings of all rooms as one value: a table a room, and `[crawl]` for what is asked of the whole.

Flags go over the file, and the file over the defaults. A value that cannot be is a `ConfigError` when it is read, not
when the crawl comes to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from msgspec import Struct, field

from periplus.content import ChurnSettings
from periplus.crawl.engine import EngineSettings
from periplus.crawl.fetch import Identity, ResolverSettings, WireSettings
from periplus.crawl.frontier import FrontierSettings, PolitenessSettings, RetrySettings
from periplus.crawl.links import ReadingSettings
from periplus.crawl.revisit import WatchSettings
from periplus.crawl.sitemaps import SitemapSettings
from periplus.model import ConfigError, Ordering, Url
from periplus.policy.balance import BalanceSettings
from periplus.policy.duplicates import DuplicateSettings
from periplus.policy.filters import (
    BudgetSettings,
    Extensions,
    ExtensionSettings,
    FilterSettings,
    FilterStates,
    Patterns,
    PatternSettings,
    Scope,
    ScopeSettings,
    Sessions,
    SessionSettings,
    ShapeSettings,
    Traps,
    TrapSettings,
)
from periplus.policy.ordering import ALIASES, ordering
from periplus.policy.refresh import PageWeights, RefreshSettings, check_importance, objective
from periplus.policy.sitemaps import (
    AuthoritySettings,
    DifferenceSettings,
    RetirementSettings,
    RevisitSettings,
    ScoreSettings,
    TreeLimits,
)
from periplus.store.tables import TableSettings
from periplus.store.warc import WarcSettings

from . import reading, writing


class CrawlSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of the whole crawl."""

    seeds: tuple[str, ...] = ()
    """Where it begins. Without a scheme https is meant."""
    seed_file: str = ""
    """A file of more seeds, one a line, beside this one."""
    limit: int = 0
    """Pages to fetch in all, however often the crawl is continued; 0: no limit."""
    duration: float = field(default=0.0, name="for")
    """How long to crawl at a time, such as "10m" or "1h30m"; 0: until nothing is left."""
    rate: float = 0.0
    """Pages a second over all sites, at most; 0: no limit but politeness."""
    workers: int = 0
    """Processes, each with a shard of the sites; 0: one a core. It holds from the first crawl on."""
    contact: str = ""
    """A mailbox or a page where owners of sites can reach you; it stands in the User-Agent."""
    product: str = "Periplus"
    """The name that servers see, and that groups of a robots.txt are searched for."""
    ordering: str = "breadth_first"
    """Which URL is wanted most: batch, breadth_first, indegree, largest_site, opic, opic_adaptive, optimal, partial,
    random, rankmass or rankmass_windowed. One that learns from links holds from the first crawl on."""
    random_seed: int = 0
    """Of everything that is left to chance, such as the jitter of retries and the ordering random."""


class ClusterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Shards on many machines."""

    local_state: str = ""
    """A folder on each machine's own disk for the states of its shards, whose commits are copied to the collection;
    empty: the states lie in the collection, which then must not be on a network."""
    lease: float = 15.0
    """Seconds for which a silent shard keeps its sites: a lost shard's sites are not visited for that long."""


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What `periplus serve` shows of pages that are found."""

    cached: bool = True
    """Whether stored copies of pages are shown, as far as the pages allow it (noarchive)."""


class OrderingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What can be said of an ordering besides its name. One that it does not have is an error."""

    every: int = 0
    """Of batch, partial and the two of rankmass: pages between two rankings; 0: 10,000, of rankmass_windowed 100."""
    damping: float = 0.0
    """Of the same: how likely the surfer follows a link rather than starts again; 0: 0.85."""
    window: int = 0
    """Of opic_adaptive: in how many fetches income is measured; 0: 10,000."""
    share: float = 0.0
    """Of rankmass_windowed: how much of the frontier is fetched between two rankings; 0: 0.1."""
    by: str = ""
    """Of optimal: the folder of an earlier collection of the same web, by whose PageRank it goes."""

    @property
    def said(self) -> dict[str, int | float]:
        """The settings that were changed, as an ordering takes them."""
        return {name: value for name in ("every", "damping", "window", "share") if (value := getattr(self, name))}


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting of a crawl."""

    crawl: CrawlSettings = CrawlSettings()
    """What is asked of the whole crawl."""
    ordering: OrderingSettings = OrderingSettings()
    """What the ordering goes by; 0: as the ordering has it."""
    scope: ScopeSettings = ScopeSettings()
    """How far to go from the seeds."""
    patterns: PatternSettings = PatternSettings()
    """What to include and exclude: `*/docs/*`, `example.org/docs/*`, `/docs/*`, or `re:` and a regular expression."""
    politeness: PolitenessSettings = PolitenessSettings()
    """How gently sites are treated. Times are in seconds."""
    retries: RetrySettings = RetrySettings()
    """How often and how soon to try again. Times are in seconds."""
    budgets: BudgetSettings = BudgetSettings()
    """How much there may be of a site, and how far from a seed."""
    traps: TrapSettings = TrapSettings()
    """When a kind of URL is taken for a trap."""
    shape: ShapeSettings = ShapeSettings()
    """Bounds of a URL."""
    sessions: SessionSettings = SessionSettings()
    """Parameters that are no part of a page's name."""
    extensions: ExtensionSettings = ExtensionSettings()
    """Extensions of URLs that are not pages."""
    reading: ReadingSettings = ReadingSettings()
    """How pages are read, and which of their links are followed."""
    sitemaps: SitemapSettings = SitemapSettings()
    """What sites publish about themselves, and whether it is read."""
    forest: TreeLimits = TreeLimits()
    """How far trees of sitemaps are followed."""
    authority: AuthoritySettings = AuthoritySettings()
    """Whose pages a sitemap may list."""
    revisit: RevisitSettings = RevisitSettings()
    """When sitemap files are read again. Times are in seconds."""
    retirement: RetirementSettings = RetirementSettings()
    """When sitemap files are given up."""
    difference: DifferenceSettings = DifferenceSettings()
    """How much is remembered of what sitemaps said."""
    scores: ScoreSettings = ScoreSettings()
    """How pages that sitemaps list are ordered among each other."""
    balance: BalanceSettings = BalanceSettings()
    """How a site's budget is shared between what links lead to and what sitemaps list."""
    watch: WatchSettings = WatchSettings()
    """What `periplus watch` may spend."""
    refresh: RefreshSettings = RefreshSettings()
    """When pages are visited again. Times are in seconds."""
    churn: ChurnSettings = ChurnSettings()
    """From when on a part of a page that is different at every visit does not count."""
    duplicates: DuplicateSettings = DuplicateSettings()
    """Which pages are taken to say the same. It holds for pages that are read from then on."""
    wire: WireSettings = WireSettings()
    """The bounds of every transfer. Times are in seconds, sizes in bytes as sent."""
    dns: ResolverSettings = ResolverSettings()
    """How names are looked up. Times are in seconds."""
    frontier: FrontierSettings = FrontierSettings()
    """How much is kept in memory."""
    archive: WarcSettings = WarcSettings()
    """The WARC files."""
    tables: TableSettings = TableSettings()
    """The Parquet files."""
    engine: EngineSettings = EngineSettings()
    """How often everything is made durable."""
    cluster: ClusterSettings = ClusterSettings()
    """Shards on many machines."""
    search: SearchSettings = SearchSettings()
    """What `periplus serve` shows of pages that are found."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """What a file says, over the defaults. Raises `ConfigError`, which names file, table and key."""
        return reading.load(cls, path)

    @classmethod
    def parse(cls, text: str, source: str = "the settings") -> Self:
        """As `load`, from a text; `source` is what errors call it."""
        return reading.parse(cls, text, source)

    def with_options(self, options: Mapping[str, object], source: str = "the options") -> Self:
        """The same but for these, named as `table.key`; `None` changes nothing."""
        return reading.with_options(self, options, source)

    def dump(self) -> str:
        """As a file that says every setting and explains it; defaults are commented out."""
        return writing.dump(self)

    def check(self) -> None:
        """Raise `ConfigError` for a value that some room would not take."""
        for table, make in (
            ("crawl", lambda: (self.ordered(lambda _url: 0.0), self.identity)),
            ("scope", lambda: Scope((), self.scope)),
            ("patterns", lambda: Patterns(self.patterns)),
            ("extensions", lambda: Extensions(self.extensions)),
            ("sessions", lambda: Sessions(self.sessions)),
            ("traps", lambda: Traps(FilterStates(), self.traps)),
            ("refresh", self._check_refresh),
        ):
            try:
                make()
            except ConfigError as error:
                raise ConfigError(f"[{table}] {error}", hint=error.hint) from error

    def _check_refresh(self) -> None:
        objective(self.refresh.objective)
        check_importance(self.refresh.weight)
        PageWeights(self.refresh.weights)

    def ordered(self, oracle: Callable[[Url], float] | None = None) -> Ordering:
        """The ordering of the settings. `oracle` returns what a URL is worth by an earlier collection."""
        name, by = self.crawl.ordering, self.ordering.by
        is_optimal = ALIASES.get(name, name) == "optimal"
        if by and not is_optimal:
            raise ConfigError(f"the ordering {name!r} does not use an earlier collection", hint="only optimal does")
        chance = {"seed": self.crawl.random_seed} if name == "random" else {}
        return ordering(name, oracle=oracle if by else None, **chance, **self.ordering.said)

    @property
    def filters(self) -> FilterSettings:
        """The settings of the filters, as `policy` wants them."""
        return FilterSettings(
            scope=self.scope,
            patterns=self.patterns,
            extensions=self.extensions,
            budgets=self.budgets,
            shape=self.shape,
            sessions=self.sessions,
            traps=self.traps,
        )

    @property
    def identity(self) -> Identity:
        """How the crawler names itself to servers."""
        return Identity(contact=self.crawl.contact, product=self.crawl.product)

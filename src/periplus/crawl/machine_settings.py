"""What a machine is made of: the settings of its parts, and what it commits besides rows."""

from __future__ import annotations

from msgspec import Struct, field

from periplus.content import ChurnSettings
from periplus.model import Url
from periplus.policy.balance import BalanceSettings
from periplus.policy.dust import DustSettings
from periplus.policy.refresh import RefreshSettings
from periplus.store import WarcEnd

from .frontier import FrontierSettings, FrontierState, PolitenessSettings, RetrySettings
from .links import LinkState, ReadingSettings
from .revisit import RevisitState, Watching
from .sitemaps import SitemapRules, SitemapState
from .stats import CrawlStats


class ShardMeta(Struct):
    """All that is committed besides rows: one struct for each shard.

    `commits` counts them, and names the log of the inputs that follow; `ordering` is the name of one that learns;
    `archive` is how far the WARC reaches, `tables` how far the tables do; `moved` are places that seeds moved to;
    `learnt` has the generation of what jobs have learnt, by kind.
    """

    commits: int = 0
    ordering: str = ""
    stats: CrawlStats = field(default_factory=CrawlStats)
    archive: WarcEnd = WarcEnd()
    tables: bytes | None = None
    moved: list[Url] = field(default_factory=list)
    frontier: FrontierState = field(default_factory=FrontierState)
    revisits: RevisitState = field(default_factory=RevisitState)
    links: LinkState = field(default_factory=LinkState)
    sitemaps: SitemapState = field(default_factory=SitemapState)
    learnt: dict[str, int] = field(default_factory=dict)


class MachineSettings(Struct, frozen=True):
    """The settings of the parts of a machine, and which shard it is."""

    shard: int = 0
    shards: int = 1
    agent: str = "periplus"
    random_seed: str = ""
    learning_ordering: str = ""
    politeness: PolitenessSettings = PolitenessSettings()
    retries: RetrySettings = RetrySettings()
    frontier: FrontierSettings = FrontierSettings()
    balance: BalanceSettings = BalanceSettings()
    refresh: RefreshSettings = RefreshSettings()
    churn: ChurnSettings = ChurnSettings()
    reading: ReadingSettings = ReadingSettings()
    sitemaps: SitemapRules = SitemapRules()
    dust: DustSettings = DustSettings()
    watching: Watching | None = None
    revisits_only: bool = False

"""What a machine is made of: its settings, the policy for URLs, and what it commits besides rows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from periplus.content import ChurnSettings
from periplus.model import Filter, Ordering, Site, Url
from periplus.policy.filters import Guard, MediaSettings, Scope, SiteFilterState
from periplus.policy.weights import PageWeights
from periplus.store import WarcEnd

from .frontier import FrontierRules, FrontierState
from .link_state import LinkState
from .settings import ReadingSettings
from .stats import CrawlStats

LoadLearnt = Callable[[str, int], bytes | None]
"""What a job has learnt: the file of a kind and generation; `None` if it was removed."""


class ShardMeta(Struct):
    """All that is committed besides rows: one struct for each shard.

    `commits` counts them, and names the log of the inputs that follow; `ordering` is the name of one that learns;
    `archive` is how far the WARC reaches, `tables` how far the tables do; `moved` are places that seeds moved to;
    `learnt` has the generation of what jobs have learnt, by kind. Each part has a value of its own.
    """

    commits: int = 0
    ordering: str = ""
    stats: CrawlStats = field(default_factory=CrawlStats)
    archive: WarcEnd = WarcEnd()
    tables: bytes | None = None
    moved: list[Url] = field(default_factory=list)
    frontier: FrontierState = field(default_factory=FrontierState)
    links: LinkState = field(default_factory=LinkState)
    learnt: dict[str, int] = field(default_factory=dict)


class UrlPolicy(Struct, frozen=True):
    """Which URLs a shard wants, and in which order.

    `make_guard` makes the filters of what arrives here, given what they recall of a site; `screen` are those of what
    goes to other shards.
    """

    ordering: Ordering
    scope: Scope
    make_guard: Callable[[Callable[[Site], SiteFilterState | None]], Guard]
    screen: Filter
    weights: PageWeights = field(default_factory=PageWeights)


class MachineSettings(FrontierRules, frozen=True):
    """The settings of a machine and its frontier, and which shard it is. Parts are made with theirs."""

    shard: int = 0
    random_seed: str = ""
    learning_ordering: str = ""
    churn: ChurnSettings = ChurnSettings()
    reading: ReadingSettings = ReadingSettings()
    media: MediaSettings = MediaSettings()

"""What a machine is made of: the settings of its parts, and what it commits besides rows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from periplus.content import ChurnSettings
from periplus.model import Fetched, FetchOutcome, Page, Stored, Url
from periplus.parts.cloaking.part import ComparisonState
from periplus.parts.dust.settings import DustSettings
from periplus.parts.forms.settings import FormRules
from periplus.parts.judges import JudgeSettings
from periplus.parts.render.settings import RenderSettings
from periplus.parts.revisit.budget import Watching
from periplus.parts.revisit.records import RevisitState
from periplus.parts.sitemaps.store import SitemapState
from periplus.policy.filters import MediaSettings
from periplus.policy.settings import RefreshSettings
from periplus.store import WarcEnd

from .frontier import FrontierRules, FrontierState
from .links import LinkState
from .settings import ReadingSettings, SitemapRules
from .stats import CrawlStats

LoadBody = Callable[[FetchOutcome, Stored | None], FetchOutcome]
"""Puts the body of an answer back, from where the archive has it."""
LoadLearnt = Callable[[str, int], bytes | None]
"""What a job has learnt: the file of a kind and generation; `None` if it was removed."""
TakeLearnt = Callable[[bytes, float], None]
"""Takes what a job has learnt, at a time."""
TakeProbe = Callable[[FetchOutcome, Page | None, float], None]
"""Takes the answer to a probe, and the page that was read from it if there is one."""


class ShardMeta(Struct):
    """All that is committed besides rows: one struct for each shard.

    `commits` counts them, and names the log of the inputs that follow; `ordering` is the name of one that learns;
    `archive` is how far the WARC reaches, `tables` how far the tables do; `moved` are places that seeds moved to;
    `learnt` has the generation of what jobs have learnt, by kind; `compared` is what was compared with browsers.
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
    compared: ComparisonState = field(default_factory=ComparisonState)


class MachineSettings(FrontierRules, frozen=True):
    """The settings of the frontier and of the parts of a machine, and which shard it is.

    `held_seeds` are fetched only if their sites list nothing that the crawl is for (`media`).
    """

    shard: int = 0
    random_seed: str = ""
    learning_ordering: str = ""
    refresh: RefreshSettings = RefreshSettings()
    churn: ChurnSettings = ChurnSettings()
    reading: ReadingSettings = ReadingSettings()
    sitemaps: SitemapRules = SitemapRules()
    media: MediaSettings = MediaSettings()
    held_seeds: tuple[Url, ...] = ()
    judges: JudgeSettings = JudgeSettings()
    dust: DustSettings = DustSettings()
    render: RenderSettings = RenderSettings()
    forms: FormRules = FormRules()
    watching: Watching | None = None
    follows_spam: bool = True
    explore: float = 0.0


def with_bodies(saved: SitemapState, load_body: LoadBody) -> SitemapState:
    """Sitemaps that were not read to their end, with their bodies from the archive."""
    for place, file in enumerate(saved.unfinished):
        outcome = load_body(file.outcome, file.stored)
        if isinstance(outcome, Fetched):
            saved.unfinished[place] = replace(file, outcome=outcome)
    return saved

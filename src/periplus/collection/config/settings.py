"""The settings of all rooms as one value: a table for each room, and `[crawl]` for the whole crawl.

The settings of a feature are declared in its folder. Flags go over the file, and the file over the defaults. A value
that cannot be is a `ConfigError` when it is read, not when the crawl comes to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec import Struct, defstruct, field
from msgspec.structs import fields, replace

from periplus.content import ChurnSettings
from periplus.engine.fetch import AddressGuard, CrawlerIdentity, RequestTables, ResolverSettings, WireSettings
from periplus.engine.frontier import FrontierSettings, PolitenessSettings, RetrySettings
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.settings import EngineSettings, ReadingSettings, WatchSettings
from periplus.engine.sitemaps.revisit import RevisitSettings
from periplus.engine.sitemaps.settings import DifferenceSettings, ScoreSettings, SitemapCrawlSettings
from periplus.engine.sitemaps.trees import TreeLimits
from periplus.engine.sitemaps.visits import AuthoritySettings, RetirementSettings
from periplus.model import ConfigError, Ordering, Url
from periplus.model.flags import FAR, HOW, PERSONAL, REQUESTS, Flag, Personal, Tables
from periplus.parts import others
from periplus.parts.absence.settings import AbsenceSettings
from periplus.parts.cloaking.settings import CloakingSettings, RedirectionSettings
from periplus.parts.deltas.settings import DeltaSettings
from periplus.parts.dust.settings import DustSettings
from periplus.parts.focus.settings import TopicSettings
from periplus.parts.forms.settings import FormSettings
from periplus.parts.identity.settings import IdentitySettings
from periplus.parts.mirrors.settings import MirrorSettings, ParkedSettings
from periplus.parts.permissions.settings import PermissionSettings
from periplus.parts.render.settings import RenderSettings
from periplus.parts.requisites.settings import RequisiteSettings
from periplus.parts.spam.settings import SpamSettings
from periplus.parts.webhooks.settings import WebhookSettings
from periplus.policy.filters import (
    BudgetSettings,
    ExtensionSettings,
    FilterSettings,
    MediaSettings,
    MediaTypes,
    PatternSettings,
    ScopeSettings,
    SessionSettings,
    ShapeSettings,
    TrapSettings,
)
from periplus.policy.settings import (
    BalanceSettings,
    DuplicateSettings,
)
from periplus.store.tables import TableSettings
from periplus.store.warc import WarcSettings

from . import toml_files
from .fields import settings_of

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?")


class CrawlSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the whole crawl."""

    seeds: tuple[str, ...] = ()
    """Start URLs; without a scheme, https."""
    seed_file: Annotated[str, Personal(or_inside=True)] = ""
    """A file in the same folder with more seeds, one a line."""
    limit: Annotated[
        int,
        Flag("--limit", "Maximum pages to fetch in all.", "PAGES", least=1),
        Flag("--limit", "Of a site: maximum number of pages; 0: all.", "PAGES", verbs=("audit",), least=0, default=500),
    ] = 0
    """Maximum number of pages over all runs, each counted once however often it is fetched; 0: no limit."""
    max_bytes: Annotated[int, Flag("--max-bytes", "Maximum bytes to download, such as 10GB.", "SIZE", FAR)] = 0
    """Maximum bytes to download over all runs; 0: no limit."""
    duration: Annotated[
        float,
        Flag("--for", "How long to crawl now: 90s, 10m, 1h30m.", "TIME", verbs=("crawl", "survey")),
        Flag("--for", "Of a site: how long to crawl, at most.", "TIME", verbs=("audit",), default="10m"),
        Flag("--for", "How long to watch; by default until Ctrl-C.", "TIME", verbs=("watch",)),
    ] = field(default=0.0, name="for")
    """Maximum time of a run, such as "1h30m"; 0: no limit."""
    rate: Annotated[
        float,
        Flag("--rate", "Maximum pages a second over all sites.", "PAGES", HOW, least=0),
        Flag("--rate", "Maximum requests a second over all sites.", "N", HOW, ("survey",), least=0),
    ] = 0.0
    """Maximum pages a second over all sites; 0: no limit."""
    workers: Annotated[
        int,
        Flag(
            "--workers",
            "Number of processes; by default one per core.",
            "N",
            HOW,
            ("crawl", "survey"),
            least=1,
            most=256,
        ),
        Flag(
            "--workers",
            "Number of processes: that of the shards of the collection.",
            "N",
            verbs=("watch",),
            least=1,
            most=256,
        ),
    ] = 0
    """Number of processes, each with a shard of the sites; 0: one a core. Fixed after the first crawl."""
    contact: Annotated[
        str,
        Flag(
            "--contact",
            "Your mail address or page, for site owners; sent in the User-Agent.",
            "WHO",
            verbs=REQUESTS,
        ),
    ] = ""
    """Your e-mail address or page, for site owners; part of the User-Agent."""
    product: str = "Periplus"
    """The name in the User-Agent, also matched against groups of robots.txt."""
    ordering: Annotated[
        str,
        Flag(
            "--order",
            "Which URLs first: batch, breadth_first, indegree, largest_site, opic, opic_adaptive, optimal, partial, "
            "random, rankmass, rankmass_windowed; by default breadth_first. With a topic: best_first, focused, n_best, "
            "shark; by default focused.",
            "NAME",
            FAR,
        ),
    ] = "breadth_first"
    """Which URLs first: batch, breadth_first, indegree, largest_site, opic, opic_adaptive, optimal, partial,
    random, rankmass or rankmass_windowed; with a topic best_first, focused, n_best or shark. One that learns from
    links cannot be changed later."""
    random_seed: int = 0
    """Seed of all random choices."""


class ClusterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Shards on many machines."""

    local_state: Annotated[str, PERSONAL] = ""
    """A folder on each machine's local disk for the states of its shards, copied to the collection; empty: they are
    in the collection, which must not be on a network."""
    lease: float = 15.0
    """Seconds for which a lost shard's sites are not visited."""


class ReceiverSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Messages of sites that `periplus serve` receives."""

    enabled: bool = False
    """Receive them also without --receive."""
    public_url: str = ""
    """Where hubs reach `serve`; empty: the address of --public-url."""
    websub: bool = False
    """Subscribe to the WebSub hubs that feeds name; hubs must reach `serve`."""
    messages_per_second: float = 10.0
    """Maximum messages a second from one address."""
    urls_per_hour: int = 100_000
    """Maximum URLs an hour from one address."""
    max_waiting: int = 100_000
    """Maximum URLs that wait for the crawl; then messages are answered with 429."""


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are indexed, and what `periplus serve` shows of those that are found."""

    cached: bool = True
    """Show stored copies of pages that allow it (noarchive)."""
    vectors: Annotated[str, PERSONAL] = ""
    """What makes vectors of passages: "wordllama", or a function of yours, such as "module:function"; empty: none."""


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Search for the pages of other sites, and what is kept of it."""

    origins: tuple[str, ...] = ()
    """Sites whose pages may search with a script, such as "https://docs.example.org"; "*": all."""
    query_log: bool = False
    """Keep what is searched for, without addresses, in queries.jsonl."""

    def check(self) -> None:
        """Raise `ConfigError` for what is not an origin."""
        for origin in self.origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"origins: {origin!r} is not an origin",
                    hint="give scheme, host and port in lower case without a path: https://docs.example.org",
                )


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What language models get of pages, over MCP and the API."""

    obey: bool = True
    """Withhold the text of pages whose sites refuse that (ai-input)."""
    fetches_per_hour: int = 60
    """Maximum pages an hour that agents may have fetched again."""


class AuditBudgets(Struct, frozen=True, forbid_unknown_fields=True):
    """Budgets of a site: `periplus audit` exits with 4 if it is over one."""

    max_page_weight: int = 0
    """Maximum bytes of a page as sent, without what it embeds, such as "2MB"; 0: no limit."""
    max_page_seconds: float = 0.0
    """Maximum seconds that a page may take; 0: no limit."""
    max_depth: int = 0
    """Maximum clicks from the home page to an indexable page; 0: no limit."""
    max_broken_links: int = -1
    """Maximum linked URLs of the site that return an error; -1: no limit."""


class OrderingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of an ordering. One that the ordering does not have is an error."""

    every: int = 0
    """For batch, partial, rankmass: pages between two rankings (10,000; rankmass_windowed 100). For n_best: URLs of
    a batch (64)."""
    damping: float = 0.0
    """For the same: probability of following a link (0.85)."""
    window: int = 0
    """For opic_adaptive: fetches in which income is measured (10,000)."""
    learning: float = 0.0
    """For focused: weight of what was learnt of folders, 0 to 1 (0.5)."""
    share: float = 0.0
    """For rankmass_windowed: share of the frontier fetched between two rankings (0.1)."""
    by: Annotated[
        str,
        Flag(
            "--order-by",
            "For --order optimal: an earlier collection of the same web, whose PageRank is used.",
            "DIR",
            FAR,
        ),
        PERSONAL,
    ] = ""
    """For optimal: an earlier collection of the same web, whose PageRank is used."""

    @property
    def changed(self) -> dict[str, int | float]:
        """The settings that were changed, as keyword arguments of an ordering."""
        return {
            name: value
            for name in ("every", "damping", "window", "share", "learning")
            if (value := getattr(self, name))
        }


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting of a crawl: tables of every crawl, then those of its features."""

    crawl: CrawlSettings = CrawlSettings()
    """The whole crawl."""
    ordering: OrderingSettings = OrderingSettings()
    """Settings of the ordering; 0: the ordering's default."""
    scope: ScopeSettings = ScopeSettings()
    """How far to go from the seeds."""
    patterns: PatternSettings = PatternSettings()
    """URLs to include and exclude: `*/docs/*`, `example.org/docs/*`, `/docs/*`, or `re:` and a regular expression."""
    politeness: PolitenessSettings = PolitenessSettings()
    """Politeness. Times are in seconds."""
    retries: RetrySettings = RetrySettings()
    """Retries. Times are in seconds."""
    budgets: BudgetSettings = BudgetSettings()
    """Limits of sites and domains ([hostile.md](hostile.md#budgets)), and the distance from a seed."""
    traps: TrapSettings = TrapSettings()
    """When a template of URLs counts as a trap."""
    shape: ShapeSettings = ShapeSettings()
    """Limits of a URL."""
    sessions: SessionSettings = SessionSettings()
    """Parameters that do not identify a page."""
    extensions: ExtensionSettings = ExtensionSettings()
    """Extensions of files that are not pages."""
    media: MediaSettings = MediaSettings()
    """A crawl for files instead of pages ([media.md](media.md))."""
    reading: ReadingSettings = ReadingSettings()
    """How pages are read, and which of their links are followed."""
    balance: BalanceSettings = BalanceSettings()
    """How a site's budget is shared between links and sitemaps."""
    watch: WatchSettings = WatchSettings()
    """The budget of `periplus watch`."""
    churn: ChurnSettings = ChurnSettings()
    """When a part of a page that differs at every visit is ignored
    ([changes.md](changes.md#what-changes-at-every-visit))."""
    duplicates: DuplicateSettings = DuplicateSettings()
    """Which pages count as the same ([duplicates.md](duplicates.md)). Applies to pages read from then on."""
    wire: WireSettings = WireSettings()
    """Limits of every transfer. Times are in seconds, sizes in bytes as sent."""
    dns: ResolverSettings = ResolverSettings()
    """How names are looked up. Times are in seconds."""
    frontier: FrontierSettings = FrontierSettings()
    """Memory of the frontier."""
    archive: WarcSettings = WarcSettings()
    """The WARC files."""
    tables: TableSettings = TableSettings()
    """The Parquet files."""
    engine: EngineSettings = EngineSettings()
    """How often everything is committed."""
    cluster: ClusterSettings = ClusterSettings()
    """Shards on many machines."""
    receivers: ReceiverSettings = ReceiverSettings()
    """Messages of sites to `periplus serve` ([receivers.md](receivers.md))."""
    search: SearchSettings = SearchSettings()
    """What `periplus serve` shows of pages that are found."""
    serve: ServerSettings = ServerSettings()
    """Search on other sites ([embedding.md](embedding.md)), and the log of queries."""
    audit: AuditBudgets = AuditBudgets()
    """Budgets of a site for continuous integration ([audit.md](audit.md#budgets))."""
    agents: AgentSettings = AgentSettings()
    """What language models get of pages ([agents.md](agents.md))."""
    absence: AbsenceSettings = AbsenceSettings()
    """When a page sent with status 200 counts as an error page
    ([hostile.md](hostile.md#soft-404s-and-parked-domains))."""
    cloaking: CloakingSettings = CloakingSettings()
    """Comparison with what browsers get ([hostile.md](hostile.md#cloaking))."""
    redirections: RedirectionSettings = RedirectionSettings()
    """When a host counts as one that only redirects ([hostile.md](hostile.md#cloaking))."""
    deltas: DeltaSettings = DeltaSettings()
    """Pages that are sent as differences from the stored version ([wire.md](wire.md#differences))."""
    dust: DustSettings = DustSettings()
    """Rules for duplicate URLs ([hostile.md](hostile.md#dust))."""
    topic: TopicSettings = TopicSettings()
    """What a focused crawl looks for ([focused.md](focused.md))."""
    forms: FormSettings = FormSettings()
    """Which forms are submitted, and how often ([forms.md](forms.md))."""
    identity: IdentitySettings = IdentitySettings()
    """Signed requests ([identity.md](identity.md))."""
    mirrors: MirrorSettings = MirrorSettings()
    """When a host counts as the mirror of another ([hostile.md](hostile.md#mirrors))."""
    parked: ParkedSettings = ParkedSettings()
    """When a domain counts as parked ([hostile.md](hostile.md#soft-404s-and-parked-domains))."""
    permissions: PermissionSettings = PermissionSettings()
    """What pages may be used for ([permissions.md](permissions.md))."""
    render: RenderSettings = RenderSettings()
    """Pages that need scripts ([scripts.md](scripts.md)). Times are in seconds, sizes in bytes."""
    requisites: RequisiteSettings = RequisiteSettings()
    """Files that pages need ([archives.md](archives.md#whole-pages))."""
    refresh: RefreshSettings = RefreshSettings()
    """When pages are visited again. Times are in seconds."""
    sitemaps: SitemapCrawlSettings = SitemapCrawlSettings()
    """Which sitemaps and feeds are read."""
    forest: TreeLimits = TreeLimits()
    """How far trees of sitemaps are followed."""
    authority: AuthoritySettings = AuthoritySettings()
    """Whose pages a sitemap may list."""
    revisit: RevisitSettings = RevisitSettings()
    """When sitemap files are read again. Times are in seconds."""
    retirement: RetirementSettings = RetirementSettings()
    """When sitemap files are no longer visited."""
    difference: DifferenceSettings = DifferenceSettings()
    """How much of a sitemap's last reading is stored."""
    scores: ScoreSettings = ScoreSettings()
    """The order of pages that sitemaps list."""
    spam: SpamSettings = SpamSettings()
    """Hosts judged to be spam ([hostile.md](hostile.md#spam))."""
    webhooks: WebhookSettings = WebhookSettings()
    """Messages about what happened to the collection ([webhooks.md](webhooks.md))."""

    @classmethod
    def load(cls, path: Path, options: Mapping[str, object] | None = None) -> Self:
        """The settings of a file, over the defaults. Raises `ConfigError`, which names file, table and key.

        `options` will be applied to them: what is wrong only without these is not refused.
        """
        return toml_files.load(cls, path, options)

    @classmethod
    def parse(cls, text: str, source: str = "the settings") -> Self:
        """Like `load`, but from a text; `source` is its name in errors."""
        return toml_files.parse(cls, text, source)

    def with_options(self, options: Mapping[str, object], source: str = "the options") -> Self:
        """A copy with these changes, named as `table.key`; `None` changes nothing."""
        return toml_files.with_options(self, options, source)

    def dump(self) -> str:
        """The text of a file with the settings that are not at their defaults, each explained in a line."""
        return toml_files.dump(self)

    def check(self) -> None:
        """Raise `ConfigError` for a value that some room would not take."""
        from .checking import check  # only here are the rooms needed that obey the settings

        check(self)

    def ordered(self, oracle: Callable[[Url], float] | None = None) -> Ordering:
        """The ordering of the settings. `oracle` returns what a URL is worth by an earlier collection."""
        from .checking import ordered

        return ordered(self, oracle)

    @property
    def filters(self) -> FilterSettings:
        """The settings of the filters, as `policy` wants them."""
        return self.some(FilterSettings)

    def some(self, kind: type[Tables]) -> Tables:
        """The tables that a struct has as its fields, which are named as here."""
        return kind(**{name: getattr(self, name) for name in kind.__struct_fields__})

    def value(self, name: str) -> Any:
        """One setting, by its name in a file: `table.key`."""
        table, _, key = name.partition(".")
        found = getattr(self, table)
        return getattr(found, settings_of(type(found))[key].attribute)

    @property
    def transfers(self) -> WireSettings:
        """The settings of the wire, with the types and the size of what the crawl is for."""
        media = MediaTypes(self.media)
        if not media and not self.media.pdf:
            return self.wire
        longest = max(self.wire.max_page_bytes, self.media.max_file_bytes)
        return replace(self.wire, accept_types=media.accepted(self.wire.accept_types), max_page_bytes=longest)

    def address_guard(self) -> AddressGuard:
        """Which addresses requests may be sent to, for which site: every request is checked by such a guard."""
        return self.some(RequestTables).guard

    @property
    def crawler_identity(self) -> CrawlerIdentity:
        """How the crawler names itself to servers."""
        return CrawlerIdentity(contact=self.crawl.contact, product=self.crawl.product)


if not TYPE_CHECKING and (_found := [each.tables() for each in others() if each.settings]):
    Config = defstruct(
        "Config",
        [(each.name, each.type, each.default) for tables in _found for each in fields(tables)],
        bases=(Config,),
        module=__name__,
        frozen=True,
        forbid_unknown_fields=True,
        namespace={"declared_in": {table: tables for tables in _found for table in tables.__struct_fields__}},
    )

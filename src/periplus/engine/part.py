"""What a feature of the crawl is to the machine: a part, which is called at the moments named here.

A part is a class in the module `part` of its folder (`parts.offered`). Its class methods are called while a crawl is
put together, the others by the machine, in the order of `order`; replays rely on it. A part overrides the hooks
that it needs. One of the machine's that it does not override is never called, so it costs nothing.

A part works with what lies on its `Desk`, and with nothing of other parts. It keeps rows in the state, or a value that
`flush` returns and `Desk.saved` gives back. Whatever it does follows from the inputs: it reads no clock.
"""

# ruff: noqa: ARG002, ARG003 - a hook is given what some part needs

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from msgspec import Struct

from periplus.model import (
    Bid,
    Clock,
    Discovery,
    Excluded,
    FetchOutcome,
    OfferedDictionary,
    Ordering,
    ParsedPage,
    Render,
    RevisitBudget,
    SignalCounts,
    Site,
    SourceFacts,
    Stored,
    SubjectJudged,
    Url,
    UrlRecord,
    Verdict,
)
from periplus.model.flags import Settings
from periplus.policy.filters import Guard
from periplus.policy.filters.reasons import ACCEPT

from .fetch import CrawlerIdentity

if TYPE_CHECKING:
    from periplus.content import RawPage
    from periplus.insight.views import Views
    from periplus.policy.filters.chain import MakeFilter
    from periplus.policy.weights import PageWeights
    from periplus.store import DiskState, KnownRanks, SiteState, State
    from periplus.store.layout import Layout

    from .fetch import AddressGuard, RequestSigner
    from .frontier import Frontier, Revisiting, SiteRecords
    from .links import Complete, Worths
    from .pipeline import Processed
    from .router import ShardRouter
    from .stats import EventCounter
    from .wire import Wire

S = TypeVar("S")


class VisitMarket(Protocol):
    """Divides the visits a day of a watch among the shards."""

    @property
    def granted(self) -> Sequence[float]:
        """The visits a day of each shard; empty until every shard has bid."""

    def turn(self, bids: Sequence[Bid | None], /) -> Sequence[tuple[int, float]]:
        """The shards whose visits a day change, each with the new number: first those that get less."""


TakeProbe = Callable[[FetchOutcome, ParsedPage | None, float], None]
"""Takes the answer to a probe, and the page that was read from it if there is one."""
TakeLearnt = Callable[[bytes, float], None]
"""Takes what a job has learnt, at a time; 0 when the machine is opened."""
MakeMarket = Callable[[int], VisitMarket]
"""Makes the market of this many shards."""
RankPages = Callable[[], "KnownRanks"]
"""Computes what pages are worth."""
DictionaryFor = Callable[[UrlRecord, float], OfferedDictionary | None]
HowToRender = Callable[[Url, float], Render]
"""Whether a page is opened in a browser."""
ChooseLevels = Callable[[Site, Sequence[int]], Sequence[int]]
"""The levels of a site's queue at which something waits, in the order in which their URLs are to be fetched."""
RefusesEmbedded = Callable[[UrlRecord], str]
"""Why a file that pages embed, which waited, is not fetched; empty: it is."""


class Setup(Struct, frozen=True):
    """The crawl that parts are made for, in one of `shards`.

    `visits_a_day` are those of a watch; 0: it is none. `signed_in` are sites that get a password, token or cookie with
    each request. With `revisits_only`, only pages that wait to be visited again are fetched.
    """

    settings: Settings
    layout: Layout
    ordering: Ordering | None = None
    seeds: tuple[Url, ...] = ()
    shards: int = 1
    visits_a_day: float = 0.0
    revisits_only: bool = False
    identity: CrawlerIdentity = CrawlerIdentity()
    signed_in: frozenset[Site] = frozenset()


Distrust = Callable[[str], float]
"""The probability that a domain is spam."""


class JobDesk(Struct, frozen=True):
    """What a job works with. `distrust` is what is known of spam, `pages` how many were read."""

    setup: Setup
    views: Views
    distrust: Distrust | None
    pages: int
    now: float


class Job(Struct, frozen=True):
    """A job: whether a crawl wants it, and what it does. It writes learnt files and verdicts, nothing else."""

    name: str
    is_wanted: Callable[[Setup], bool]
    run: Callable[[JobDesk], None]


class OpenWork(Struct, frozen=True):
    """Work of a part that is left at the end of a crawl: what it is in words, and the command that shows it.

    In `command`, `{folder}` stands for the collection.
    """

    what: str
    command: str


class CollectionEvent(Struct, frozen=True):
    """Something that happened to a collection as a whole.

    `type` is `crawl.ended`, `pages.changed` or `audit.new_faults`; `data` are its facts, which JSON can hold.
    """

    type: str
    at: float
    data: Mapping[str, object]


class Part:
    """A feature of the crawl. Every hook has a neutral default."""

    order: ClassVar[int] = 1000
    """The parts of a crawl are called in ascending order."""

    # while a crawl is put together

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> Iterable[Part]:
        """The parts of a shard: mostly one, none if the settings want none."""
        return [cls()]

    @classmethod
    def check(cls, setup: Setup) -> None:
        """Raise `ConfigError` if this machine lacks what the settings ask for."""

    @classmethod
    def prepared(cls, setup: Setup) -> Mapping[str, object]:
        """Read or fetch what the settings name, before the crawl begins; the settings that are to be changed for it."""
        return {}

    @classmethod
    def rankers(cls, setup: Setup) -> Mapping[str, RankPages]:
        """What computes the importance of pages from the tables, by its name."""
        return {}

    @classmethod
    def rank(cls, setup: Setup, rankers: Mapping[str, RankPages]) -> None:
        """Compute the importance of pages, if the settings ask for it, before the shards are opened."""

    @classmethod
    def seed(cls, settings: Settings, seed: Discovery) -> Discovery:
        """A seed, or what is fetched in its place."""
        return seed

    @classmethod
    def browser(cls, setup: Setup) -> str:
        """The `User-Agent` of probes that compare what browsers get, if it sends such."""
        return ""

    @classmethod
    def signer(cls, setup: Setup, clock: Clock) -> RequestSigner | None:
        """What signs requests, if something does."""
        return None

    @classmethod
    def wired(cls, setup: Setup, wire: Wire, guard: AddressGuard, clock: Clock) -> Wire | None:
        """A wire in front of the one that fetches, if it needs one."""
        return None

    @classmethod
    def filters(cls, setup: Setup) -> Sequence[MakeFilter]:
        """What makes filters of URLs that learn."""
        return ()

    @classmethod
    def weights(cls, setup: Setup, state: State | None) -> PageWeights | None:
        """How much pages matter, if it says so; measured as in the last crawl of this state, if there is one."""
        return None

    @classmethod
    def jobs(cls) -> Sequence[Job]:
        """Its jobs over the tables; those of parts that are called first run first."""
        return ()

    @classmethod
    def distrust(cls, setup: Setup) -> Distrust | None:
        """How likely a domain is spam by what was learnt so far, if anything was."""
        return None

    @classmethod
    def judge(cls, setup: Setup, views: Views, now: float) -> Mapping[str, Sequence[SubjectJudged]]:
        """Judge the tables on demand, for crawls that follow; the verdicts, by a name for their kind."""
        return {}

    @classmethod
    def market(cls) -> MakeMarket | None:
        """What makes the market in which shards bid for the visits of a watch, if there is one."""
        return None

    @classmethod
    def revisits(
        cls,
        setup: Setup,
        state: State,
        records: SiteRecords,
        weights: PageWeights,
        random: Random,
    ) -> Revisiting | None:
        """What schedules further visits to pages, if it does."""
        return None

    # the state of a shard that does not run

    @classmethod
    def visits_a_day(cls, state: State) -> float:
        """Visits a day of the last watch; 0 if there was none."""
        return 0.0

    @classmethod
    def half_read(cls, state: State) -> Sequence[Stored | None]:
        """Where the answers are stored that were not read to their end."""
        return ()

    @classmethod
    def make_due(cls, state: State, site: Site, *, missing: bool) -> None:
        """Have a refresh of a site ask for its lists again; with `missing`, also for those that were not there."""

    @classmethod
    def move(cls, source: State, targets: Mapping[int, State], owner: Callable[[Site], int]) -> None:
        """Copy what belongs to sites that move to other shards, and is not kept by site, to those shards."""

    @classmethod
    def settle(cls, state: State, waiting: int) -> None:
        """Prepare a state for sites that are new to it; `waiting` revisits are queued."""

    # when a crawl, a visit to all pages or an audit is over

    @classmethod
    def happened(cls, setup: Setup, event: CollectionEvent) -> None:
        """Take what happened to a collection. No shard need be closed."""

    @classmethod
    def open_work(cls, setup: Setup, states: Sequence[State]) -> Sequence[OpenWork]:
        """What is left to do when nothing is queued any more."""
        return ()

    # what people are shown of a state

    @classmethod
    def signals(cls, state: State, site: Site) -> Sequence[SignalCounts]:
        """How reliable the signals of a site were that are not about single pages."""
        return ()

    @classmethod
    def revisit_budget(cls, setup: Setup, states: Sequence[DiskState], now: float) -> RevisitBudget | None:
        """How fresh a collection is, and what its visits cost, if it visits pages again."""
        return None

    @classmethod
    def site_facts(
        cls, setup: Setup, state: State, site: SiteState, counts: Sequence[SignalCounts]
    ) -> Mapping[str, object]:
        """Its fields of `SiteFacts`; `counts` are the `signals` of all parts."""
        return {}

    @classmethod
    def sources(cls, state: State, site: Site) -> SourceFacts | None:
        """What links and lists contributed to a site, if it reads lists."""
        return None

    @classmethod
    def url_facts(cls, setup: Setup, state: State, record: UrlRecord, now: float) -> Mapping[str, object]:
        """Its fields of `UrlFacts`."""
        return {}

    # what it takes

    def probes(self) -> Mapping[str, TakeProbe]:
        """What takes the answers to its probes, by their kind."""
        return {}

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """What takes the results of jobs, by their kind."""
        return {}

    # where URLs go

    def rename(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """The discoveries, some under other names, before they go to their shards."""
        return discoveries

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Whether a URL that waited is still wanted."""
        return ACCEPT

    def renamed(self) -> list[Discovery]:
        """Other names of URLs that it refused since the last call."""
        return []

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Take discoveries from outside, or from another shard."""

    def submit(self, now: float) -> None:
        """Queue the files that the settings name."""

    # how pages are fetched and read

    def rendering(self) -> HowToRender | None:
        """What decides whether a page is opened in a browser, if it does."""
        return None

    def offering(self) -> DictionaryFor | None:
        """What decides which version of a page is offered as a compression dictionary, if any is."""
        return None

    def choosing(self) -> ChooseLevels | None:
        """What decides at each request which level of a site's queue comes first, if levels are not in order."""
        return None

    def refusing_embedded(self) -> RefusesEmbedded | None:
        """What decides whether a file that pages embed is still wanted at its turn, if any does."""
        return None

    def completing(self) -> Complete | None:
        """What completes pages that were, or might have been, opened in a browser, if it does."""
        return None

    def worths(self) -> Worths | None:
        """What values single links, if it does."""
        return None

    def inspect(self, page: RawPage) -> None:
        """Look at the bytes of a page before it is read."""

    def mark(self, page: ParsedPage) -> ParsedPage:
        """The page, with what the part knows of it, before its row is written."""
        return page

    # what answers mean, in this order

    def learn(self, processed: Sequence[Processed], now: float) -> None:
        """Learn from answers that were reported to the frontier together."""

    def read(self, processed: Processed, now: float) -> None:
        """Judge one of them, before its links are found."""

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:
        """Where an answer leads, given what was `found` in it."""
        return found

    def passed_on(self, processed: Processed, now: float) -> None:
        """Take an answer whose links were delivered; it is not one to a probe."""

    def refused(self, outcome: Excluded, now: float) -> None:
        """A sitemap, a feed or a file that pages need was refused while it waited."""

    def emptied(self, sites: Iterable[Site]) -> None:
        """The queues of listed pages of these sites ran empty."""

    def exhausted(self, sites: Sequence[Site], now: float) -> None:
        """Nothing waits at these sites, and nothing is under way."""

    # time

    def wants_step(self, now: float) -> bool:
        """Whether `step` would do something."""
        return False

    def step(self, now: float) -> None:
        """Do what is due."""

    def give_up_reading(self, now: float) -> None:
        """End whatever is being read: two processes died of it."""

    @property
    def next_at(self) -> float | None:
        """When it will want a step, as far as that is known."""
        return None

    def is_idle(self, now: float) -> bool:
        """Whether the crawl may end as far as this part knows."""
        return True

    @property
    def is_reading(self) -> bool:
        """Whether something that has arrived was not read to its end."""
        return False

    @property
    def has_unread(self) -> bool:
        """Whether it has files that it has not read to their end, so that it is not known what they list."""
        return False

    @property
    def listed(self) -> int:
        """URLs that it has read in files and not queued yet."""
        return 0

    def has_read(self, site: Site) -> bool:
        """Whether it has read all that it expects a site to list."""
        return True

    def restart(self, now: float, *, is_set_back: bool) -> None:
        """Continue in a new process; `is_set_back`: the clock was set back since the last one."""

    def flush(self) -> Struct | None:
        """Write rows, and return what else must be committed; there is one value of each type."""
        return None


P = TypeVar("P", bound=Part)


class Desk(Struct, frozen=True):
    """What a part works with: the state of a shard, and the ways into its crawl."""

    state: State
    records: SiteRecords
    frontier: Frontier
    router: ShardRouter
    guard: Guard
    events: EventCounter
    weights: PageWeights
    revisits: Revisiting
    forget_links: Callable[[float], None]
    parts: list[Part] = []

    def saved(self, kind: type[S]) -> S | None:
        """What a part committed last, of this type."""
        return self.state.meta(kind)

    def has_read(self, site: Site) -> bool:
        """Whether all that a site lists was read, as far as any part reads lists."""
        return all(part.has_read(site) for part in self.parts)


MakeParts = Callable[[Desk], Iterable[Part]]
"""Makes the parts of a feature, mostly one."""


def overriding(parts: Sequence[Part], hook: str) -> list[Any]:
    """The method of each part that overrides a hook."""
    return [getattr(part, hook) for part in parts if getattr(type(part), hook) is not getattr(Part, hook)]

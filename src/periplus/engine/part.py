"""What a feature of the crawl is to the machine: a part, which is called at the moments named here.

`parts.FEATURES` names all parts, in the order in which they are called; replays rely on it. Class methods are called
while a crawl is put together, the others by the machine. A part overrides the hooks that it needs; one that it does not
override is never called, so it costs nothing.

A part works with what lies on its `Desk`, and with nothing of other parts. It keeps rows in the state, or a value that
`flush` returns and `Desk.saved` gives back. Whatever it does follows from the inputs: it reads no clock.
"""

# ruff: noqa: ARG002, ARG003 - a hook is given what some part needs

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from periplus.model import (
    Clock,
    Discovery,
    Excluded,
    FetchOutcome,
    Ordering,
    ParsedPage,
    Site,
    SubjectJudged,
    Url,
)
from periplus.model.flags import Settings
from periplus.policy.filters import Guard

from .fetch import CrawlerIdentity

if TYPE_CHECKING:
    from periplus.content import RawPage
    from periplus.insight.views import Views
    from periplus.policy.weights import PageWeights
    from periplus.store import State
    from periplus.store.layout import Layout

    from .fetch import AddressGuard
    from .frontier import Frontier, Revisiting, SiteRecords
    from .links import Complete, Worths
    from .pipeline import Processed
    from .router import ShardRouter
    from .stats import EventCounter
    from .wire import Wire

S = TypeVar("S")


TakeProbe = Callable[[FetchOutcome, ParsedPage | None, float], None]
"""Takes the answer to a probe, and the page that was read from it if there is one."""
TakeLearnt = Callable[[bytes, float], None]
"""Takes what a job has learnt, at a time; 0 when the machine is opened."""


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


class Part:
    """A feature of the crawl. Every hook has a neutral default."""

    # while a crawl is put together

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> Iterable[Part]:
        """The parts of a shard: mostly one, none if the settings want none."""
        return ()

    @classmethod
    def check(cls, setup: Setup) -> None:
        """Raise `ConfigError` if this machine lacks what the settings ask for."""

    @classmethod
    def wired(cls, setup: Setup, wire: Wire, guard: AddressGuard, clock: Clock) -> Wire | None:
        """A wire in front of the one that fetches, if it needs one."""
        return None

    @classmethod
    def jobs(cls) -> Sequence[Job]:
        """Its jobs over the tables; those of parts that are called first run first."""
        return ()

    @classmethod
    def judge(cls, setup: Setup, views: Views, now: float) -> Mapping[str, Sequence[SubjectJudged]]:
        """Judge the tables on demand, for crawls that follow; the verdicts, by a name for their kind."""
        return {}

    # what it takes

    def probes(self) -> Mapping[str, TakeProbe]:
        """What takes the answers to its probes, by their kind."""
        return {}

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """What takes the results of jobs, by their kind."""
        return {}

    # how pages are read

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

    # time, and a commit

    def step(self, now: float) -> None:
        """Do what is due."""

    @property
    def next_at(self) -> float | None:
        """When it will want a step, as far as that is known."""
        return None

    def flush(self) -> Struct | None:
        """Write rows, and return what else must be committed; there is one value of each type."""
        return None


P = TypeVar("P", bound=Part)


class Desk(Struct, frozen=True):
    """What a part works with: the state of a shard, and the ways into its crawl.

    While it is made, a part adds what the machine is to call besides its hooks to the lists here, and takes decisions
    of the frontier over (`frontier.selector`, `router.renaming`).
    """

    state: State
    records: SiteRecords
    frontier: Frontier
    router: ShardRouter
    guard: Guard
    events: EventCounter
    weights: PageWeights
    revisits: Revisiting
    forget_links: Callable[[float], None]
    has_read: Callable[[Site], bool] = lambda _site: True
    """Whether all that a site lists was read."""
    renamed: list[Callable[[], list[Discovery]]] = []
    """What returns other names of URLs that were refused since it was called last."""
    completing: list[Complete] = []
    """What completes pages that were, or might have been, opened in a browser."""
    on_received: list[Callable[[Sequence[Discovery], float], None]] = []
    """What takes discoveries from outside, or from another shard."""
    on_refused: list[Callable[[Excluded, float], None]] = []
    """What takes sitemaps, feeds and files that pages need, and that were refused while they waited."""
    on_exhausted: list[Callable[[Sequence[Site], float], None]] = []
    """What takes sites at which nothing waits, and nothing is under way."""

    def saved(self, kind: type[S]) -> S | None:
        """What a part committed last, of this type."""
        return self.state.meta(kind)


MakeParts = Callable[[Desk], Iterable[Part]]
"""Makes the parts of a feature, mostly one."""


def overriding(parts: Sequence[Part], hook: str) -> list[Any]:
    """The method of each part that overrides a hook."""
    return [getattr(part, hook) for part in parts if getattr(type(part), hook) is not getattr(Part, hook)]

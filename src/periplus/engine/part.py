"""What a feature of the crawl is to the machine: a part, which is called at the moments named here.

The machine makes its parts in the order in which it was given their makers, and calls them in that order; replays rely
on it. A part overrides the hooks that it needs. One that it does not override is never called, so it costs nothing.

A part works with what lies on its `Desk`, and with nothing of other parts. It keeps rows in the state, or a value that
`flush` returns and `Desk.saved` gives back. Whatever it does follows from the inputs: it reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from periplus.model import Discovery, Excluded, FetchOutcome, Page, Render, Site, Url, Verdict
from periplus.policy.filters import Guard
from periplus.policy.filters.reasons import ACCEPT
from periplus.store import State

if TYPE_CHECKING:
    from periplus.policy.weights import PageWeights

    from .frontier import Frontier, Revisiting, SiteRecords
    from .links import Complete, Worths
    from .pipeline import Processed
    from .router import ShardRouter
    from .stats import EventCounter

S = TypeVar("S")
TakeProbe = Callable[[FetchOutcome, Page | None, float], None]
"""Takes the answer to a probe, and the page that was read from it if there is one."""
TakeLearnt = Callable[[bytes, float], None]
"""Takes what a job has learnt, at a time; 0 when the machine is opened."""
HowToRender = Callable[[Url, float], Render]
"""Whether a page is opened in a browser."""


class Part:
    """A feature of the crawl. Every hook has a neutral default."""

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

    def reconsider(self, discovery: Discovery) -> Verdict:  # noqa: ARG002 - for parts that refuse
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

    def completing(self) -> Complete | None:
        """What completes pages that were, or might have been, opened in a browser, if it does."""
        return None

    def worths(self) -> Worths | None:
        """What values single links, if it does."""
        return None

    def mark(self, page: Page) -> Page:
        """The page, with what the part knows of it, before its row is written."""
        return page

    # what answers mean, in this order

    def learn(self, processed: Sequence[Processed], now: float) -> None:
        """Learn from answers that were reported to the frontier together."""

    def read(self, processed: Processed, now: float) -> None:
        """Judge one of them, before its links are found."""

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:  # noqa: ARG002
        """Where an answer leads, given what was `found` in it."""
        return found

    def passed_on(self, processed: Processed, now: float) -> None:
        """Take an answer whose links were delivered; it is not one to a probe."""

    def refused(self, outcome: Excluded, now: float) -> None:
        """A sitemap or feed was refused while it waited."""

    def emptied(self, sites: Iterable[Site]) -> None:
        """The queues of listed pages of these sites ran empty."""

    # time

    def wants_step(self, now: float) -> bool:  # noqa: ARG002
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

    def is_idle(self, now: float) -> bool:  # noqa: ARG002
        """Whether the crawl may end as far as this part knows."""
        return True

    @property
    def is_full(self) -> bool:
        """Whether too much waits to be read to fetch more."""
        return False

    @property
    def is_reading(self) -> bool:
        """Whether something that has arrived was not read to its end."""
        return False

    @property
    def has_unread(self) -> bool:
        """Whether it has URLs that are not counted as queued yet."""
        return False

    def has_read(self, site: Site) -> bool:  # noqa: ARG002
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

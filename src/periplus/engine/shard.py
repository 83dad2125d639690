"""One shard of a crawl, as its transport sees it: an engine with a number. It does not know how batches travel.

A worker (`sharding.worker`) calls `step` again and again, carries what `collect` returns to the other shards, and calls
`acknowledged` when they have committed it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from periplus.model import Batch, Bid, Discovery, Freshness, NextVisit, Url

from .frontier import AddressShares, ClaimsReport, Preview
from .overview import FrontierStats, SiteNow, largest_sites
from .stats import CrawlStats
from .versioned import VersionedMessage

if TYPE_CHECKING:
    from .engine import Engine


class ShardOutput(VersionedMessage, frozen=True):
    """The output of a shard: batches for others, and receipts for theirs (by sender, the number of the last taken).

    `places` are URLs that seeds have moved to: every other shard must know them before it gets one of the batches.
    """

    batches: tuple[Batch, ...] = ()
    receipts: dict[int, int] = field(default_factory=dict)
    places: tuple[Url, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.batches or self.receipts or self.places)


class Controls(Struct, frozen=True):
    """What people have asked of a running crawl, in all: each value replaces the one before.

    `rate` is requests a second of all shards together; 0: any number, `None`: as the settings say. Of the patterns,
    `excluded` and `preferred` are added to those that hold already, and `allowed` are dropped from these.
    """

    is_paused: bool = False
    rate: float | None = None
    excluded: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[tuple[str, ...], ...]:
        """All patterns that steer URLs."""
        return self.excluded, self.preferred, self.allowed


class ShardQuestion(Struct, frozen=True):
    """A question of a client to a shard.

    `sites`: its longest queues, at most this many; `pattern`: which waiting URLs match; `urls`: which of these are
    outside the scope.
    """

    sites: int = 0
    pattern: str = ""
    urls: tuple[Url, ...] = ()


class ShardView(Struct, frozen=True):
    """The answer of one shard to a `ShardQuestion`. `excluded` and `preferred` are the patterns that hold."""

    sites: tuple[SiteNow, ...] = ()
    preview: Preview | None = None
    outside: tuple[Url, ...] = ()
    excluded: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()


class ShardStatus(Struct, frozen=True):
    """The state of a shard at one moment.

    `is_idle`: nothing is queued and nothing is being fetched; `is_quiet`: everything is committed, and every batch for
    other shards is acknowledged. When it is both, `sent` and `taken` are the numbers of the last batches sent to and
    taken from each other shard. `bid` is for the visit market of a watch; `claims` are its address claims, if there are
    other shards. `tables` is the committed mark of its tables: rows up to there are stored and can be read.
    The last commit was at `committed_at` and took `commit_seconds`. `cpu_seconds` are those of its process so far.
    `login_problem` says why every login failed; it is empty once one has succeeded, and `None` before the first.
    """

    shard: int
    frontier: FrontierStats
    crawl: CrawlStats
    is_idle: bool
    is_quiet: bool
    freshness: Freshness | None = None
    next_visits: tuple[NextVisit, ...] = ()
    sent: dict[int, int] = {}
    taken: dict[int, int] = {}
    bid: Bid | None = None
    claims: ClaimsReport | None = None
    tables: bytes | None = None
    committed_at: float = 0.0
    commit_seconds: float = 0.0
    cpu_seconds: float = 0.0
    login_problem: str | None = None

    @property
    def wants_more(self) -> bool:
        """Whether something is queued or being fetched."""
        return self.frontier.queued > 0 or not self.is_idle

    @property
    def price(self) -> float | None:
        """The value a visit must have to be made, in a watch."""
        return None if self.bid is None else self.bid.price


class Shard:
    """A crawl of the sites that are placed on shard `number`. `login_problem`: see `ShardStatus`."""

    def __init__(self, number: int, engine: Engine, login_problem: Callable[[], str | None] = lambda: None) -> None:
        self.number = number
        self._engine = engine
        self._login_problem = login_problem
        self._controls = Controls()

    def discover(self, discoveries: Sequence[Discovery]) -> None:
        """Add seeds or pinged URLs, durably; those of other shards' sites are sent there."""
        self._engine.discover(discoveries)

    def step(self, timeout: float) -> None:
        """Run one turn of the loop; waits at most `timeout` seconds."""
        self._engine.step(timeout)

    def receive(self, batches: Iterable[Batch]) -> None:
        """Take batches from other shards."""
        for batch in batches:
            self._engine.receive(batch)

    def collect(self) -> ShardOutput:
        """Collect what is to be sent to other shards now."""
        places, batches, receipts = self._engine.collect()
        return ShardOutput(tuple(batches), receipts, tuple(places))

    def acknowledged(self, receipts: Mapping[int, int]) -> None:
        """Other shards have committed these batches and all before them: numbers by receiver."""
        for receiver, number in receipts.items():
            self._engine.acknowledged(receiver, number)

    def set_page_budget(self, pages: int | None, *, is_spent: bool = False) -> None:
        """Set how many pages may be fetched here in total; `None`: any number. `is_spent`: the budget of all shards."""
        self._engine.set_page_budget(pages, is_spent=is_spent)

    def set_visit_budget(self, visits_per_day: float) -> None:
        """Set how many visits per day a watch may make here from now on."""
        self._engine.set_visit_budget(visits_per_day)

    def set_address_shares(self, shares: AddressShares) -> None:
        """Set how many shards send requests to this shard's addresses."""
        self._engine.set_address_shares(shares)

    def extend_scope(self, places: Sequence[Url]) -> None:
        """Add URLs that seeds have moved to."""
        self._engine.extend_scope(places)

    def set_controls(self, controls: Controls) -> None:
        """Follow what people ask for. While it is paused no request begins; those under way end."""
        before, self._controls = self._controls, controls
        self._engine.is_paused = controls.is_paused
        self._engine.set_rate(controls.rate)
        if controls.patterns != before.patterns:
            self._engine.steer(*controls.patterns)

    def view(self, question: ShardQuestion) -> ShardView:
        """Answer a question about the shard. It changes nothing."""
        machine = self._engine.machine
        steering = machine.frontier.steering.state
        return ShardView(
            largest_sites(machine.frontier, question.sites) if question.sites else (),
            machine.frontier.preview(question.pattern) if question.pattern else None,
            tuple(machine.router.outside(question.urls)),
            steering.excluded,
            steering.preferred,
        )

    @property
    def downloaded(self) -> int:
        """Bytes of all answers since the collection began."""
        return self._engine.machine.stats.downloaded

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued and nothing is being fetched."""
        return self._engine.is_idle

    def status(self) -> ShardStatus:
        """The state of the shard now."""
        engine = self._engine
        is_idle, is_quiet = engine.is_idle, engine.is_quiet
        sent, taken = engine.batch_numbers() if is_idle and is_quiet else ({}, {})
        return ShardStatus(
            self.number,
            *engine.stats(),
            is_idle,
            is_quiet,
            engine.freshness(),
            tuple(engine.next_visits()),
            sent,
            taken,
            engine.bid(),
            engine.claims_report(),
            engine.committed_rows,
            engine.committed_at,
            engine.commit_seconds,
            time.process_time(),
            self._login_problem(),
        )

    def wake(self) -> None:
        """Make a waiting `step` return at once; may be called by a signal handler."""
        self._engine.wake()

    def finish_reading(self) -> None:
        """Read every sitemap that has arrived to its end."""
        self._engine.finish_reading()

    def stop(self, grace: float) -> None:
        """End the requests under way within `grace` seconds, and commit everything."""
        self._engine.stop(grace)

    def close(self) -> None:
        """Release all files and connections."""
        self._engine.close()


MakeShard = Callable[[int, int], Shard]
"""Opens shard `number` of `count`. It is sent to other processes, so it must be picklable."""

"""All of a crawl for some of the sites: scheduler, engine and stores. It knows nothing of how batches travel.

Whoever runs shards, as processes of this machine or as actors of many, calls `step` again and again, brings what
`collect` gives to the other shards, and tells with `acknowledged` what has arrived there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from periplus.model import Batch, Discovery, Url
from periplus.policy.refresh import Bid

from .census import Census
from .courier import Courier
from .engine import Engine
from .frontier import Freshness, NextVisit, Presence, Register, Shares
from .scheduler import CrawlScheduler
from .tally import Tally


class Parcel(Struct, frozen=True):
    """What leaves a shard: batches for others, and receipts for theirs (sender: number of the last batch taken).

    `moved` are places that seeds have moved to: every other shard is to know before it gets one of the batches.
    """

    batches: tuple[Batch, ...] = ()
    receipts: dict[int, int] = {}
    moved: tuple[Url, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.batches or self.receipts or self.moved)


class Status(Struct, frozen=True):
    """How a shard is doing. The crawl is finished when all are idle and quiet, and nothing is under way between.

    Once it is both, it says the numbers of the last batches that it sent to others and took from them. Where pages are
    visited again, `bid` is what it says of its visits; where there are other shards, `presence` of its addresses.
    """

    shard: int
    census: Census
    tally: Tally
    is_idle: bool
    is_quiet: bool
    freshness: Freshness | None = None
    next_visits: tuple[NextVisit, ...] = ()
    sent: dict[int, int] = {}
    taken: dict[int, int] = {}
    bid: Bid | None = None
    presence: Presence | None = None

    @property
    def wants_more(self) -> bool:
        """Whether something waits there or is under way."""
        return self.census.queued > 0 or not self.is_idle

    @property
    def price(self) -> float | None:
        """What a visit must be worth, where pages are visited again."""
        return None if self.bid is None else self.bid.price


class Shard:
    """A crawl of the sites that are placed here. `next_visits`: who knows which pages it will come back to.

    `register`: if there are other shards, which may have sites at the same addresses.
    """

    def __init__(
        self,
        number: int,
        *,
        scheduler: CrawlScheduler,
        engine: Engine,
        courier: Courier,
        next_visits: Callable[[], Sequence[NextVisit]] = tuple,
        register: Register | None = None,
    ) -> None:
        self.number = number
        self._scheduler = scheduler
        self._engine = engine
        self._courier = courier
        self._next_visits = next_visits
        self._register = register

    def discover(self, discoveries: Sequence[Discovery]) -> None:
        """Seeds, or whatever somebody tells us of; each goes where its site is."""
        self._engine.discover(discoveries)

    def step(self, patience: float) -> None:
        """One turn of the loop; waits no longer than `patience` seconds."""
        self._engine.step(patience)

    def receive(self, batches: Iterable[Batch]) -> None:
        """Batches from other shards."""
        for batch in batches:
            self._engine.receive(batch)

    def collect(self) -> Parcel:
        """What is to be brought to other shards now."""
        moved, batches, receipts = self._courier.collect()
        return Parcel(tuple(batches), receipts, tuple(moved))

    def acknowledged(self, receipts: Mapping[int, int]) -> None:
        """What others have for good, by receiver."""
        for receiver, number in receipts.items():
            self._engine.acknowledged(receiver, number)

    def allow(self, pages: int | None) -> None:
        """How many pages may be fetched here in all."""
        self._scheduler.allowance = pages

    def afford(self, visits_a_day: float) -> None:
        """How many visits a day may be made here from now on, where pages are visited again."""
        self._engine.afford(visits_a_day)

    def share(self, shares: Shares) -> None:
        """How many shards ask at our addresses."""
        if self._register is not None:
            self._register.learn(shares)

    def widen(self, places: Sequence[Url]) -> None:
        """Take places into the scope that seeds have moved to."""
        self._engine.widen(places)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits here and nothing is under way."""
        return self._engine.is_idle

    def status(self) -> Status:
        """How it is going."""
        is_idle, is_quiet = self._engine.is_idle, self._courier.is_quiet and not self._engine.has_uncommitted
        sent, taken = self._courier.numbers() if is_idle and is_quiet else ({}, {})
        return Status(
            self.number,
            self._engine.census(),
            self._engine.tally,
            is_idle,
            is_quiet,
            self._engine.freshness(),
            tuple(self._next_visits()),
            sent,
            taken,
            self._engine.bid(),
            None if self._register is None else self._register.presence(),
        )

    def wake(self) -> None:
        """Let a `step` that waits return at once; may be called by a signal handler."""
        self._engine.wake()

    def stop(self, grace: float) -> None:
        """End what is under way, within `grace` seconds, and make everything durable."""
        self._engine.stop(grace)

    def close(self) -> None:
        """Let go of everything."""
        self._engine.close()

"""What was discovered goes to the shard that has the site: here, or in a batch to another.

A batch for another shard is part of this shard's state, leaves after the commit that contains it, and is kept until the
other acknowledges it, which that one does after its own commit. So no discovery is lost and none is counted twice,
whoever dies. What no shard would want is refused here already, by the filters that need no memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from periplus.model import (
    Batch,
    Clock,
    Discovery,
    EventSink,
    Filter,
    Redirected,
    Refused,
    Reject,
    Source,
    State,
    Url,
)
from periplus.policy.filters import Scope
from periplus.urls import site_of

from .placement import Placement
from .scheduler import CrawlScheduler

BATCH = 1000
"""So many discoveries travel together, at most."""
_MOVED = "moved"
_UNDER_WAY = 32
"""So many batches are offered at once; the rest waits in the state."""


class Courier:
    """Brings discoveries to their shard."""

    def __init__(
        self,
        shard: int,
        shards: int,
        *,
        scheduler: CrawlScheduler,
        screen: Filter,
        scope: Scope,
        state: State,
        events: EventSink,
        clock: Clock,
    ) -> None:
        self._shard = shard
        self._placement = Placement(shards)
        self._shards = shards
        self._scheduler = scheduler
        self._exchange = state.exchange
        self._screen = screen
        self._scope = scope
        self._state = state
        self._moved = msgspec.msgpack.decode(state.marked(_MOVED) or b"\x90", type=list[Url])
        for url in self._moved:
            scope.widen(url)
        self._events = events
        self._clock = clock
        self._foreign: dict[int, list[Discovery]] = {}
        self._leaving: list[Batch] = []
        self._receipts: dict[int, int] = {}
        self._told: dict[int, int] = {}
        self._offered: dict[int, list[int]] = {}

    def deliver(self, discoveries: Sequence[Discovery]) -> None:
        """Give each to the shard that has its site."""
        if self._shards == 1:
            self._scheduler.discover(discoveries, self._clock.now())
            return
        own: list[Discovery] = []
        for discovery in discoveries:
            owner = self._placement.owner(site_of(discovery.url))
            if owner == self._shard:
                own.append(discovery)
            else:
                self._send(owner, discovery)
        if own:
            self._scheduler.discover(own, self._clock.now())

    def _send(self, owner: int, discovery: Discovery) -> None:
        verdict = self._screen.judge(discovery)
        if isinstance(verdict, Reject):
            self._events.record([Refused(discovery, verdict.reason, verdict.rule)])
        else:
            self._foreign.setdefault(owner, []).append(discovery)

    def redirected(self, outcome: Redirected) -> None:
        """A seed that has moved takes the scope along."""
        seed, target = outcome.task.url, outcome.target
        if outcome.task.source is Source.SEED and self._scope.has_moved(seed, target):
            self.widen([target])

    def widen(self, places: Sequence[Url]) -> None:
        """Take these places into the scope, here and after every restart."""
        news = [place for place in places if self._scope.widen(place)]
        if news:
            self._moved += news
            self._state.mark(_MOVED, msgspec.msgpack.encode(self._moved))

    @property
    def moved(self) -> tuple[Url, ...]:
        """Where seeds have moved to."""
        return tuple(self._moved)

    def receive(self, batch: Batch) -> None:
        """Take a batch from another shard; one that came before changes nothing."""
        if self._exchange.is_new(batch):
            self._scheduler.discover(batch.discoveries, self._clock.now())
        else:
            self._told.pop(batch.sender, None)

    def before_commit(self) -> None:
        """What is for others becomes part of the state."""
        for owner, discoveries in self._foreign.items():
            for start in range(0, len(discoveries), BATCH):
                self._exchange.send(owner, discoveries[start : start + BATCH])
        self._foreign.clear()

    def after_commit(self) -> None:
        """What is in the state may leave, and what was taken may be acknowledged."""
        self._offer()
        for sender in range(self._shards):
            taken = self._exchange.taken(sender) if sender != self._shard else 0
            if taken > self._told.get(sender, 0):
                self._told[sender] = self._receipts[sender] = taken

    def _offer(self) -> None:
        room = _UNDER_WAY - sum(map(len, self._offered.values()))
        if room > 0 and self._shards > 1:
            batches = self._exchange.unsent(room)
            for batch in batches:
                self._offered.setdefault(batch.receiver, []).append(batch.number)
            self._leaving += batches

    def collect(self) -> tuple[list[Batch], dict[int, int]]:
        """Batches to be brought to others, and receipts: for each sender the number of the last batch taken."""
        leaving, self._leaving = self._leaving, []
        receipts, self._receipts = self._receipts, {}
        return leaving, receipts

    def acknowledged(self, receiver: int, number: int) -> None:
        """Another shard has this batch and all before it for good."""
        self._exchange.acknowledged(receiver, number)
        self._offered[receiver] = [each for each in self._offered.get(receiver, []) if each > number]

    @property
    def is_quiet(self) -> bool:
        """Nothing is on its way to others."""
        return not self._foreign and not self._leaving and self._exchange.is_empty

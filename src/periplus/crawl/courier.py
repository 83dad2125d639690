"""What was discovered goes to the shard that has the site: here, or in a batch to another.

A batch for another shard is part of this shard's state, leaves after the commit that contains it, and is kept until the
other acknowledges it, which that one does after its own commit. So no discovery is lost and none is counted twice,
whoever dies. What no shard would want is refused here already, by the filters that need no memory.

When a seed has moved, all shards must know of it before they judge what this one found there: `collect` gives the new
places together with the batches, and they are to be brought first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from periplus.model import (
    Batch,
    Discovery,
    EventSink,
    Filter,
    Purpose,
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
WINDOW, WINDOWS = 256, 1024
"""So many batches are offered to one shard, and to all together, before the first is acknowledged: that bounds memory,
and the rest waits in the state. One shard that is slow or away does not hold up the others."""
FULL = 2048
"""When so many batches wait, nothing more is fetched until some are acknowledged: who is slow slows down everybody."""


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
        self._untold = list(self._moved)
        self._kept = len(self._moved)
        for url in self._moved:
            scope.widen(url)
        self._events = events
        self._foreign: dict[int, list[Discovery]] = {}
        self._leaving: list[Batch] = []
        self._receipts: dict[int, int] = {}
        self._told: dict[int, int] = {}
        self._offered: dict[int, deque[int]] = {}

    def deliver(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Give each to the shard that has its site."""
        if self._shards == 1:
            self._scheduler.discover(discoveries, now)
            return
        own: list[Discovery] = []
        for discovery in discoveries:
            owner = self._placement.owner(site_of(discovery.url))
            if owner == self._shard:
                own.append(discovery)
            else:
                self._send(owner, discovery)
        if own:
            self._scheduler.discover(own, now)

    def _send(self, owner: int, discovery: Discovery) -> None:
        verdict = self._screen.judge(discovery) if discovery.purpose is Purpose.PAGE else None
        if isinstance(verdict, Reject):
            if not discovery.is_more:
                self._events.record([Refused(discovery, verdict.reason, verdict.rule)])
            return
        waiting = self._foreign.setdefault(owner, [])
        waiting.append(discovery)
        if len(waiting) >= BATCH:
            self._exchange.send(owner, self._foreign.pop(owner))

    def redirected(self, outcome: Redirected) -> bool:
        """A seed that has moved takes the scope along; whether it did."""
        seed, target = outcome.task.url, outcome.target
        is_moved = outcome.task.source is Source.SEED and self._scope.has_moved(seed, target)
        return is_moved and self.widen([target])

    def widen(self, places: Sequence[Url]) -> bool:
        """Take these places into the scope, here and, once committed, after every restart; whether any was new."""
        news = [place for place in places if self._scope.widen(place)]
        self._moved += news
        self._untold += news
        return bool(news)

    def take(self, batch: Batch) -> Sequence[Discovery]:
        """What a batch of another shard brings: nothing, if it came before; its sender is then told once more."""
        if self._exchange.is_new(batch):
            return batch.discoveries
        self._told.pop(batch.sender, None)
        return ()

    def before_commit(self) -> None:
        """What is for others becomes part of the state."""
        for owner, discoveries in self._foreign.items():
            self._exchange.send(owner, discoveries)
        self._foreign.clear()
        if len(self._moved) > self._kept:
            self._kept = len(self._moved)
            self._state.mark(_MOVED, msgspec.msgpack.encode(self._moved))

    def after_commit(self) -> None:
        """What is in the state may leave, and what was taken may be acknowledged."""
        self._offer()
        for sender in range(self._shards):
            taken = self._exchange.taken(sender) if sender != self._shard else 0
            if taken > self._told.get(sender, 0):
                self._told[sender] = self._receipts[sender] = taken

    def _offer(self) -> None:
        """To each shard in turn, who has waited longest first."""
        room = WINDOWS - sum(map(len, self._offered.values()))
        waiting = sorted(self._exchange.receivers(), key=lambda receiver: len(self._offered.get(receiver, ())))
        for receiver in waiting:
            offered = self._offered.setdefault(receiver, deque())
            batches = self._exchange.unsent(receiver, max(min(WINDOW - len(offered), room), 0))
            offered.extend(batch.number for batch in batches)
            room -= len(batches)
            self._leaving += batches

    def collect(self) -> tuple[list[Url], list[Batch], dict[int, int]]:
        """Places to be told, batches to be brought then, and receipts: for each sender the last batch taken."""
        untold, self._untold = self._untold, []
        leaving, self._leaving = self._leaving, []
        receipts, self._receipts = self._receipts, {}
        return untold, leaving, receipts

    def acknowledged(self, receiver: int, number: int) -> None:
        """Another shard has this batch and all before it for good."""
        self._exchange.acknowledged(receiver, number)
        offered = self._offered.get(receiver, deque())
        while offered and offered[0] <= number:
            offered.popleft()

    @property
    def is_quiet(self) -> bool:
        """Nothing is on its way to others."""
        return not (self._foreign or self._leaving or self._untold or len(self._exchange))

    @property
    def is_full(self) -> bool:
        """Whether so much waits for others that no more should be found."""
        return self._shards > 1 and len(self._exchange) >= FULL

    def numbers(self) -> tuple[dict[int, int], dict[int, int]]:
        """The last batches sent to each other shard, and taken from each; of those with whom there were any."""
        others = [shard for shard in range(self._shards) if shard != self._shard]
        sent = {shard: number for shard in others if (number := self._exchange.sent(shard))}
        return sent, {shard: number for shard in others if (number := self._exchange.taken(shard))}

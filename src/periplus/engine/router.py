"""Messages go to the shard that has their site: discoveries, and what shards ask each other about robots.txt files.

A batch for another shard is part of this shard's state, leaves after the commit that contains it, and is kept until the
other acknowledges it, which that one does after its own commit. So no message is lost and none is counted twice,
whichever process dies. A batch of a kind that is not known here, from a shard of a later version, is reported and
dropped. What no shard would want is refused here already, by the filters that need no memory.

When a seed has moved, all shards must know of it before they judge what this one found there:
`OutgoingMessages.collect` gives the new places together with the batches, and they are to be sent first.

Every shard has a hash for every site, and the highest owns it. No table is kept, all shards agree without
communication, and when the number of shards changes only the sites of the added or removed shard move.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from periplus.model import (
    Batch,
    Delegation,
    Discovery,
    EventSink,
    Exchange,
    Fetched,
    Filter,
    Messages,
    Purpose,
    Redirected,
    Refused,
    Reject,
    RobotsAnswer,
    Site,
    Source,
    Url,
)
from periplus.model.state import KINDS
from periplus.policy.filters import Scope
from periplus.urls import site_of

if TYPE_CHECKING:
    from .frontier import Frontier

log = logging.getLogger(__name__)

_REMEMBERED = 50_000


def owner_of(site: Site, shards: int) -> int:
    """The shard that visits a site."""
    if shards == 1:
        return 0
    name = site.encode()
    return max(range(shards), key=lambda shard: xxh3_64_intdigest(name, shard))


class ShardPlacement:
    """`owner_of`, with the last results cached."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._owners: dict[Site, int] = {}

    def owner(self, site: Site) -> int:
        """The shard that visits a site."""
        owner = self._owners.get(site)
        if owner is None:
            if len(self._owners) >= _REMEMBERED:
                self._owners.clear()
            owner = self._owners[site] = owner_of(site, self._shards)
        return owner


MAX_DISCOVERIES_PER_BATCH = 1000
"""Messages in one batch to another shard: enough for URLs of a site to compress well, few enough to travel soon."""
MAX_BYTES_PER_BATCH = 512 * 1024
"""Bytes of robots.txt files in one batch: one file may be as long."""
WINDOW, WINDOWS = 256, 1024
"""Batches offered to one shard, and to all together, before the first is acknowledged: that bounds memory, and the rest
waits in the state. One shard that is slow or away does not hold up the others."""
FULL = 2048
"""Batches that wait for others, beyond which nothing more is fetched: a slow shard slows down all."""


class ShardRouter:
    """Routes discoveries. `moved` are the places that seeds have moved to."""

    def __init__(
        self,
        shard: int,
        shards: int,
        *,
        frontier: Frontier,
        exchange: Exchange,
        screen: Filter,
        scope: Scope,
        events: EventSink,
        moved: Sequence[Url] = (),
    ) -> None:
        self._shard = shard
        self._shards = shards
        self._placement = ShardPlacement(shards)
        self._frontier = frontier
        self._exchange = exchange
        self._screen = screen
        self._scope = scope
        self._events = events
        self.moved = list(moved)
        for url in self.moved:
            scope.widen(url)
        self._foreign: dict[int, list[Discovery]] = {}
        self._asked: dict[int, list[Delegation]] = {}
        self.renaming: list[Callable[[Sequence[Discovery]], Sequence[Discovery]]] = []
        """What gives discoveries other names before they are delivered, in this order."""

    def owns_site(self, site: Site) -> bool:
        """Whether a site belongs to this shard."""
        return self._shards == 1 or self._placement.owner(site) == self._shard

    def deliver(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Give each to the shard that has its site."""
        for rename in self.renaming:
            discoveries = rename(discoveries)
        own = self.send(discoveries)
        if own or self._shards == 1:
            self._frontier.discover(own, now)

    def send(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """Give those of other shards to them, under the names they have; the others."""
        if self._shards == 1:
            return discoveries
        own: list[Discovery] = []
        for discovery in discoveries:
            owner = self._placement.owner(site_of(discovery.url))
            if owner == self._shard:
                own.append(discovery)
            else:
                self._send(owner, discovery)
        return own

    def _send(self, owner: int, discovery: Discovery) -> None:
        verdict = self._screen.judge(discovery) if discovery.purpose is Purpose.PAGE else None
        if isinstance(verdict, Reject):
            if not discovery.is_more:
                self._events.record([Refused(discovery, verdict.reason, verdict.rule)])
            return
        waiting = self._foreign.setdefault(owner, [])
        waiting.append(discovery)
        if len(waiting) >= MAX_DISCOVERIES_PER_BATCH:
            self._exchange.send(owner, self._foreign.pop(owner))

    def ask(self, wanted: Delegation) -> None:
        """Ask the shard that has the site of a robots.txt."""
        self._asked.setdefault(self._placement.owner(site_of(wanted.url)), []).append(wanted)

    def answer(self, answers: Sequence[RobotsAnswer]) -> None:
        """Send answers to the shards that asked."""
        by_owner: dict[int, list[RobotsAnswer]] = {}
        for answer in answers:
            by_owner.setdefault(self._placement.owner(answer.outcome.task.site), []).append(answer)
        for owner, waiting in by_owner.items():
            for batch in _batches(waiting):
                self._exchange.send(owner, batch)

    def follow_seed(self, outcome: Redirected) -> bool:
        """A seed that has moved takes the scope along; whether it did."""
        seed, target = outcome.task.url, outcome.target
        is_moved = outcome.task.source is Source.SEED and self._scope.has_moved(seed, target)
        return is_moved and self.extend_scope([target])

    def extend_scope(self, places: Sequence[Url]) -> bool:
        """Take these places into the scope, now and after every restart; whether any was new."""
        news = [place for place in places if self._scope.widen(place)]
        self.moved += news
        return bool(news)

    def outside(self, urls: Sequence[Url]) -> list[Url]:
        """The URLs that are not in the scope."""
        return [url for url in urls if not self._scope.holds(url)]

    def receive(self, batch: Batch) -> Messages:
        """The messages of a batch from another shard: empty if it came before."""
        if not self._exchange.is_new(batch):
            return ()
        if batch.kind >= len(KINDS):
            log.error("a batch of shard %d is of kind %d, which this version does not know", batch.sender, batch.kind)
        return batch.messages

    def flush(self) -> None:
        """Make what was collected for other shards part of the state."""
        for owner, discoveries in self._foreign.items():
            self._exchange.send(owner, discoveries)
        self._foreign.clear()
        for owner, asked in self._asked.items():
            wanted = [question for question in asked if self._frontier.preflight.awaits_answer(question)]
            if wanted:
                self._exchange.send(owner, wanted)
        self._asked.clear()

    @property
    def is_full(self) -> bool:
        """Whether too much waits for other shards to discover more."""
        return self._shards > 1 and len(self._exchange) >= FULL

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is collected or kept for other shards."""
        return not self._foreign and not self._asked and not len(self._exchange)


def _batches(answers: Sequence[RobotsAnswer]) -> Iterator[list[RobotsAnswer]]:
    """Answers in batches, none of which has too many bytes or messages."""
    batch: list[RobotsAnswer] = []
    size = 0
    for answer in answers:
        length = len(answer.outcome.body) if isinstance(answer.outcome, Fetched) else 0
        if batch and (size + length > MAX_BYTES_PER_BATCH or len(batch) >= MAX_DISCOVERIES_PER_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(answer)
        size += length
    if batch:
        yield batch


class OutgoingMessages:
    """The messages that leave a shard after a commit: batches, receipts, and places that seeds have moved to.

    Nothing of it has to be remembered: a process that starts again offers all that is not acknowledged.
    """

    def __init__(self, shard: int, shards: int, exchange: Exchange) -> None:
        self._others = [number for number in range(shards) if number != shard]
        self._exchange = exchange
        self._leaving: list[Batch] = []
        self._offered: dict[int, deque[int]] = {}
        self._receipts: dict[int, int] = {}
        self._acknowledged: dict[int, int] = {}
        self._places: list[Url] = []
        self._known_places = 0

    def committed(self, moved: Sequence[Url]) -> None:
        """Release what the commit contains, and the receipts for what was received."""
        self._places += moved[self._known_places :]
        self._known_places = len(moved)
        self._offer()
        for sender in self._others:
            taken = self._exchange.taken(sender)
            if taken > self._acknowledged.get(sender, 0):
                self._acknowledged[sender] = self._receipts[sender] = taken

    def _offer(self) -> None:
        """To each shard in turn, the one with the fewest offers first."""
        room = WINDOWS - sum(map(len, self._offered.values()))
        waiting = sorted(self._exchange.receivers(), key=lambda receiver: len(self._offered.get(receiver, ())))
        for receiver in waiting:
            offered = self._offered.setdefault(receiver, deque())
            batches = self._exchange.unsent(receiver, max(min(WINDOW - len(offered), room), 0))
            offered.extend(batch.number for batch in batches)
            room -= len(batches)
            self._leaving += batches

    def collect(self) -> tuple[list[Url], list[Batch], dict[int, int]]:
        """Places to be sent, batches to be sent after them, and receipts: for each sender the last batch received."""
        places, self._places = self._places, []
        leaving, self._leaving = self._leaving, []
        receipts, self._receipts = self._receipts, {}
        return places, leaving, receipts

    def came_again(self, batch: Batch) -> None:
        """Record that a batch received before came again: its sender has not seen the receipt."""
        self._acknowledged.pop(batch.sender, None)

    def acknowledged(self, receiver: int, number: int) -> None:
        """Record that another shard has this batch and all before it."""
        offered = self._offered.get(receiver, deque())
        while offered and offered[0] <= number:
            offered.popleft()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is about to leave."""
        return not (self._leaving or self._places)

    def numbers(self) -> tuple[dict[int, int], dict[int, int]]:
        """The last batches sent to each other shard, and received from each, where there were any."""
        sent = {shard: number for shard in self._others if (number := self._exchange.sent(shard))}
        return sent, {shard: number for shard in self._others if (number := self._exchange.taken(shard))}

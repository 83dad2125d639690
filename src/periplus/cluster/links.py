"""From one shard to the others, without a middleman: batches, receipts, and places that seeds have moved to.

A `Link` leads to one other shard. It holds what that shard has not acknowledged (the courier offers no more than a
window of batches at a time) and says it again whenever it may have been lost: at least once. The receiver's state knows
numbers and takes each batch once. So a link may be careless about everything but order.

At most one `Delivery` is under way on a link, with as much in it as there is, up to a bound. The other side answers
with its epoch once it has it in memory, or with 0: its inbox is full, or it is not ready; the link then waits a little.
Another epoch than before means another process, which has lost what was in the memory of the last one, and did not take
the delivery: it might rest on something that was lost. Everything is said again. A process that begins greets all
others with a delivery, so that they know; and who owes receipts and says nothing for a while is asked who it is.

Nothing here knows Ray, or the time: what is under way is a ticket of whoever carries it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from periplus.crawl.shard import Parcel
from periplus.model import Batch, Url

TOGETHER = 32
"""So many batches travel in one delivery, at most."""
PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Seconds until a shard that could not take something is tried again; twice as long each time, up to the longest."""
ASK_AFTER = 2.0
"""Seconds of silence after which a shard that owes receipts is asked who it is."""


class Delivery(Struct, frozen=True):
    """What goes over a link at once, as a sequel to what the life `epoch` of its receiver has heard; 0: to nothing.

    `life` is the epoch of its sender; `receipt` the last batch of the receiver's that its sender has for good.
    """

    sender: int
    life: int
    epoch: int = 0
    places: tuple[Url, ...] = ()
    batches: tuple[Batch, ...] = ()
    receipt: int = 0


class Link:
    """The way to one other shard."""

    def __init__(self, sender: int, life: int) -> None:
        self._sender = sender
        self._life = life
        self._has_greeted = False
        self._places: list[Url] = []
        self._told = 0
        self._window: list[Batch] = []
        self._given = 0
        self._receipt = self._receipt_told = 0
        self._epoch = self._latest = 0
        self._under_way: Delivery | None = None
        self._pause = 0.0
        self._not_before = 0.0
        self._ask_at = 0.0

    # what there is to say

    def tell(self, places: Sequence[Url]) -> None:
        """Places that seeds have moved to: it is to know of them before it gets any later batch."""
        self._places += places

    def offer(self, batch: Batch) -> None:
        """One more batch, after all before."""
        self._window.append(batch)

    def confirm(self, number: int) -> None:
        """We have so many of the other's batches for good."""
        self._receipt = max(self._receipt, number)

    def again(self) -> None:
        """Say the receipt again: it may have been lost."""
        self._receipt_told = 0

    def heard_from(self, life: int) -> None:
        """The other shard has spoken, in this life."""
        self._latest = max(self._latest, life)
        if self._epoch and self._epoch < self._latest:
            self._lost()

    def acknowledged(self, number: int) -> None:
        """The other shard has this batch and all before it for good."""
        kept = [batch for batch in self._window if batch.number > number]
        self._given = max(self._given - (len(self._window) - len(kept)), 0)
        self._window = kept

    @property
    def is_quiet(self) -> bool:
        """Whether the other shard has heard of all places."""
        return self._told == len(self._places)

    # what is said

    def next(self, now: float) -> Delivery | None:
        """What to carry now, if there is something and nothing is under way."""
        if self._under_way is not None or now < self._not_before:
            return None
        batches = tuple(self._window[self._given : self._given + TOGETHER])
        places = tuple(self._places[self._told :])
        has_receipt = self._receipt > self._receipt_told
        is_asking = bool(self._window) and now >= self._ask_at
        if self._has_greeted and not (batches or places or has_receipt or is_asking):
            return None
        self._under_way = Delivery(self._sender, self._life, self._epoch, places, batches, self._receipt)
        return self._under_way

    def answered(self, epoch: int | None, now: float) -> None:
        """What became of it: the epoch of who has it, 0 if it cannot take it now, `None` if nobody was there."""
        delivery, self._under_way = self._under_way, None
        if not epoch or delivery is None:
            if epoch is None:
                self._lost()
            self._pause = min(max(2 * self._pause, PAUSE), LONGEST_PAUSE)
            self._not_before = now + self._pause
            return
        self._has_greeted = True
        self._pause, self._ask_at = 0.0, now + ASK_AFTER
        self._latest = max(self._latest, epoch)
        if epoch < self._latest or delivery.epoch not in (0, epoch):  # it is dead by now, or did not take it
            self._lost()
        else:
            self._told += len(delivery.places)
            self._given = self._given_after(delivery)
            self._receipt_told = max(self._receipt_told, delivery.receipt)
            self._epoch = epoch

    def _given_after(self, delivery: Delivery) -> int:
        """How many of the window were given, by their numbers: some may have been acknowledged meanwhile."""
        last = delivery.batches[-1].number if delivery.batches else 0
        return max(self._given, sum(batch.number <= last for batch in self._window))

    def _lost(self) -> None:
        """Whoever was there has forgotten what it had not kept."""
        self._epoch = 0
        self._told = self._given = self._receipt_told = 0


class Links:
    """The ways from one shard to all others."""

    def __init__(self, number: int, count: int, life: int) -> None:
        self.to = {other: Link(number, life) for other in range(count) if other != number}

    def post(self, parcel: Parcel) -> None:
        """Take what the shard has for others."""
        for link in self.to.values():
            link.tell(parcel.moved)
        for batch in parcel.batches:
            self.to[batch.receiver].offer(batch)
        for sender, number in parcel.receipts.items():
            self.to[sender].again()
            self.to[sender].confirm(number)

    def heard(self, delivery: Delivery) -> None:
        """Another shard has spoken: in which life, and what it has for good."""
        link = self.to[delivery.sender]
        link.heard_from(delivery.life)
        link.acknowledged(delivery.receipt)

    def due(self, now: float) -> Iterable[tuple[int, Delivery]]:
        """What is to be carried now, and to whom."""
        for other, link in self.to.items():
            if (delivery := link.next(now)) is not None:
                yield other, delivery

    @property
    def is_quiet(self) -> bool:
        """Whether all have heard of all places."""
        return all(link.is_quiet for link in self.to.values())

"""Batches, receipts and scope extensions from one shard directly to another, at least once and in order.

A `Link` connects to one other shard. It holds what that shard has not acknowledged (a shard offers a window of batches
at a time) and sends it again whenever it may have been lost. The receiver's state knows the numbers of batches and
takes each once, so only their order matters here.

At most one `Transfer` is under way on a link, with everything there is to send, up to a bound. The receiver's `Inbox`
answers with its epoch once it has the transfer in memory, or with 0 if it is full or not ready; the link then waits a
little. Another epoch than before means another process, which has lost what its predecessor had in memory, and refused
the transfer, since it may depend on something that was lost. Everything is then sent again. A process that starts sends
an empty transfer to all others, so that they see its epoch; and a shard that owes receipts and is silent for a while is
sent an empty transfer, so that it answers with its epoch.

Nothing here depends on Ray, and time is an argument. The messages that all transports share are in
`periplus.engine.sharding.messages`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from periplus.engine.shard import ShardOutput, ShardStatus
from periplus.engine.sharding.messages import Announcement, Delivery, Orders, Received, ShardFailure, StopShard
from periplus.engine.sharding.worker import no_wake
from periplus.engine.versioned import VersionedMessage
from periplus.model import Batch, Url


class Lease(VersionedMessage, frozen=True):
    """The sites of a shard belong to one holder for `seconds` after it asked, while no holder has a later epoch."""

    epoch: int
    seconds: float


class Wait(VersionedMessage, frozen=True):
    """The last holder may still send requests to these sites: ask again after `seconds`."""

    seconds: float


class Renewal(VersionedMessage, frozen=True):
    """The answer to a report: the lease begins again, with these orders.

    `stop`: end within that many seconds; if it `restarts`, the process ends as well, so that Ray starts another.
    """

    lease: Lease
    orders: Orders
    stop: float | None = None
    restarts: bool = False


class Overview(VersionedMessage, frozen=True):
    """The state of the crawl, for the command.

    By shard: `epochs` counts its holders so far, `announcements` is the last one that its holder has kept.
    """

    statuses: tuple[ShardStatus, ...]
    epochs: tuple[int, ...]
    announcements: tuple[int, ...]
    is_finished: bool
    are_stopped: bool
    failure: ShardFailure | None


MAX_BATCHES_PER_TRANSFER = 32
"""Maximum number of batches in one transfer: about a megabyte."""
INBOX_BATCHES = 256
"""Maximum number of batches in an inbox: with those being applied, all that is in memory of what others send."""
MIN_PAUSE, MAX_PAUSE = 0.05, 2.0
"""Seconds until a shard that could not take a transfer is tried again; twice as long each time, up to the maximum."""
PROBE_AFTER = 2.0
"""Seconds of silence after which a shard that owes receipts is sent an empty transfer."""


class Transfer(VersionedMessage, frozen=True):
    """What goes over a link at once.

    It depends on what the receiver with `receiver_epoch` was sent before; 0: on nothing. `receipt` is the last batch of
    the receiver that its sender has committed.
    """

    sender: int
    sender_epoch: int
    receiver_epoch: int = 0
    places: tuple[Url, ...] = ()
    batches: tuple[Batch, ...] = ()
    receipt: int = 0

    def delivery(self) -> Delivery:
        """What the receiving shard is to apply."""
        return Delivery(self.places, self.batches, {self.sender: self.receipt} if self.receipt else {})


class Inbox:
    """What others send to a shard, until its worker applies it. `epoch` is that of the worker; 0: not started."""

    def __init__(self, room: int = INBOX_BATCHES) -> None:
        self.epoch = 0
        self.wake: Callable[[], None] = no_wake
        self._room = room
        self._lock = Lock()
        self._messages: deque[Received] = deque()
        self._batches = 0

    def deliver(self, transfer: Transfer) -> int:
        """Take a transfer and return the epoch; 0: not now. A transfer for an earlier epoch is not taken."""
        with self._lock:
            if self.epoch and transfer.receiver_epoch not in (0, self.epoch):
                return self.epoch
            if not self.epoch or (self._batches and self._batches + len(transfer.batches) > self._room):
                return 0
            self._batches += len(transfer.batches)
            self._messages.append(transfer.delivery())
        self.wake()
        return self.epoch

    def put(self, message: Orders | Announcement | StopShard) -> int:
        """Take another message, whether there is room or not, and return the epoch; 0: not started."""
        if not self.epoch:
            return 0
        self._messages.append(message)
        self.wake()
        return self.epoch

    def take(self) -> Received | None:
        """The next message, if there is one."""
        with self._lock:
            message = self._messages.popleft() if self._messages else None
            if isinstance(message, Delivery):
                self._batches -= len(message.batches)
        return message


class Link:
    """The connection from one shard, in one epoch, to one other shard."""

    def __init__(self, sender: int, sender_epoch: int) -> None:
        self._sender = sender
        self._sender_epoch = sender_epoch
        self._is_introduced = False
        self._places: list[Url] = []
        self._places_sent = 0
        self._window: list[Batch] = []
        self._batches_sent = 0
        self._receipt = self._receipt_sent = 0
        self._epoch = self._latest = 0
        self._under_way: Transfer | None = None
        self._pause = 0.0
        self._not_before = 0.0
        self._probe_at = 0.0

    # what there is to send

    def add_places(self, places: Sequence[Url]) -> None:
        """Add places that seeds have moved to: the other shard gets them before any later batch."""
        self._places += places

    def offer(self, batch: Batch) -> None:
        """Add a batch, after all before."""
        self._window.append(batch)

    def confirm(self, number: int) -> None:
        """Send a receipt: this shard has committed the other's batches up to `number`. Again, if it was sent before."""
        self._receipt_sent = 0
        self._receipt = max(self._receipt, number)

    def seen(self, epoch: int) -> None:
        """The other shard has sent something in this epoch."""
        self._latest = max(self._latest, epoch)
        if self._epoch and self._epoch < self._latest:
            self._start_over()

    def acknowledged(self, number: int) -> None:
        """The other shard has committed this batch and all before it."""
        kept = [batch for batch in self._window if batch.number > number]
        self._batches_sent = max(self._batches_sent - (len(self._window) - len(kept)), 0)
        self._window = kept

    @property
    def is_quiet(self) -> bool:
        """Whether the other shard has all places."""
        return self._places_sent == len(self._places)

    # what is sent

    def next(self, now: float) -> Transfer | None:
        """What to send now, if there is something and nothing is under way."""
        if self._under_way is not None or now < self._not_before:
            return None
        batches = tuple(self._window[self._batches_sent : self._batches_sent + MAX_BATCHES_PER_TRANSFER])
        places = tuple(self._places[self._places_sent :])
        has_receipt = self._receipt > self._receipt_sent
        is_probing = bool(self._window) and now >= self._probe_at
        if self._is_introduced and not (batches or places or has_receipt or is_probing):
            return None
        self._under_way = Transfer(self._sender, self._sender_epoch, self._epoch, places, batches, self._receipt)
        return self._under_way

    def answered(self, epoch: int | None, now: float) -> None:
        """The transfer's answer: the epoch of the receiver, 0 if it cannot take it now, `None` if there was none."""
        transfer, self._under_way = self._under_way, None
        if not epoch or transfer is None:
            if epoch is None:
                self._start_over()
            self._pause = min(max(2 * self._pause, MIN_PAUSE), MAX_PAUSE)
            self._not_before = now + self._pause
            return
        self._is_introduced = True
        self._pause, self._probe_at = 0.0, now + PROBE_AFTER
        self._latest = max(self._latest, epoch)
        if epoch < self._latest or transfer.receiver_epoch not in (0, epoch):  # it has ended by now, or refused
            self._start_over()
        else:
            self._places_sent += len(transfer.places)
            self._batches_sent = self._batches_sent_with(transfer)
            self._receipt_sent = max(self._receipt_sent, transfer.receipt)
            self._epoch = epoch

    def _batches_sent_with(self, transfer: Transfer) -> int:
        """How many of the window were sent, by their numbers: some may have been acknowledged meanwhile."""
        last = transfer.batches[-1].number if transfer.batches else 0
        return max(self._batches_sent, sum(batch.number <= last for batch in self._window))

    def _start_over(self) -> None:
        """The process that received all this has lost what it had not committed: send everything again."""
        self._epoch = 0
        self._places_sent = self._batches_sent = self._receipt_sent = 0


class ShardLinks:
    """The links from one shard to all others."""

    def __init__(self, number: int, count: int, epoch: int) -> None:
        self.to = {other: Link(number, epoch) for other in range(count) if other != number}

    def add(self, output: ShardOutput) -> None:
        """Take what the shard has for others."""
        for link in self.to.values():
            link.add_places(output.places)
        for batch in output.batches:
            self.to[batch.receiver].offer(batch)
        for sender, number in output.receipts.items():
            self.to[sender].confirm(number)

    def received(self, transfer: Transfer) -> None:
        """Another shard has sent something: its epoch, and what it has committed."""
        link = self.to[transfer.sender]
        link.seen(transfer.sender_epoch)
        link.acknowledged(transfer.receipt)

    def due(self, now: float) -> Iterable[tuple[int, Transfer]]:
        """What to send now, by receiver."""
        for other, link in self.to.items():
            if (transfer := link.next(now)) is not None:
                yield other, transfer

    @property
    def is_quiet(self) -> bool:
        """Whether all other shards have all places."""
        return all(link.is_quiet for link in self.to.values())

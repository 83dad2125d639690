"""The loop of one shard in a process of its own: apply messages, take a step, post output and status.

The same for every transport. Output is posted before the status that follows it, so that whatever reads a status has
read everything that was sent before it.
"""

from __future__ import annotations

import atexit
import gc
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from periplus.model import CollectionError, Discovery, PeriplusError

from ..shard import Controls, Shard
from .messages import (
    STATUS_INTERVAL,
    Announcement,
    Asked,
    Delivery,
    Orders,
    Posted,
    Received,
    Reply,
    ShardFailure,
    ShardStopped,
    StatusReport,
    StopShard,
)


class Inbox(Protocol):
    """The messages that the transport has received for a shard. It calls `wake` when something arrives."""

    wake: Callable[[], None]

    def take(self) -> Received | None:
        """The next message, if there is one."""


class ShardWorker:
    """Applies messages to a shard and posts what it has for others. It fetches nothing before its first orders.

    `grace` is set once it has received the order to stop.
    """

    def __init__(self, shard: Shard, seeds: Sequence[Discovery], post: Callable[[Posted], object]) -> None:
        self._shard = shard
        self._post = post
        self._orders = self._announcement = 0
        self._budget: tuple[int | None, bool] = 0, False
        self._visits_per_day: float | None = None
        self._controls = Controls()
        self._receipts: dict[int, int] = {}
        self.grace: float | None = None
        shard.set_page_budget(0)
        if seeds:
            shard.discover(seeds)

    def handle(self, message: Received) -> None:
        """Apply a message from the coordinator or from other shards."""
        match message:
            case Orders():
                self._apply(message)
            case Delivery():
                self._receive(message)
            case Announcement(number=number, discoveries=discoveries):
                if number > self._announcement:
                    self._shard.discover(discoveries)
                    self._announcement = number
            case Asked(number=number, question=question):
                self._post(Reply(number, self._shard.view(question)))
            case StopShard(grace=grace):
                self.grace = grace

    def _apply(self, orders: Orders) -> None:
        if (orders.pages, orders.is_spent) != self._budget:  # a repeated order is not an input: the shard stays quiet
            self._budget = orders.pages, orders.is_spent
            self._shard.set_page_budget(orders.pages, is_spent=orders.is_spent)
        if orders.shares is not None:
            self._shard.set_address_shares(orders.shares)
        if orders.visits_per_day is not None and orders.visits_per_day != self._visits_per_day:
            self._visits_per_day = orders.visits_per_day
            self._shard.set_visit_budget(orders.visits_per_day)
        if orders.controls != self._controls:
            self._controls = orders.controls
            self._shard.set_controls(orders.controls)
        self._orders = orders.number

    def _receive(self, delivery: Delivery) -> None:
        """Places first: the batches may contain pages there. A receipt that was received before changes nothing."""
        if delivery.places:
            self._shard.extend_scope(delivery.places)
        self._shard.receive(delivery.batches)
        known = self._receipts
        receipts = {other: number for other, number in delivery.receipts.items() if number > known.get(other, 0)}
        if receipts:
            known.update(receipts)
            self._shard.acknowledged(receipts)

    def post_output(self) -> None:
        """Post what other shards are to get, if there is something."""
        if output := self._shard.collect():
            self._post(output)

    def post_status(self) -> None:
        """Post the status of the shard after everything that was handled."""
        self._post(StatusReport(self._shard.status(), self._orders, self._announcement))

    def work(self, inbox: Inbox) -> None:
        """Handle messages and take steps until stopped; then commit everything and post the last status."""
        report_at = 0.0
        while self.grace is None:
            while (message := inbox.take()) is not None:
                self.handle(message)
            self._shard.step(STATUS_INTERVAL)
            self.post_output()
            if time.monotonic() >= report_at:
                report_at = time.monotonic() + STATUS_INTERVAL
                self.post_status()
        self._shard.stop(self.grace)
        self._post(ShardStopped(self._shard.status()))


def run_shard(
    open_shard: Callable[[], Shard],
    seeds: Sequence[Discovery],
    inbox: Inbox,
    post: Callable[[Posted], object],
) -> None:
    """Open a shard, run it until it is stopped, and close it. Our errors and the disk's are posted, others raised."""
    try:
        shard = open_shard()
        try:
            inbox.wake = shard.wake
            ShardWorker(shard, seeds, post).work(inbox)
        finally:
            inbox.wake = no_wake
            shard.close()
    except PeriplusError as error:
        post(ShardFailure.of(error))
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        hint = "Fix this and run the same command again: everything stored is safe"
        post(ShardFailure.of(CollectionError(what, hint=hint)))


def no_wake() -> None:
    """In the place of `wake` while no shard is open."""


def tune_garbage_collection() -> None:
    """Look for reference cycles rarely: a crawl makes values by the million and hardly any cycle.

    For the owner of the process. The default thresholds cost a twentieth of the time.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)  # what a library has left is found at the end: nanobind prints what is not
    gc.set_threshold(100_000, 20, 50)

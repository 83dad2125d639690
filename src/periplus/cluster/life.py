"""One life of a shard: its loop, in a thread of its own. It knows nothing of Ray, nor who brings what.

It hears from its inbox, takes turns, and posts what is for others together with how it is doing, in this order: who
reads a word on how it is doing has read everything that was said before.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from msgspec import Struct

from periplus.crawl.local import MakeShard
from periplus.crawl.local.messages import STATUS_EVERY
from periplus.crawl.shard import Parcel, Shard, Status
from periplus.model import CollectionInUse, Discovery, PeriplusError

from .inbox import Inbox, News
from .links import Delivery
from .words import Orders, Trouble

CRASHED, LOST_LEASE = 70, 75
"""How a process ends that cannot go on; Ray begins another."""
_OPENING, _PATIENCE = 0.5, 600.0
"""The state may still be locked by a process that hangs, or by a machine of which the network has not noticed its end:
the lease is ours all the same, so that there is time."""

log = logging.getLogger(__name__)


class Snapshot(Struct, frozen=True):
    """How it is doing after these orders, and after this piece of news."""

    status: Status
    heard: int
    told: int


class Ended(Struct, frozen=True):
    """Everything is kept."""

    status: Status


Post = Parcel | Snapshot | Ended | Trouble


class Life:
    """`run` is all of it; `posts` is what comes out.

    `is_ours`: whether the lease lasts. It is asked before every turn: a process that was asleep for a long time must
    not write a word into what another has by now.
    """

    def __init__(
        self,
        make: MakeShard,
        number: int,
        count: int,
        seeds: Sequence[Discovery],
        inbox: Inbox,
        is_ours: Callable[[], bool] = lambda: True,
    ) -> None:
        self._is_ours = is_ours
        self._make = make
        self._number = number
        self._count = count
        self._seeds = seeds
        self._inbox = inbox
        self._heard = self._told = 0
        self._visits: float | None = None
        self._receipts: dict[int, int] = {}
        self._stop: float | None = None
        self.posts: SimpleQueue[Post] = SimpleQueue()

    def run(self) -> None:
        """Until it is told to stop, or cannot go on. Whoever crashes is begun again, and finds what was kept."""
        try:
            shard = self._opened()
            try:
                self._inbox.wake = shard.wake
                self._work(shard)
            finally:
                shard.close()
        except PeriplusError as error:
            self.posts.put(Trouble(str(error), error.hint, error.exit_code))
        except BaseException:
            log.exception("shard %d crashed", self._number)
            os._exit(CRASHED)

    def _opened(self) -> Shard:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._make(self._number, self._count)
            except CollectionInUse:
                if time.monotonic() > until:
                    raise
                time.sleep(_OPENING)

    def _work(self, shard: Shard) -> None:
        shard.allow(0)  # until we are told how many
        if self._seeds:
            shard.discover(self._seeds)
        told_at = 0.0
        while self._stop is None:
            while (message := self._inbox.take()) is not None:
                self._hear(shard, message)
            if not self._is_ours():
                os._exit(LOST_LEASE)
            shard.step(STATUS_EVERY)
            if parcel := shard.collect():
                self.posts.put(parcel)
            if time.monotonic() >= told_at + STATUS_EVERY:
                told_at = time.monotonic()
                self.posts.put(Snapshot(shard.status(), self._heard, self._told))
        shard.stop(self._stop)
        self.posts.put(Ended(shard.status()))

    def _hear(self, shard: Shard, message: object) -> None:
        match message:
            case Delivery():
                self._receive(shard, message)
            case Orders(number=number, pages=pages, visits_a_day=visits_a_day, stop=stop, shares=shares):
                shard.allow(pages)
                if shares is not None:
                    shard.share(shares)
                if visits_a_day is not None and visits_a_day != self._visits:
                    self._visits = visits_a_day
                    shard.afford(visits_a_day)
                self._heard, self._stop = number, stop
            case News(number=number, discoveries=discoveries):
                if number > self._told:
                    shard.discover(discoveries)
                    self._told = number
            case _:
                raise AssertionError(message)

    def _receive(self, shard: Shard, delivery: Delivery) -> None:
        """Places first: batches may be of pages there."""
        if delivery.places:
            shard.widen(delivery.places)
        shard.receive(delivery.batches)
        if delivery.receipt > self._receipts.get(delivery.sender, 0):
            self._receipts[delivery.sender] = delivery.receipt
            shard.acknowledged({delivery.sender: delivery.receipt})

"""Between a shard and everybody else: carries deliveries to other shards, and reports to the coordinator.

It lives in a thread beside the loop of the shard, so that the loop never waits for anybody. Who does not answer is
asked again; who cannot prolong its lease ends the process before the lease is over, which closes every connection to
every host: only then may another visit the sites (`Watchdog`, a thread that does nothing else).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any

from msgspec import Struct

from periplus.crawl.local.messages import STATUS_EVERY
from periplus.crawl.shard import Parcel

from .life import LOST_LEASE, Ended, Life, Post, Snapshot
from .links import Delivery, Links
from .words import Lease, Orders, Report, Trouble

_MARGIN = 0.8
"""The share of a lease after which its holder gives up: the rest is for ending."""
_MOMENT = 0.02
_DEADLINE = 30.0
"""Seconds until a delivery that nobody answers counts as lost; a report, after a quarter of a lease."""


class Watchdog:
    """Ends the process when its lease is over, or when its node is gone: Ray has begun another then."""

    def __init__(self, end: Callable[[int], object] = os._exit) -> None:
        self._parent = os.getppid()
        self._until = 0.0
        self._is_awake = True
        self._end = end

    def prolong(self, lease: Lease, asked_at: float) -> None:
        """The lease counts from when it was asked for."""
        self._until = max(self._until, asked_at + _MARGIN * lease.seconds)

    def is_held(self) -> bool:
        """Whether the lease lasts."""
        return time.monotonic() < self._until

    def start(self) -> None:
        """From now on."""
        Thread(target=self._watch, daemon=True, name="watchdog").start()

    def rest(self) -> None:
        """Nothing is left that could do harm."""
        self._is_awake = False

    def _watch(self) -> None:
        while self._is_awake:
            if time.monotonic() >= self._until or os.getppid() != self._parent:
                self._end(LOST_LEASE)
                return
            time.sleep(min(max(self._until - time.monotonic(), 0.0), 0.1))


class Carried(Struct):
    """A call that is under way: to another shard, or (-1) to the coordinator."""

    to: int
    since: float


class Postman:
    """Drives the links of a shard, until it has ended. `handle_of` finds the actor of a shard."""

    def __init__(
        self,
        ray: ModuleType,
        number: int,
        count: int,
        *,
        epoch: int,
        coordinator: Any,
        handle_of: Callable[[int], Any],
        life: Life,
        tell: Callable[[Orders], object],
        watchdog: Watchdog,
    ) -> None:
        self._ray = ray
        self._number = number
        self._epoch = epoch
        self._coordinator = coordinator
        self._handle_of = handle_of
        self._life = life
        self._tell = tell
        self._watchdog = watchdog
        self._links = Links(number, count, epoch)
        self._under_way: dict[Any, Carried] = {}
        self._snapshot: Snapshot | None = None
        self._report_at = 0.0
        self._report_within = _DEADLINE
        self._last: Ended | Trouble | None = None
        self.heard: SimpleQueue[Delivery] = SimpleQueue()

    def work(self) -> Ended | Trouble:
        """Until the shard has ended; how it did."""
        while self._last is None:
            self._read_posts()
            now = time.monotonic()
            for other, delivery in self._links.due(now):
                self._carry(other, delivery, now)
            self._report(now)
            self._gather(now)
        return self._last

    def _read_posts(self) -> None:
        while not self.heard.empty():
            self._links.heard(self.heard.get())
        while (post := self._next_post()) is not None:
            match post:
                case Parcel():
                    self._links.post(post)
                case Snapshot():
                    self._snapshot = post
                case _:
                    self._last = post
                    return

    def _next_post(self) -> Post | None:
        try:
            return self._life.posts.get(timeout=0.0 if self._under_way else _MOMENT)
        except Empty:
            return None

    def _carry(self, other: int, delivery: Delivery, now: float) -> None:
        try:
            call = self._handle_of(other).deliver.remote(delivery)
        except (ValueError, self._ray.exceptions.RayError):
            self._links.to[other].answered(None, now)
        else:
            self._under_way[call] = Carried(other, now)

    def _report(self, now: float) -> None:
        """Also while the state is being opened, which may take longer than a lease."""
        if now < self._report_at or any(each.to < 0 for each in self._under_way.values()):
            return
        self._report_at = now + STATUS_EVERY
        snapshot, report = self._snapshot, None
        if snapshot is not None:
            report = Report(snapshot.status, snapshot.heard, snapshot.told, self._links.is_quiet)
        try:
            call = self._coordinator().report.remote(self._number, self._epoch, report)
        except (ValueError, self._ray.exceptions.RayError):
            return
        self._under_way[call] = Carried(-1, now)

    def _gather(self, now: float) -> None:
        if not self._under_way:
            return
        ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_MOMENT)
        if ready and len(self._under_way) > 1:
            ready, _ = self._ray.wait(list(self._under_way), num_returns=len(self._under_way), timeout=0)
        for call in ready:
            self._answered(call)
        for call, carried in list(self._under_way.items()):
            if now > carried.since + (_DEADLINE if carried.to >= 0 else self._report_within):
                self._take_note(self._under_way.pop(call), None)

    def _answered(self, call: Any) -> None:
        carried = self._under_way.pop(call)
        try:
            answer = self._ray.get(call)
        except self._ray.exceptions.RayError:
            self._take_note(carried, None)
            return
        if carried.to < 0 and answer is None:
            os._exit(LOST_LEASE)
        self._take_note(carried, answer)

    def _take_note(self, carried: Carried, answer: Any) -> None:
        if carried.to >= 0:
            self._links.to[carried.to].answered(answer, time.monotonic())
        elif answer is not None:
            self._report_within = answer.lease.seconds / 4
            self._watchdog.prolong(answer.lease, carried.since)
            self._tell(answer)

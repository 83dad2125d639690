"""What a shard's process sends: transfers to other shards, and reports to the coordinator.

It runs in a thread beside the loop of the shard, so that the loop never waits for a call. A call without an answer is
repeated. A process that cannot renew its lease ends before the lease expires, which closes all its connections to
hosts and its files: only then may another process send requests to the sites, and write (`Watchdog`).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.shard import ShardOutput
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.messages import (
    STATUS_INTERVAL,
    Posted,
    Reply,
    ShardFailure,
    ShardStopped,
    StatusReport,
    StopShard,
)

from .links import Inbox, Lease, Renewal, ShardLinks, Transfer

LOST_LEASE = 75
"""Exit code of a process that does not hold its shard any more; Ray starts another (EX_TEMPFAIL)."""
_USABLE = 0.8
"""The share of a lease after which its holder gives up: the rest is for ending."""
_LATE = 0.05
"""Seconds that a timer may end after the usable lease; computing what is left of it takes microseconds."""
_WATCH = 0.1
"""Seconds until the node is looked for again."""
_POLL = 0.02
"""Seconds to wait for an answer or a message at a time."""
_TRANSFER_TIMEOUT = 30.0
"""Seconds until a transfer without an answer counts as lost; a report, after a quarter of a lease."""


class Watchdog:
    """Ends the process when its lease expires, or its node is gone: Ray has started another then.

    The lease is a timer of the kernel, whose signal (SIGALRM) ends the process. One that was stopped, or whose machine
    stood still, is ended before it goes on: a thread that looked at the clock would be too late, for others would first
    finish what they were doing, and put a file in the place of the successor's.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._until = 0.0
        self._is_watching = True

    def renew(self, lease: Lease, asked_at: float) -> None:
        """Extend the lease, counted from the time of the request for it."""
        self._until = max(self._until, asked_at + _USABLE * lease.seconds)
        while (left := self._until - time.monotonic()) > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
            if time.monotonic() + left < self._until + _LATE:  # else the process was stopped before it set the timer
                return
        os._exit(LOST_LEASE)

    def start(self) -> None:
        """Watch the node from now on."""
        Thread(target=self._watch, daemon=True, name="watchdog").start()

    def stop(self) -> None:
        """The shard is closed: its lease does not matter any more."""
        self._is_watching = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _watch(self) -> None:
        while self._is_watching:
            if os.getppid() != self._parent:
                os._exit(LOST_LEASE)
            time.sleep(_WATCH)


class _Call(Struct):
    """A call that is under way: to another shard, or (-1) to the coordinator."""

    to: int
    since: float


class Outbound:
    """Sends what a shard posts, until it has ended. `actor_of` finds the actor of a shard.

    `posts` is filled by the shard's worker, `received` by the transfers of other shards; `inbox` gets the orders.
    """

    def __init__(
        self,
        ray: ModuleType,
        number: int,
        count: int,
        *,
        epoch: int,
        coordinator: Callable[[], Any],
        actor_of: Callable[[int], Any],
        inbox: Inbox,
        watchdog: Watchdog,
    ) -> None:
        self._ray = ray
        self._number = number
        self._epoch = epoch
        self._coordinator = coordinator
        self._actor_of = actor_of
        self._inbox = inbox
        self._watchdog = watchdog
        self._links = ShardLinks(number, count, epoch)
        self._calls: dict[Any, _Call] = {}
        self._report: StatusReport | None = None
        self._report_at = 0.0
        self._report_timeout = _TRANSFER_TIMEOUT
        self._last: ShardStopped | ShardFailure | None = None
        self.restarts = False
        """Whether the process ends so that another continues."""
        self.posts: SimpleQueue[Posted] = SimpleQueue()
        self.received: SimpleQueue[Transfer] = SimpleQueue()

    def run(self, is_open: Callable[[], bool]) -> ShardStopped | ShardFailure:
        """Send until the shard has closed its files, which may take longer than a lease; returns its last message."""
        while self._last is None or is_open():
            self._read()
            now = time.monotonic()
            for other, transfer in self._links.due(now):
                self._send(other, transfer, now)
            self._send_report(now)
            self._gather(now)
        return self._last

    def _read(self) -> None:
        while not self.received.empty():
            self._links.received(self.received.get())
        while (post := self._next_post()) is not None:
            match post:
                case ShardOutput():
                    self._links.add(post)
                case StatusReport():
                    self._report = post
                case Build() | Reply():  # the coordinator has it; questions are not sent to other machines
                    pass
                case _:
                    self._last = post
                    return

    def _next_post(self) -> Posted | None:
        try:
            return self.posts.get(timeout=0.0 if self._calls else _POLL)
        except Empty:
            return None

    def _send(self, other: int, transfer: Transfer, now: float) -> None:
        try:
            call = self._actor_of(other).deliver.remote(transfer)
        except (ValueError, self._ray.exceptions.RayError):
            self._links.to[other].answered(None, now)
        else:
            self._calls[call] = _Call(other, now)

    def _send_report(self, now: float) -> None:
        """Also while the state is being opened, which may take longer than a lease."""
        if now < self._report_at or any(call.to < 0 for call in self._calls.values()):
            return
        self._report_at = now + STATUS_INTERVAL
        report = None if self._report is None else replace(self._report, is_quiet=self._links.is_quiet)
        try:
            call = self._coordinator().report.remote(self._number, self._epoch, report)
        except (ValueError, self._ray.exceptions.RayError):
            return
        self._calls[call] = _Call(-1, now)

    def _gather(self, now: float) -> None:
        if not self._calls:
            return
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=_POLL)
        if ready and len(self._calls) > 1:
            ready, _ = self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        for answered in ready:
            self._answered(answered)
        for under_way, call in list(self._calls.items()):
            if now > call.since + (_TRANSFER_TIMEOUT if call.to >= 0 else self._report_timeout):
                self._apply(self._calls.pop(under_way), None)

    def _answered(self, answered: Any) -> None:
        call = self._calls.pop(answered)
        try:
            answer = self._ray.get(answered)
        except self._ray.exceptions.RayError:
            self._apply(call, None)
            return
        if call.to < 0 and answer is None:
            os._exit(LOST_LEASE)
        self._apply(call, answer)

    def _apply(self, call: _Call, answer: Any) -> None:
        if call.to >= 0:
            self._links.to[call.to].answered(answer, time.monotonic())
        elif isinstance(answer, Renewal):
            self._report_timeout = answer.lease.seconds / 4
            self._watchdog.renew(answer.lease, call.since)
            self._inbox.put(answer.orders)
            self.restarts = answer.restarts
            if answer.stop is not None:
                self._inbox.put(StopShard(answer.stop))

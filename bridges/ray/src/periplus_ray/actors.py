"""The Ray actors: one for each shard, and one for the coordinator. What they do is written elsewhere.

Ray starts an actor again that died, wherever there is room, with the arguments of its first start. Actors are found by
name. No constructor raises: Ray would not try again.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.shards import ShardMaker
from periplus.engine.shard import MakeShard, Shard, ShardStatus
from periplus.engine.sharding import tune_garbage_collection
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.messages import Announcement, ShardFailure, ShardStopped, StatusReport
from periplus.engine.sharding.worker import run_shard
from periplus.model import CollectionInUse, Discovery, PeriplusError

from .connection import load
from .leases import LeasedCoordinator, Remembered, check, load_memory, save_memory, succeed
from .links import Inbox, Lease, Overview, Renewal, Transfer, Wait
from .outbound import LOST_LEASE, Outbound, Watchdog

COORDINATOR = "coordinator"
CRASHED = 70
"""Exit code of a process whose loop has raised; Ray starts another (EX_SOFTWARE)."""
RESTARTS = 76
"""Exit code of a process that has ended so that another continues."""
_RETRY = 0.5
"""Seconds until a call to the coordinator, or the opening of a state, is tried again."""
_CALL_TIMEOUT = 5.0
"""Seconds to wait for an answer of the coordinator."""
_CLAIM_TIMEOUT = 20.0
"""Seconds for the command to claim the memory after it has started the coordinator."""
_OPEN_TIMEOUT = 600.0
"""Seconds to wait for a locked state: a process that hangs, or a machine whose end the network has not noticed, may
hold the lock although this process holds the lease."""
_OVERTAKEN = ShardFailure(
    "another crawl of this collection has started, or its folder is not on every node",
    "Let one end before the next starts; every node must have the folder at the same path",
    CollectionInUse.exit_code,
)

log = logging.getLogger(__name__)


class Plan(Struct, frozen=True):
    """What every actor of a crawl must know. `namespace` is that of their names."""

    make: MakeShard
    shards: int
    namespace: str
    run: str
    memory: Path
    lease: float
    limit: int | None = None


def shard_name(number: int) -> str:
    """The name of a shard's actor."""
    return f"shard-{number}"


class ShardActor:
    """One shard, under one lease; when it has ended, Ray starts the actor again, which asks for the next lease."""

    def __init__(self, plan: Plan, number: int, seeds: Sequence[Discovery]) -> None:
        self._plan = plan
        self._number = number
        self._seeds = seeds
        self._ray = load()
        self._inbox = Inbox()
        self._outbound: Outbound | None = None
        self._handles: dict[str, Any] = {}
        tune_garbage_collection()
        Thread(target=self._live, daemon=True, name="shard").start()

    def deliver(self, transfer: Transfer) -> int:
        """Take a transfer of another shard; returns the epoch, or 0."""
        epoch = self._inbox.deliver(transfer)
        if epoch and self._outbound is not None:
            self._outbound.received.put(replace(transfer, batches=()))
        return epoch

    def announce(self, announcement: Announcement) -> int:
        """Take an announcement; returns the epoch, or 0."""
        return self._inbox.put(announcement)

    def process(self) -> int:
        """The process id."""
        return os.getpid()

    def _live(self) -> None:
        try:
            watchdog = Watchdog()
            lease = self._begin(watchdog)
            if lease is None:
                return
            watchdog.start()
            outbound = self._outbound = Outbound(
                self._ray,
                self._number,
                self._plan.shards,
                epoch=lease.epoch,
                coordinator=lambda: self._handle(COORDINATOR),
                actor_of=lambda other: self._handle(shard_name(other)),
                inbox=self._inbox,
                watchdog=watchdog,
            )
            self._inbox.epoch = lease.epoch
            loop = Thread(target=self._work, args=(lease, outbound), daemon=True, name="loop")
            loop.start()
            last = outbound.run(loop.is_alive)
            self._inbox.epoch = 0
            watchdog.stop()
            self._report_end(lease, last)
            if outbound.restarts and isinstance(last, ShardStopped):
                os._exit(RESTARTS)
        except BaseException:
            log.exception("shard %d cannot send any more", self._number)
            os._exit(LOST_LEASE)

    def _work(self, lease: Lease, outbound: Outbound) -> None:
        """The loop of the shard. One that crashes is started again and continues from its last commit."""
        try:
            run_shard(lambda: self._open(lease), self._seeds, self._inbox, outbound.posts.put)
        except BaseException:
            log.exception("shard %d crashed", self._number)
            os._exit(CRASHED)

    def _open(self, lease: Lease) -> Shard:
        make, until = self._plan.make, time.monotonic() + _OPEN_TIMEOUT
        if isinstance(make, ShardMaker):
            make = replace(make, epoch=lease.epoch)
        while True:
            try:
                return make(self._number, self._plan.shards)
            except CollectionInUse:
                if time.monotonic() > until:
                    raise
                time.sleep(_RETRY)

    def _begin(self, watchdog: Watchdog) -> Lease | None:
        while True:
            asked_at = time.monotonic()
            answer = self._ask("begin", self._number, Build.own())
            if isinstance(answer, Lease):
                if not self._has_folder(answer):
                    return None
                watchdog.renew(answer, asked_at)
                return answer
            if answer is None:
                return None
            time.sleep(answer.seconds if isinstance(answer, Wait) else _RETRY)

    def _has_folder(self, lease: Lease) -> bool:
        """Whether the collection is here: a shard that finds none would create another."""
        try:
            check(self._plan.memory, self._plan.run, self._plan.shards)
        except PeriplusError as error:
            self._report_end(lease, ShardFailure.of(error))
            return False
        return True

    def _report_end(self, lease: Lease, last: ShardStopped | ShardFailure) -> None:
        if isinstance(last, ShardStopped):
            self._ask("end", self._number, lease.epoch, last.status)
        else:
            self._ask("fail", self._number, lease.epoch, last)

    def _ask(self, method: str, *arguments: object) -> Any:
        """The coordinator's answer, however long it is away."""
        while True:
            try:
                call = getattr(self._handle(COORDINATOR), method).remote(*arguments)
                return self._ray.get(call, timeout=_CALL_TIMEOUT)
            except (ValueError, self._ray.exceptions.RayError):
                time.sleep(_RETRY)

    def _handle(self, name: str) -> Any:
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = self._ray.get_actor(name, namespace=self._plan.namespace)
        return handle


def _is_claimed(plan: Plan) -> bool:
    """Whether the memory belongs to this run, which claims it once its coordinator has the name."""
    until = time.monotonic() + _CLAIM_TIMEOUT
    while time.monotonic() < until:
        try:
            check(plan.memory, plan.run, plan.shards)
        except PeriplusError:
            time.sleep(_RETRY)
        else:
            return True
    return False


class CoordinatorActor:
    """The coordinator with a clock and a file. Once another coordinator has claimed the file, it answers `None`.

    That may be one of another run, or one that Ray started because no node reaches this one any more: the shards on
    this node still do, and must not get leases here while other workers get them there.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._is_ours = _is_claimed(plan)
        self._number = succeed(plan.memory, plan.run)
        self._check_at = 0.0
        self._coordinator = LeasedCoordinator(
            load_memory(plan.memory) if self._is_ours else Remembered.of(plan.run, plan.shards),
            self._save,
            plan.shards,
            now=time.monotonic(),
            lease=plan.lease,
            limit=plan.limit,
            incarnation=time.time_ns(),
        )

    def begin(self, number: int, build: Build) -> Lease | Wait | None:
        """Give a worker the lease of a shard; see `LeasedCoordinator.begin`."""
        return self._coordinator.begin(number, build, time.monotonic()) if self._has_memory() else None

    def restart(self, number: int, epoch: int) -> None:
        """Have another process continue a shard."""
        self._coordinator.restart(number, epoch)

    def report(self, number: int, epoch: int, report: StatusReport | None) -> Renewal | None:
        """A holder reports."""
        return self._coordinator.report(number, epoch, report, time.monotonic()) if self._has_memory() else None

    def end(self, number: int, epoch: int, status: ShardStatus) -> None:
        """A holder has committed everything and ends."""
        if self._has_memory():
            self._coordinator.end(number, epoch, status)

    def fail(self, number: int, epoch: int, failure: ShardFailure) -> None:
        """A holder cannot go on."""
        self._coordinator.fail(number, epoch, failure)

    def overview(self, stop: float | None) -> Overview:
        """The state of the crawl. `stop`: every worker is to end within that many seconds."""
        overview = self._coordinator.overview(stop, time.monotonic())
        return overview if self._has_memory() else replace(overview, is_finished=False, failure=_OVERTAKEN)

    def process(self) -> int:
        """The process id."""
        return os.getpid()

    def _has_memory(self) -> bool:
        """Whether the file is still ours: read several times per lease, and before it is written."""
        now = time.monotonic()
        if self._is_ours and now >= self._check_at:
            self._check_at = now + self._plan.lease / 4
            self._is_ours = load_memory(self._plan.memory).is_of(self._plan.run, self._number)
        return self._is_ours

    def _save(self, remembered: Remembered) -> bool:
        self._check_at = 0.0
        if self._has_memory():
            save_memory(self._plan.memory, remembered)
        return self._is_ours

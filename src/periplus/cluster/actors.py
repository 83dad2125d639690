"""The actors, as Ray sees them: one for each shard, and the coordinator. What they do is written elsewhere.

Ray begins an actor again that died, wherever there is room, with the arguments it was first begun with. It is found by
its name. No constructor raises: Ray would not try again.
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

from periplus import __version__
from periplus.assembly import ShardMaker
from periplus.crawl.local import MakeShard, collect_less
from periplus.crawl.shard import Status
from periplus.model import CollectionInUse, Discovery, PeriplusError

from .connection import load
from .coordinator import Coordinator
from .inbox import Inbox, News
from .life import LOST_LEASE, Ended, Life
from .links import Delivery
from .memory import Remembered, check, succeed
from .memory import load as recall
from .memory import save as keep
from .postman import Postman, Watchdog
from .words import Lease, Orders, Report, Standing, Trouble, Wait

COORDINATOR = "coordinator"
_RETRY = 0.5
_CALL = 5.0
"""Seconds for an answer of the coordinator."""
_CLAIMING = 20.0
"""Seconds for the command to claim the memory."""
_OVERTAKEN = Trouble(
    "another crawl of this collection has begun, or its folder is not on every node",
    "let one end before the next begins; every node must have the folder at the same path",
    CollectionInUse.exit_code,
)

log = logging.getLogger(__name__)


class Plan(Struct, frozen=True):
    """What a crawl on a cluster is: everything that its actors must know. `room` is the namespace of their names."""

    make: MakeShard
    shards: int
    room: str
    run: str
    memory: Path
    lease: float
    limit: int | None = None


def shard_name(number: int) -> str:
    """The name of a shard's actor."""
    return f"shard-{number}"


class ShardActor:
    """One shard, in this life and, begun again by Ray, in the next."""

    def __init__(self, plan: Plan, number: int, seeds: Sequence[Discovery]) -> None:
        self._plan = plan
        self._number = number
        self._seeds = seeds
        self._ray = load()
        self._inbox = Inbox()
        self._postman: Postman | None = None
        self._handles: dict[str, Any] = {}
        collect_less()
        Thread(target=self._live, daemon=True, name="life").start()

    def deliver(self, delivery: Delivery) -> int:
        """From another shard; who has it, or 0."""
        epoch = self._inbox.deliver(delivery)
        if epoch and self._postman is not None:
            self._postman.heard.put(replace(delivery, batches=()))
        return epoch

    def hear(self, news: News) -> int:
        """Somebody tells of something; who has heard it, or 0."""
        return self._inbox.put(news)

    def process(self) -> int:
        """Its number on its machine."""
        return os.getpid()

    def _live(self) -> None:
        try:
            watchdog = Watchdog()
            lease = self._begin(watchdog)
            if lease is None:
                return
            watchdog.start()
            make = self._plan.make
            if isinstance(make, ShardMaker):
                make = replace(make, epoch=lease.epoch)
            life = Life(make, self._number, self._plan.shards, self._seeds, self._inbox, watchdog.is_held)
            self._postman = Postman(
                self._ray,
                self._number,
                self._plan.shards,
                epoch=lease.epoch,
                coordinator=lambda: self._handle(COORDINATOR),
                handle_of=lambda other: self._handle(shard_name(other)),
                life=life,
                tell=self._inbox.put,
                watchdog=watchdog,
            )
            self._inbox.epoch = lease.epoch
            loop = Thread(target=life.run, daemon=True, name="loop")
            loop.start()
            last = self._postman.work()
            self._inbox.epoch = 0
            while loop.is_alive():  # it closes its files, which may take longer than a lease
                self._prolong(lease, watchdog)
                loop.join(1.0)
            watchdog.rest()
            self._say_last(lease, last)
        except BaseException:
            log.exception("shard %d cannot speak any more", self._number)
            os._exit(LOST_LEASE)

    def _prolong(self, lease: Lease, watchdog: Watchdog) -> None:
        asked_at = time.monotonic()
        orders = self._ask("report", self._number, lease.epoch, None)
        if orders is None:
            os._exit(LOST_LEASE)
        watchdog.prolong(orders.lease, asked_at)

    def _begin(self, watchdog: Watchdog) -> Lease | None:
        while True:
            asked_at = time.monotonic()
            answer = self._ask("begin", self._number, __version__)
            if isinstance(answer, Lease):
                watchdog.prolong(answer, asked_at)
                return answer if self._has_folder(answer) else None
            if answer is None:
                return None
            time.sleep(answer.seconds if isinstance(answer, Wait) else _RETRY)

    def _has_folder(self, lease: Lease) -> bool:
        """Whether the collection is here: a shard that finds none would found another."""
        try:
            check(self._plan.memory, self._plan.run, self._plan.shards)
        except PeriplusError as error:
            self._say_last(lease, Trouble(str(error), error.hint, error.exit_code))
            return False
        return True

    def _say_last(self, lease: Lease, last: Ended | Trouble) -> None:
        if isinstance(last, Ended):
            self._ask("end", self._number, lease.epoch, last.status)
        else:
            self._ask("broken", self._number, lease.epoch, last)

    def _ask(self, method: str, *arguments: object) -> Any:
        """What the coordinator answers, however long it is away."""
        while True:
            try:
                return self._ray.get(getattr(self._handle(COORDINATOR), method).remote(*arguments), timeout=_CALL)
            except (ValueError, self._ray.exceptions.RayError):
                time.sleep(_RETRY)

    def _handle(self, name: str) -> Any:
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = self._ray.get_actor(name, namespace=self._plan.room)
        return handle


def _is_claimed(plan: Plan) -> bool:
    """Whether the memory is this run's, which claims it once it has our name."""
    until = time.monotonic() + _CLAIMING
    while time.monotonic() < until:
        try:
            check(plan.memory, plan.run, plan.shards)
        except PeriplusError:
            time.sleep(_RETRY)
        else:
            return True
    return False


class CoordinatorActor:
    """The coordinator, with a clock and a file. Once another has claimed that, it is nobody's coordinator.

    That may be one of another run, or one that Ray began in its stead because no node hears of this one any more: the
    shards beside it still do, and must not get their leases here while others get them there.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._is_ours = _is_claimed(plan)
        self._number = succeed(plan.memory, plan.run)
        self._look_at = 0.0
        self._coordinator = Coordinator(
            recall(plan.memory) if self._is_ours else Remembered.of(plan.run, plan.shards),
            self._keep,
            plan.shards,
            now=time.monotonic(),
            lease=plan.lease,
            limit=plan.limit,
            life=time.time_ns(),
        )

    def begin(self, number: int, version: str) -> Lease | Wait | None:
        """A life of a shard begins."""
        return self._coordinator.begin(number, version, time.monotonic()) if self._look() else None

    def report(self, number: int, epoch: int, report: Report | None) -> Orders | None:
        """How a shard is doing."""
        return self._coordinator.report(number, epoch, report, time.monotonic()) if self._look() else None

    def end(self, number: int, epoch: int, status: Status) -> None:
        """A shard has kept everything and ends."""
        if self._look():
            self._coordinator.end(number, epoch, status)

    def broken(self, number: int, epoch: int, trouble: Trouble) -> None:
        """A shard cannot go on."""
        self._coordinator.broken(number, epoch, trouble)

    def standing(self, stop: float | None) -> Standing:
        """How all are doing."""
        standing = self._coordinator.standing(stop, time.monotonic())
        return standing if self._look() else replace(standing, is_finished=False, trouble=_OVERTAKEN)

    def process(self) -> int:
        """Its number on its machine."""
        return os.getpid()

    def _look(self) -> bool:
        """Whether the file is still ours: looked up several times a lease, and before it is written."""
        now = time.monotonic()
        if self._is_ours and now >= self._look_at:
            self._look_at = now + self._plan.lease / 4
            self._is_ours = recall(self._plan.memory).is_of(self._plan.run, self._number)
        return self._is_ours

    def _keep(self, remembered: Remembered) -> bool:
        self._look_at = 0.0
        if self._look():
            keep(self._plan.memory, remembered)
        return self._is_ours

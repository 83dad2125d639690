"""Leases of shards, around the coordinator that every crawl has (`periplus.engine.sharding.Coordinator`).

A worker that starts a shard gets an epoch and a lease of its sites (Gray & Cheriton 1989), which every report renews.
No other worker gets the shard before the lease has expired or was returned. The holder counts from when it asked, the
coordinator from when it answered, so that the holder sees the lease expire first and no clocks are compared. A report
with an older epoch is answered with `None`, and its sender ends at once.

`Remembered` is what must survive the coordinator: a small file beside the states of the shards, saved before any worker
gets what it grants. Everything else is in the next reports. After a restart, a held shard counts as held for
`INHERITED` leases: a coordinator of an earlier run may renew leases until it sees that another run has claimed the
file. Time is an argument: seconds of any monotonic clock.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from periplus.engine.revisit.market import Market
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding import Coordinator
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.messages import GRACE, ShardFailure, StatusReport, other_build
from periplus.model import CollectionDamaged, CollectionError
from periplus.store.durable import write_file

from .links import Lease, Overview, Renewal, Wait

T = TypeVar("T")


class Remembered(Struct):
    """For each shard its last epoch, whether it is held, and the pages granted to it; and the run of the command.

    Epochs are permanent; pages granted, and the number of coordinators so far, belong to one run.
    """

    run: str = ""
    epochs: list[int] = []
    is_held: list[bool] = []
    granted: list[int] = []
    coordinators: int = 0

    @classmethod
    def of(cls, run: str, shards: int) -> Self:
        """The memory of a run that has just started."""
        return cls(run, [0] * shards, [False] * shards, [0] * shards)

    def is_of(self, run: str, coordinator: int) -> bool:
        """Whether no later coordinator has claimed it. What an earlier one wrote at the last moment does not count."""
        return self.run == run and self.coordinators <= coordinator


def _fitted(values: list[T], shards: int, default: T) -> list[T]:
    return [*values, *[default] * (shards - len(values))]


def claim(path: Path, run: str, shards: int) -> None:
    """A run of the command starts: from now on the file is its own. Pages that another run granted do not count."""
    kept = load_memory(path)
    epochs, is_held = _fitted(kept.epochs, shards, 0), _fitted(kept.is_held, shards, False)
    save_memory(path, Remembered(run, epochs, is_held, [0] * shards))


def check(path: Path, run: str, shards: int) -> None:
    """Raise unless the file belongs to this run; it does not if the folder of the collection is missing on a node."""
    kept = load_memory(path)
    if kept.run != run or len(kept.epochs) < shards:
        raise CollectionError(
            f"{path} on {platform.node()} does not belong to this crawl",
            hint="Every node must have the folder of the collection at the same path; or was the file removed?",
        )


def succeed(path: Path, run: str) -> int:
    """A coordinator starts; returns its number in this run. Its predecessor may live on, cut off, and will see this."""
    kept = load_memory(path)
    if kept.run != run:
        return 0
    kept.coordinators += 1
    save_memory(path, kept)
    return kept.coordinators


def load_memory(path: Path) -> Remembered:
    """What was saved, or an empty memory."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Remembered)
    except FileNotFoundError:
        return Remembered()
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(
            f"{path} cannot be decoded: {error}", hint="If no crawl of this collection runs anywhere, remove it"
        ) from error


def save_memory(path: Path, remembered: Remembered) -> None:
    """Replace the file as a whole, with its content on disk."""
    write_file(path, msgspec.json.encode(remembered))


INHERITED = 1.5
"""Leases from a coordinator's start until it gives away a shard that was held before it started."""
DEPOSED = 2.0
"""Leases during which another worker must ask for a shard before its holder is deposed: Ray has given that one up."""
_MAX_WAIT = 1.0
"""Maximum seconds between two requests of a worker that waits for a shard, so that it is known to be waiting still."""


class _Hold(Struct):
    """The time until which a shard is held, and the first and last time that another worker has asked for it."""

    until: float = 0.0
    wanted_since: float = 0.0
    wanted_at: float = -inf

    def is_deposed(self, now: float, lease: float) -> bool:
        """Whether another worker has asked for long enough, and still does."""
        return now - self.wanted_at < 2 * _MAX_WAIT + lease / 4 and now - self.wanted_since > DEPOSED * lease

    def wait(self, now: float) -> Wait:
        """Record that another worker asks for the shard, and return when it may ask again."""
        if now - self.wanted_at > 2 * _MAX_WAIT:
            self.wanted_since = now
        self.wanted_at = now
        return Wait(min(self.until - now, _MAX_WAIT))


class LeasedCoordinator:
    """A coordinator that sends orders only to holders of leases. `incarnation` distinguishes it from others.

    `save` stores what must survive a crash; it returns whether the memory still belongs to this coordinator.
    """

    def __init__(
        self,
        remembered: Remembered,
        save: Callable[[Remembered], bool],
        shards: int,
        *,
        now: float,
        lease: float,
        limit: int | None = None,
        incarnation: int = 0,
    ) -> None:
        self._remembered = remembered
        self._save = save
        self._lease = lease
        held = [number for number, is_held in enumerate(remembered.is_held[:shards]) if is_held]
        self._holds = [_Hold(now + INHERITED * lease if number in held else 0.0) for number in range(shards)]
        self._coordinator = Coordinator(
            shards,
            limit=limit,
            market=Market(shards),
            incarnation=incarnation,
            granted=remembered.granted[:shards],
            running=held,
        )
        self._stop: float | None = None
        self._restarting: dict[int, int] = {}

    def begin(self, number: int, build: Build, now: float) -> Lease | Wait | None:
        """Give a worker the lease of a shard, or a time to wait. `None`: it must end."""
        hold = self._holds[number]
        if reason := Build.own().refusal(build):
            self._coordinator.fail(other_build(number, build, reason))
        if self._coordinator.failure is not None or self._stop is not None:
            return None
        if now < hold.until:
            return hold.wait(now)
        if not self._coordinator.start(number):
            return None
        self._remembered.epochs[number] += 1
        self._remembered.is_held[number] = True
        if not self._save(self._remembered):
            return None
        hold.until, hold.wanted_at = now + self._lease, -inf
        return self._lease_of(number)

    def report(self, number: int, epoch: int, report: StatusReport | None, now: float) -> Renewal | None:
        """A holder reports, without a status while it opens its state. `None`: it is not the holder, and must end."""
        hold = self._holds[number]
        if not self._is_held_by(number, epoch) or hold.is_deposed(now, self._lease):
            return None
        if report is None:
            orders = self._coordinator.orders(number)
        else:
            orders = self._coordinator.report(number, report)
            if not self._is_granted_saved():
                return None
        hold.until = now + self._lease
        if self._restarting.get(number) == epoch and self._stop is None:
            return Renewal(self._lease_of(number), orders, GRACE, restarts=True)
        return Renewal(self._lease_of(number), orders, self._stop)

    def restart(self, number: int, epoch: int) -> None:
        """Have the holder of a shard commit everything and end, so that another process continues it."""
        self._restarting[number] = epoch

    def _is_granted_saved(self) -> bool:
        """Pages count as granted before any shard receives them."""
        granted = self._coordinator.granted
        if not granted or granted == self._remembered.granted:
            return True
        self._remembered.granted = granted
        return self._save(self._remembered)

    def end(self, number: int, epoch: int, status: ShardStatus) -> None:
        """A holder has committed everything and ends: its sites are free."""
        if self._is_held_by(number, epoch):
            self._coordinator.stopped(number, status)
            self._holds[number].until = 0.0
            self._remembered.is_held[number] = False
            self._save(self._remembered)

    def fail(self, number: int, epoch: int, failure: ShardFailure) -> None:
        """A holder cannot go on, so the crawl cannot. A failure of a deposed holder does not count."""
        if self._is_held_by(number, epoch):
            self._coordinator.fail(failure)

    def _is_held_by(self, number: int, epoch: int) -> bool:
        return epoch == self._remembered.epochs[number] and self._remembered.is_held[number]

    def _lease_of(self, number: int) -> Lease:
        return Lease(self._remembered.epochs[number], self._lease)

    def overview(self, stop: float | None, now: float) -> Overview:
        """The state of the crawl. `stop`: every worker is to end within that many seconds."""
        self._stop = stop
        reports = self._coordinator.reports
        return Overview(
            tuple(report.status for report in reports if report is not None),
            tuple(self._remembered.epochs[: len(reports)]),
            tuple(0 if report is None else report.announcement for report in reports),
            self._coordinator.is_finished,
            not any(hold.until > now for hold in self._holds),
            self._coordinator.failure,
        )

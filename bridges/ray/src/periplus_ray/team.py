"""The shards of a crawl as Ray actors, for the command that runs it.

It starts the actors, polls the coordinator for the progress of the crawl, and sends it the order to stop. Nothing else
passes through the command but announcements. When this process dies, Ray ends its actors; everything they committed is
kept.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from periplus.engine.shard import Controls, MakeShard, ShardQuestion, ShardStatus
from periplus.engine.sharding import Gather
from periplus.engine.sharding.messages import STATUS_INTERVAL, Announcements, Reply, by_owner
from periplus.model import CollectionError, CollectionInUse, Discovery, Url, UsageError

from .actors import COORDINATOR, CoordinatorActor, Plan, ShardActor, shard_name
from .connection import LOCAL, connected, processors
from .leases import claim
from .links import Overview

NAME_TIMEOUT = 60.0
"""Maximum seconds until the actor names of a run that was killed are free."""
SILENCE_TIMEOUT = 180.0
"""Seconds without an answer of the coordinator until the crawl is given up. Ray takes more than a minute to notice that
a node is silent, and only then starts the coordinator again."""
_CALL_TIMEOUT = 5.0
"""Seconds to wait for an answer; also the time until an announcement that was not kept is sent again."""
_MISSING_AFTER = 20.0
"""Seconds after which a shard that has not reported is looked for."""

log = logging.getLogger(__name__)


@contextmanager
def gathered(address: str, memory: Path, shards: int, lease: float) -> Iterator[tuple[Gather, int]]:
    """What makes a team of shards on the cluster at this address, and how many processors it has.

    On a cluster that is started here (`local`) the shards share the processors.
    """
    with connected(address, shards) as ray:
        needs = 0 if address == LOCAL else 1

        def gather(make: MakeShard, workers: int, limit: int | None) -> RayTeam:
            return RayTeam(ray, make, workers, limit, memory=memory, lease=lease, needs=needs)

        yield gather, processors(ray)


class RayTeam:
    """All shards, as actors that need `needs` processors each. `memory` is a path that every node has."""

    def __init__(
        self,
        ray: ModuleType,
        make: MakeShard,
        workers: int,
        limit: int | None,
        *,
        memory: Path,
        lease: float,
        needs: int = 1,
    ) -> None:
        self._ray = ray
        self._needs = needs
        namespace = f"periplus-{sha256(str(memory).encode()).hexdigest()[:16]}"
        self._plan = Plan(make, workers, namespace, uuid4().hex, memory, lease, limit)
        self._coordinator: Any = None
        self._shards: list[Any] = []
        self._overview: Overview | None = None
        self._answered_at = self._started_at = time.monotonic()
        self._stop: float | None = None
        self._announcements = Announcements(workers)
        self._announced = [0] * workers
        self._announce_at = [0.0] * workers
        self._statuses: dict[int, ShardStatus] = {}
        self._epochs = [0] * workers
        self._looked_for: set[int] = set()
        self._restarting: deque[int] = deque()
        self._restarted_from: int | None = None

    def start(self, seeds: Sequence[Discovery]) -> None:
        """Start every shard with the seeds of its own sites."""
        plan = self._plan
        available = processors(self._ray)
        if available < plan.shards * self._needs:
            raise UsageError(
                f"the cluster has {available} processors, and each of the {plan.shards} shards needs one",
                hint="Add nodes, or use fewer --workers for a new collection",
            )
        self._coordinator = self._start(CoordinatorActor, COORDINATOR, 0, plan)
        claim(plan.memory, plan.run, plan.shards)  # the actor's name is the lock of the collection
        for number, own in enumerate(by_owner(seeds, plan.shards)):
            self._shards.append(self._start(ShardActor, shard_name(number), self._needs, plan, number, own))
        self._answered_at = self._started_at = time.monotonic()

    def _start(self, actor: type, name: str, cpus: int, *arguments: object) -> Any:
        options = {
            "name": name,
            "namespace": self._plan.namespace,
            "num_cpus": cpus,
            "max_restarts": -1,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        until = time.monotonic() + NAME_TIMEOUT
        while True:
            try:
                return self._ray.remote(actor).options(**options).remote(*arguments)
            except ValueError as error:  # the name is taken; by a run that was killed, for a moment
                if time.monotonic() > until:
                    raise CollectionInUse(
                        "a crawl of this collection runs on the cluster", hint="Wait until it ends, or stop it"
                    ) from error
                time.sleep(1.0)

    def announce(self, discoveries: Sequence[Discovery]) -> int:
        """Send each to the shard that has its site; a shard that is started again gets it again."""
        self._announcements.add(discoveries)
        return self._announcements.last

    def has_kept(self, number: int) -> bool:
        """Whether every shard has committed this announcement and all before it."""
        return self._announcements.are_kept_to(number)

    def extend_scope(self, places: Sequence[Url]) -> None:  # noqa: ARG002
        """Raise an error: not supported on a cluster."""
        raise _not_here("widen the scope")

    def control(self, controls: Controls) -> None:  # noqa: ARG002
        """Raise an error: not supported on a cluster."""
        raise _not_here("pause, pace, exclude or prefer")

    follows_controls = True

    def ask(self, number: int, question: ShardQuestion) -> int:  # noqa: ARG002
        """Questions are not sent to other machines: no shard answers."""
        return 0

    def replies(self) -> list[Reply]:
        """An empty list: there are no controls on a cluster."""
        return []

    def restart(self, python: str) -> None:  # noqa: ARG002
        """Restart all shards, one after the other: each by what is installed where Ray starts it."""
        self._restarting, self._restarted_from = deque(range(self._plan.shards)), None

    @property
    def is_restarting(self) -> bool:
        """Whether a shard is still to be restarted."""
        return bool(self._restarting)

    restart_failure = ""
    """Always empty: Ray starts what is installed until it runs."""

    def _continue_restart(self, overview: Overview) -> None:
        """Let the next shard end once the one before has reported in its next epoch."""
        if self._stop is not None:
            self._restarting.clear()
        if not self._restarting or len(overview.statuses) < self._plan.shards:
            return
        number = self._restarting[0]
        epoch = overview.epochs[number]
        if self._restarted_from is None:
            self._restarted_from = epoch
        if epoch == self._restarted_from:  # sent each time: the coordinator may have died
            self._coordinator.restart.remote(number, epoch)
        elif any(status.shard == number for status in overview.statuses):
            self._restarting.popleft()
            self._restarted_from = None

    def poll(self, timeout: float) -> None:
        """Wait, then ask the coordinator how the crawl goes."""
        time.sleep(timeout)
        self._ask()
        overview = self._overview
        if overview is not None:
            if overview.failure is not None and not self._has_stopped:
                raise overview.failure.error()
            self._statuses |= {status.shard: status for status in overview.statuses}
            for number, epoch in enumerate(overview.epochs):
                self._log_restart(number, epoch)
                self._announcements.kept(number, overview.announcements[number])
                self._send_announcements(number)
            self._continue_restart(overview)
        if time.monotonic() > self._started_at + _MISSING_AFTER:
            self._look_for_missing()

    def _ask(self) -> None:
        try:
            self._overview = self._ray.get(self._coordinator.overview.remote(self._stop), timeout=_CALL_TIMEOUT)
            self._answered_at = time.monotonic()
        except (self._ray.exceptions.RayError, TimeoutError) as error:
            if time.monotonic() > self._answered_at + SILENCE_TIMEOUT:
                raise CollectionError(
                    "the coordinator of the crawl does not respond",
                    hint="ray status shows the state of the cluster; the same command continues the crawl",
                ) from error

    def _log_restart(self, number: int, epoch: int) -> None:
        is_asked = number in self._restarting and self._restarting[0] == number
        if 0 < self._epochs[number] < epoch and not is_asked:
            log.warning("shard %d was lost and has begun again", number)
        if number in self._statuses:  # epochs are of all runs; it has reported in this one
            self._epochs[number] = epoch

    def _send_announcements(self, number: int) -> None:
        """Send what a shard has not kept, in order, and again after a while until it has."""
        waiting, now = self._announcements.waiting(number), time.monotonic()
        if not waiting or (now < self._announce_at[number] and waiting[-1].number <= self._announced[number]):
            return
        self._announce_at[number], self._announced[number] = now + _CALL_TIMEOUT, waiting[-1].number
        for announcement in waiting:
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(self._shards[number].announce.remote(announcement), timeout=_CALL_TIMEOUT)

    def _look_for_missing(self) -> None:
        """Shards that have not reported: those that wait for a processor, and those that cannot start at all."""
        for number in range(self._plan.shards):
            if number in self._statuses or number in self._looked_for:
                continue
            self._looked_for.add(number)
            call = self._shards[number].process.remote()
            ready, _ = self._ray.wait([call], timeout=1.0)
            try:
                if not ready:
                    log.warning("shard %d waits for a processor: ray status says which are free", number)
                else:
                    self._ray.get(call)
            except self._ray.exceptions.RayActorError as error:
                raise CollectionError(
                    f"shard {number} cannot begin: {error}",
                    hint="Every node must have the same Python and the same Periplus, with its extra ray",
                ) from error

    @property
    def is_finished(self) -> bool:
        """Whether the crawl is finished, with everything that was announced."""
        return self._overview is not None and self._overview.is_finished and self._announcements.are_kept

    def statuses(self) -> list[ShardStatus]:
        """The last status of each shard that has reported, also of those that are away."""
        return [self._statuses[number] for number in sorted(self._statuses)]

    @property
    def _has_stopped(self) -> bool:
        return self._overview is not None and self._overview.are_stopped

    def stop(self, grace: float) -> None:
        """Let every shard end its requests and commit everything; the next run recovers one that dies meanwhile."""
        self._stop = grace
        until = time.monotonic() + 6 * grace
        while time.monotonic() < until and not self._has_stopped:
            self.poll(STATUS_INTERVAL)

    def close(self) -> None:
        """End the actors."""
        for actor in [*self._shards, self._coordinator]:
            if actor is not None:
                self._ray.kill(actor, no_restart=True)


def _not_here(what: str) -> UsageError:
    return UsageError(
        f"a crawl on a cluster cannot {what} while it runs", hint="stop it, change its settings, and continue"
    )

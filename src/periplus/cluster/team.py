"""The shards of a crawl as actors, for the command that runs it: the `Team` of a cluster.

It begins the actors, asks the coordinator how all are doing, and tells it when to stop. Nothing passes through here but
that, and what somebody tells us of from outside. When this process dies, Ray ends its actors; everything is kept.
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

from periplus.crawl.local import Gather, MakeShard
from periplus.crawl.local.messages import STATUS_EVERY
from periplus.crawl.placement import owner_of
from periplus.crawl.shard import Status
from periplus.model import CollectionError, CollectionInUse, Discovery, UsageError
from periplus.urls import site_of

from .actors import COORDINATOR, CoordinatorActor, Plan, ShardActor, shard_name
from .connection import LOCAL, connected, processors
from .inbox import News
from .memory import claim
from .words import Standing

PATIENCE = 60.0
"""Seconds until the names of a run that was killed are free, at most."""
SILENCE = 180.0
"""Seconds without a word from the coordinator until the crawl is given up. Ray takes more than a minute to notice that
a node says nothing any more, and only then begins another."""
_CALL = 5.0
_QUITE_A_WHILE = 20.0
"""Seconds after which a shard that has not said a word is looked for."""

log = logging.getLogger(__name__)


@contextmanager
def gathered(address: str, memory: Path, shards: int, lease: float) -> Iterator[tuple[Gather, int]]:
    """Whoever brings shards together on the cluster at this address, and how many processors it has.

    On a cluster that is begun here (`local`) shards share what processors there are.
    """
    with connected(address, shards) as ray:
        needs = 0 if address == LOCAL else 1

        def gather(make: MakeShard, workers: int, limit: int | None) -> RayTeam:
            return RayTeam(ray, make, workers, limit, memory=memory, lease=lease, needs=needs)

        yield gather, processors(ray)


class RayTeam:
    """All shards, as actors. `memory`: what the coordinator keeps, at a path that every node has.

    Each shard `needs` so many processors.
    """

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
        room = f"periplus-{sha256(str(memory).encode()).hexdigest()[:16]}"
        self._plan = Plan(make, workers, room, uuid4().hex, memory, lease, limit)
        self._coordinator: Any = None
        self._shards: list[Any] = []
        self._standing: Standing | None = None
        self._heard_at = time.monotonic()
        self._stop: float | None = None
        self._news: list[deque[News]] = [deque() for _ in range(workers)]
        self._last_news = 0
        self._told = [0] * workers
        self._tell_again_at = [0.0] * workers
        self._statuses: dict[int, Status] = {}
        self._epochs = [0] * workers
        self._begun_at = time.monotonic()
        self._asked: dict[int, Any] = {}

    def start(self, seeds: Sequence[Discovery]) -> None:
        """Begin every shard; each gets the seeds that are its own."""
        plan = self._plan
        available = processors(self._ray)
        if available < plan.shards * self._needs:
            raise UsageError(
                f"the cluster has {available} processors, and each of the {plan.shards} shards needs one",
                hint="add nodes, or name fewer --workers for a new collection",
            )
        self._coordinator = self._begun(CoordinatorActor, COORDINATOR, 0, plan)
        claim(plan.memory, plan.run, plan.shards)  # who has the name, has the collection
        own: list[list[Discovery]] = [[] for _ in range(plan.shards)]
        for seed in seeds:
            own[owner_of(site_of(seed.url), plan.shards)].append(seed)
        for number in range(plan.shards):
            self._shards.append(
                self._begun(ShardActor, shard_name(number), self._needs, plan, number, tuple(own[number]))
            )
        self._heard_at = self._begun_at = time.monotonic()

    def _begun(self, actor: type, name: str, cpus: int, *arguments: object) -> Any:
        options = {
            "name": name,
            "namespace": self._plan.room,
            "num_cpus": cpus,
            "max_restarts": -1,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self._ray.remote(actor).options(**options).remote(*arguments)
            except ValueError as error:  # the name is taken; by a run that was killed, for a moment
                if time.monotonic() > until:
                    raise CollectionInUse(
                        "a crawl of this collection runs on the cluster", hint="wait until it ends, or stop it"
                    ) from error
                time.sleep(1.0)

    # turns

    def turn(self, patience: float) -> None:
        """Wait a little, and hear how all are doing."""
        time.sleep(patience)
        self._hear()
        standing = self._standing
        if standing is not None and standing.trouble is not None and not self._has_stopped:
            error = CollectionError(standing.trouble.message, hint=standing.trouble.hint)
            error.exit_code = standing.trouble.exit_code
            raise error
        if standing is not None:
            self._statuses |= {status.shard: status for status in standing.statuses}
            for number, epoch in enumerate(standing.epochs):
                self._note(number, epoch)
                self._tell(number, standing.told[number])
        if time.monotonic() > self._begun_at + _QUITE_A_WHILE:
            self._look_for_the_missing()

    def _note(self, number: int, epoch: int) -> None:
        """Say when a shard was lost."""
        if 0 < self._epochs[number] < epoch:
            log.warning("shard %d was lost and has begun again", number)
        if number in self._statuses:  # epochs are of all runs; it has spoken in this one
            self._epochs[number] = epoch

    def _look_for_the_missing(self) -> None:
        """Shards that have not said a word: those who wait for a processor, and those who cannot begin at all."""
        for number in range(self._plan.shards):
            if number in self._statuses or number in self._asked:
                continue
            call = self._asked[number] = self._shards[number].process.remote()
            ready, _ = self._ray.wait([call], timeout=1.0)
            try:
                if not ready:
                    log.warning("shard %d waits for a processor: ray status says which are free", number)
                else:
                    self._ray.get(call)
            except self._ray.exceptions.RayActorError as error:
                raise CollectionError(
                    f"shard {number} cannot begin: {error}",
                    hint="every node must have the same Python and the same Periplus, with its extra ray",
                ) from error

    def _hear(self) -> None:
        failures = self._ray.exceptions
        try:
            self._standing = self._ray.get(self._coordinator.standing.remote(self._stop), timeout=_CALL)
            self._heard_at = time.monotonic()
        except (failures.RayError, TimeoutError) as error:
            if time.monotonic() > self._heard_at + SILENCE:
                raise CollectionError(
                    "the coordinator of the crawl does not come back",
                    hint="ray status says how the cluster is; the same command continues",
                ) from error

    def tell(self, discoveries: Sequence[Discovery]) -> None:
        """Let each shard know of what is its own; one that is begun again is told again."""
        own: dict[int, list[Discovery]] = {}
        for discovery in discoveries:
            own.setdefault(owner_of(site_of(discovery.url), self._plan.shards), []).append(discovery)
        self._last_news += 1
        for number, some in own.items():
            self._news[number].append(News(self._last_news, tuple(some)))

    def _tell(self, number: int, kept: int) -> None:
        """Tell a shard what it has not kept yet, in order, and now and then again until it has."""
        news, now = self._news[number], time.monotonic()
        while news and news[0].number <= kept:
            news.popleft()
        if not news or (now < self._tell_again_at[number] and news[-1].number <= self._told[number]):
            return
        self._tell_again_at[number], self._told[number] = now + _CALL, news[-1].number
        for each in news:
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(self._shards[number].hear.remote(each), timeout=_CALL)

    # the end

    @property
    def is_finished(self) -> bool:
        """Whether all is done, also what was told of."""
        standing = self._standing
        if standing is None or not standing.is_finished:
            return False
        return not any(self._news)

    def statuses(self) -> list[Status]:
        """The last word of each, also of those who are away."""
        return [self._statuses[number] for number in sorted(self._statuses)]

    @property
    def _has_stopped(self) -> bool:
        return self._standing is not None and self._standing.are_stopped

    def stop(self, grace: float) -> None:
        """Let every shard end what is under way and make everything durable; one that dies meanwhile, too."""
        self._stop = grace
        until = time.monotonic() + 6 * grace
        while time.monotonic() < until and not self._has_stopped:
            self.turn(STATUS_EVERY)

    def close(self) -> None:
        """Let go of the actors."""
        for actor in [*self._shards, self._coordinator]:
            if actor is not None:
                self._ray.kill(actor, no_restart=True)

"""What every transport promises: the same reports lead to the same orders, and to the same end.

Shards are played here: by a seeded generator they fetch, send batches, claim addresses, bid for visits, and die. The
same seed drives them twice: over the pipes of a `ProcessTeam`, and against the coordinator's actor, called without Ray.
What a shard does next depends on its orders, so that after one decision that differs all later ones differ, too.
"""

from __future__ import annotations

from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any, Protocol, cast

import msgspec
import pytest

from periplus.engine.frontier import AddressClaims
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.messages import Orders, StatusReport
from periplus.engine.sharding.processes import ProcessTeam
from periplus.engine.stats import CrawlStats
from periplus.model import Bid, CollectionError
from periplus_ray.actors import CoordinatorActor, Plan
from periplus_ray.leases import claim
from periplus_ray.links import Lease

SHARDS = 3
STEPS = 600
ADDRESSES = 4
WHOLE = 3000.0


class Transport(Protocol):
    """Carries a report to the coordinator, and its orders back."""

    def start(self, number: int) -> Orders:
        """A worker starts; the last one has ended."""

    def report(self, report: StatusReport) -> Orders:
        """A shard reports; the orders that it has then."""

    @property
    def is_finished(self) -> bool: ...


class EndedProcess:
    """In the place of a worker process."""

    def join(self, _timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool:
        return False


class Pipes(ProcessTeam):
    """The team of processes, whose workers are here."""

    def __init__(self, limit: int | None) -> None:
        super().__init__(cast("Any", None), SHARDS, limit)
        self.ends: dict[int, Connection] = {}
        self.last: dict[int, Orders] = {}
        super().start([])

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess]:
        here, self.ends[number] = Pipe()
        return here, cast("BaseProcess", EndedProcess())

    def start(self, number: int) -> Orders:  # type: ignore[override]
        if number in self.last:
            self.ends[number].close()
            self.poll(0.0)
        return self._received(number)

    def report(self, report: StatusReport) -> Orders:
        self.ends[report.status.shard].send(report)
        self.poll(0.0)
        return self._received(report.status.shard)

    def _received(self, number: int) -> Orders:
        """What holds until other orders arrive; shares are in the message that brings them only."""
        if number in self.last:
            self.last[number] = msgspec.structs.replace(self.last[number], shares=None)
        while self.ends[number].poll(0):
            message = self.ends[number].recv()
            assert isinstance(message, Orders)
            self.last[number] = message
        return self.last[number]


class Actor:
    """The coordinator's actor with its memory. Leases last no time, so that a shard can be started at once."""

    def __init__(self, folder: Path, limit: int | None) -> None:
        plan = Plan(cast("Any", None), SHARDS, "namespace", "run", folder / "coordinator.json", 0.0, limit)
        claim(plan.memory, plan.run, plan.shards)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("periplus_ray.actors.time.time_ns", lambda: 0)  # as the team of processes counts
            self.actor = CoordinatorActor(plan)
        self.epochs: dict[int, int] = {}

    def start(self, number: int) -> Orders:
        lease = self.actor.begin(number, Build.own())
        assert isinstance(lease, Lease)
        self.epochs[number] = lease.epoch
        renewal = self.actor.report(number, lease.epoch, None)
        assert renewal is not None
        return renewal.orders

    def report(self, report: StatusReport) -> Orders:
        number = report.status.shard
        renewal = self.actor.report(number, self.epochs[number], report)
        assert renewal is not None
        return renewal.orders

    @property
    def is_finished(self) -> bool:
        return self.actor.overview(None).is_finished


class PlayedShard:
    """What a shard has, and what it loses when its worker dies."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.queued, self.done = 5 * (number + 1), 0
        self.sent: dict[int, int] = {}
        self.acknowledged: dict[int, int] = {}
        self.taken: dict[int, int] = {}
        self.starts()

    def starts(self) -> None:
        self.claims = AddressClaims(SHARDS)
        self.at: set[int] = set()
        self.orders, self.pages = 0, cast("int | None", 0)
        self.visits_per_day = WHOLE / SHARDS

    def applies(self, orders: Orders) -> None:
        self.orders, self.pages = orders.number, orders.pages
        if orders.visits_per_day is not None:
            self.visits_per_day = orders.visits_per_day
        if orders.shares is not None:
            self.claims.update(orders.shares)

    def fetches(self, most: int) -> None:
        room = self.queued if self.pages is None else max(self.pages - self.done, 0)
        fetched = min(self.queued, room, most)
        self.queued, self.done = self.queued - fetched, self.done + fetched

    def moves(self, address: int) -> None:
        (self.claims.leave if address in self.at else self.claims.enter)(address)
        self.at ^= {address}

    def report(self, at: float) -> StatusReport:
        is_satisfied = self.pages is not None and self.done >= self.pages
        is_idle, is_quiet = is_satisfied or not self.queued, self.sent == self.acknowledged
        numbers = (dict(self.sent), dict(self.taken)) if is_idle and is_quiet else ({}, {})
        bid = Bid(at, WHOLE, self.visits_per_day, 1.0 + self.number, 1.0 + self.number, 100, 0)
        status = ShardStatus(
            self.number,
            msgspec.structs.replace(FrontierStats(0, 0, 0, 0, 0, 0, 0, self.done), queued=self.queued),
            CrawlStats(),
            is_idle,
            is_quiet,
            sent=numbers[0],
            taken=numbers[1],
            bid=bid,
            claims=self.claims.report(),
        )
        return StatusReport(status, self.orders)


class Played:
    """A crawl whose every step is drawn from a seed."""

    def __init__(self, transport: Transport, seed: int, limit: int | None) -> None:
        self.transport, self.limit = transport, limit
        self.random, self.now = Random(seed), 1.7e9
        self.shards = [PlayedShard(number) for number in range(SHARDS)]
        self.under_way: list[tuple[int, int]] = []
        self.decisions: list[object] = [self.start(shard) for shard in self.shards]

    def start(self, shard: PlayedShard) -> object:
        shard.starts()
        orders = self.transport.start(shard.number)
        shard.applies(orders)
        return orders

    def step(self) -> None:
        shard, what = self.random.choice(self.shards), self.random.random()
        if what < 0.02 and not self.transport.is_finished:
            self.decisions.append(self.start(shard))
        elif what < 0.15:
            shard.moves(self.random.randrange(ADDRESSES))
        elif what < 0.25:
            self.sends(shard, self.random.choice([other for other in self.shards if other is not shard]))
        elif what < 0.35:
            self.takes()
        elif what < 0.55:
            shard.fetches(self.random.randint(1, 6))
        else:
            self.reports(shard)

    def sends(self, sender: PlayedShard, receiver: PlayedShard) -> None:
        """A batch leaves a shard that has something to do."""
        if sender.queued:
            sender.sent[receiver.number] = sender.sent.get(receiver.number, 0) + 1
            self.under_way.append((sender.number, receiver.number))

    def takes(self) -> None:
        """The oldest batch arrives, is committed, and is acknowledged."""
        if self.under_way:
            sender, receiver = (self.shards[number] for number in self.under_way.pop(0))
            receiver.taken[sender.number] = receiver.taken.get(sender.number, 0) + 1
            sender.acknowledged[receiver.number] = receiver.taken[sender.number]
            receiver.queued += 3

    def reports(self, shard: PlayedShard) -> None:
        self.now += 3600.0
        orders = self.transport.report(shard.report(self.now))
        shard.applies(orders)
        self.decisions.append((shard.number, orders, self.transport.is_finished))
        assert self.limit is None or sum(each.done for each in self.shards) <= self.limit
        assert not self.transport.is_finished or self.is_done

    def come_to_the_end(self) -> None:
        for _ in range(200):
            self.takes()
            for shard in self.shards:
                shard.fetches(50)
                self.reports(shard)
            if self.transport.is_finished:
                return

    @property
    def has_decided_everything(self) -> bool:
        """Whether there was a decision of every kind, so that the comparison means something."""
        orders = [decision[1] for decision in self.decisions if isinstance(decision, tuple)]
        shares = {share for each in orders if each.shares is not None for _, share in each.shares.shares}
        budgets = {each.visits_per_day for each in orders}
        pages = {each.pages for each in orders}
        return shares == {1, 2, 3} and len(budgets) > SHARDS and (self.limit is None or len(pages) > SHARDS)

    @property
    def is_done(self) -> bool:
        if self.limit is not None and sum(shard.done for shard in self.shards) >= self.limit:
            return True
        return not self.under_way and not any(shard.queued for shard in self.shards)


@pytest.mark.parametrize("limit", [None, 40, 100_000])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_the_same_reports_lead_to_the_same_decisions(tmp_path: Path, seed: int, limit: int | None) -> None:
    """Page budgets, visit budgets, address shares, and the end; also where shards die."""
    pipes, actor = Pipes(limit), Actor(tmp_path, limit)
    try:
        first, second = Played(pipes, seed, limit), Played(actor, seed, limit)
        for _ in range(STEPS):
            first.step()
            second.step()
            assert first.decisions[-1] == second.decisions[-1]
        first.come_to_the_end()
        second.come_to_the_end()
        assert first.decisions == second.decisions
        assert pipes.is_finished
        assert actor.is_finished
        assert first.has_decided_everything
    finally:
        pipes.close()


def test_a_worker_process_that_only_dies_ends_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    """After as many starts as an actor has, with the same failure."""
    monkeypatch.setattr("periplus.engine.sharding.coordinator.MAX_STARTS", 3)
    pipes = Pipes(None)
    try:
        for _ in range(2):
            pipes.ends[0].close()
            pipes.poll(0.0)
        pipes.ends[0].close()
        with pytest.raises(CollectionError, match="shard 0 died 3 times in a row"):
            pipes.poll(0.0)
    finally:
        pipes.close()


def test_an_actor_that_only_dies_ends_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After as many starts as a process has, with the same failure."""
    monkeypatch.setattr("periplus.engine.sharding.coordinator.MAX_STARTS", 3)
    actor = Actor(tmp_path, None)
    for _ in range(3):
        actor.start(0)
    assert actor.actor.begin(0, Build.own()) is None
    failure = actor.actor.overview(None).failure
    assert failure is not None
    assert "shard 0 died 3 times in a row" in failure.message

"""A crawl of several shards whose processes and machine die, with messages between them that are late or come twice.

Shards, their workers and the coordinator are those that ship; they run in this process and send their messages through
pipes in virtual time. Each shard has a clock of its own, as on several machines. A killed shard leaves its files as
they are, and the coordinator starts it again; a loss of power ends all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from tests.faults.disk import Crashed, Disk, Fault
from tests.faults.simulation import JUMPS, REBOOT, WORLDS, Process, Simulation, check_ends, plan_of
from tests.faults.web import Broken, Clock, Key, Servers, TrueTime
from tests.small_index import small_index

from periplus.engine.shard import Shard
from periplus.engine.sharding.messages import Delivery
from periplus.engine.sharding.processes import ProcessTeam
from periplus.engine.sharding.worker import ShardWorker
from periplus.model import Discovery, Source

MAX_ROUNDS: Final = 6_000
"""Rounds after which a crawl that has not ended never will."""


class Pipe:
    """One direction of a connection: in order, some messages late, deliveries sometimes twice."""

    def __init__(self, true: TrueTime, chance: Random) -> None:
        self._true, self._chance = true, chance
        self._messages: deque[tuple[float, Any]] = deque()
        self.is_closed = False

    def send(self, message: Any) -> None:
        if self.is_closed:
            raise BrokenPipeError
        at = self._true.at + self._chance.choice((0.0, 0.0, 0.0, 0.5, 5.0))
        last = self._messages[-1][0] if self._messages else at
        for _ in range(2 if isinstance(message, Delivery) and self._chance.random() < 0.1 else 1):
            self._messages.append((max(at, last), message))

    def poll(self) -> bool:
        is_there = bool(self._messages) and self._messages[0][0] <= self._true.at
        return is_there or (self.is_closed and not self._messages)

    def recv(self) -> Any:
        if not self._messages:
            raise EOFError
        return self._messages.popleft()[1]


class End:
    """One end of a connection."""

    def __init__(self, incoming: Pipe, outgoing: Pipe) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, message: Any) -> None:
        self._outgoing.send(message)

    def recv(self) -> Any:
        return self._incoming.recv()

    def poll(self, _timeout: float = 0.0) -> bool:
        return self._incoming.poll()

    def close(self) -> None:
        self._incoming.is_closed = self._outgoing.is_closed = True


class NoProcess:
    """In place of a process: the shard lives in this one."""

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool:
        return False


class Worker:
    """A shard with its process, and its end of the pipe."""

    def __init__(self, process: Process, seeds: Sequence[Discovery], end: End) -> None:
        self.process, self.end = process, end
        self.shard = Shard(process.number, process.engine)
        self.worker = ShardWorker(self.shard, seeds, end.send)

    def turn(self) -> None:
        while self.end.poll():
            self.worker.handle(self.end.recv())
        self.shard.step(5.0)
        self.worker.post_output()
        self.worker.post_status()


class Team(ProcessTeam):
    """The coordinator, with shards in this process."""

    def __init__(self, run: ShardedSimulation, workers: int) -> None:
        super().__init__(cast("Any", None), workers, None)
        self._run = run

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess]:
        down, up = (Pipe(self._run.true, self._run.chance) for _ in range(2))
        self._run.begin(number, self._seeds[number], End(down, up))
        return cast("Connection", End(up, down)), cast("BaseProcess", NoProcess())

    def poll(self, timeout: float) -> None:
        for worker in self._workers:
            if worker.connection is not None:
                self._read(worker)

    def forgive(self) -> None:
        """Deaths that a test has ordered do not count."""
        for shard in self._coordinator._shards:
            shard.starts = 0


class ShardedSimulation(Simulation):
    """Shards die one by one, and all together."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(plan_of(seed), folder)
        self.count = self.chance.randint(2, 3)
        self.servers = Servers(self.world, self.plan.config.politeness, shards=self.count)
        self.workers: dict[int, Worker] = {}
        self._killed: dict[int, set[Key]] = {}  # of shards that have not recovered from a kill, what is durable
        self._root = folder / "life"

    def run(self) -> None:  # type: ignore[override]
        """Live all lives of the machine, the last one without faults."""
        for _ in range(self.plan.lives):
            self._run_machine(Fault("power", self.chance.randint(1, 1500)))
        self._run_machine(Fault())

    def begin(self, number: int, seeds: Sequence[Discovery], end: End) -> None:
        """A process for a shard starts."""
        clock = Clock(self.true, self.chance.choice(JUMPS))
        self.story.append(f"  shard {number} starts, clock {clock.offset:+.0f} s")
        process = Process(self, self._root, clock, number, self.count)
        self._begun.append(process)
        process.follow_commits(self.disk)
        process.engine.recover()
        self.check_recovered(process)
        self._killed.pop(number, None)
        self.workers[number] = Worker(process, seeds, end)

    def _run_machine(self, fault: Fault) -> None:
        self.story.append(f"the machine starts: {fault}, true time {self.true.at:.2f}")
        self.disk = disk = Disk(self._root, self.chance)
        disk.fault = fault
        self._begun: list[Process] = []
        self.workers.clear()
        with disk.installed(), small_index():
            try:
                self._crawl_together()
            except Crashed:
                self.story.append(f"  crashed at operation {disk.operations}: {disk.did[-1]}")
        if disk.image is not None:
            self._lose_power(disk.image)

    def _lose_power(self, image: Path) -> None:
        self.required |= self._killed  # what a killed process had logged is lost if no other has committed it
        self._killed.clear()
        for process in self._begun:
            self.must_keep(process, process.durable)
            process.abandon()
        self._begun.clear()
        self.servers.disconnected(self.true.at, is_all_known=False)
        self.true.at += REBOOT
        image.rename(self._root.with_name("next"))
        self._root.rename(self._root.with_name(f"gone{len(self.story)}"))
        self._root.with_name("next").rename(self._root)

    def _crawl_together(self) -> None:
        self.team = team = Team(self, self.count)
        team.start([Discovery(seed, Source.SEED, self.true.at) for seed in self.seeds])
        for number in range(MAX_ROUNDS):
            for worker in list(self.workers.values()):
                worker.turn()
            team.poll(0.0)
            self.true.at += 0.1
            if self.disk.fault.kind and self.workers and self.chance.random() < 0.02:
                self._kill(self.chance.choice(list(self.workers)), team)
            if team.is_finished:
                break
            if number % 64 == 0:
                for worker in self.workers.values():
                    worker.process.machine.check_invariants()
        else:
            raise Broken("the crawl does not end")
        self.story.append(f"  ended in order after {self.disk.operations} operations")
        for worker in self.workers.values():
            worker.shard.stop(5.0)
            self.check_end(worker.process)
            worker.shard.close()
            self._begun.remove(worker.process)

    def _kill(self, number: int, team: Team) -> None:
        """Kill one shard; what it had not read of its messages is lost."""
        worker = self.workers.pop(number)
        self.story.append(f"  shard {number} is killed")
        self._begun.remove(worker.process)
        worker.process.abandon()
        self.must_keep(worker.process, worker.process.applied)
        self._killed[number] = worker.process.durable
        self.servers.disconnected(self.true.at, is_all_known=True, shard=number)
        team.forgive()
        worker.end.close()
        team.poll(0.0)


def run_shards(seed: int, folder: Path) -> list[str]:
    """Run a seed; raises `Broken`, or what the crawl raised, where something does not hold. What happened in it."""
    simulation = ShardedSimulation(seed, folder)
    try:
        simulation.run()
        check_ends(simulation, seed % WORLDS, folder / "expected")
    except Exception as error:
        error.add_note("\n".join(simulation.story))
        raise
    return simulation.story

"""Machines are lost with their disks, and others go on from the copies of their states."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.faults.disk import Disk, Fault
from tests.faults.replicas import ReplicaSimulation, run_replicas
from tests.faults.simulation import Process, plan_of
from tests.faults.web import Clock, Key

from periplus.model import Discovery, Source


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3_000, 3_020))
def test_a_lost_machine_takes_nothing_with_it(tmp_path: Path, seed: int) -> None:
    """But what it had not committed. To see one: `python -m tests.faults.soak --replicas --seed N`."""
    run_replicas(seed, tmp_path)


def test_a_machine_may_be_lost_at_any_operation_of_a_commit(tmp_path: Path) -> None:
    """Before each the collection is photographed, without what is not synced; another machine opens each photograph."""
    simulation = ReplicaSimulation(2, tmp_path)
    simulation.plan = replace(plan_of(2, is_faulty=False), lives=0)
    disk = Disk(tmp_path / "life", Random(1))
    disk.fault = Fault("power", lies_from=1 << 40)
    photographs: list[tuple[Path, set[Key]]] = []

    def photograph() -> None:
        photographs.append((tmp_path / f"photograph-{len(photographs)}", set(process.durable)))
        disk.materialise(photographs[-1][0])

    with disk.installed():
        process = Process(simulation, disk.root, Clock(simulation.true, 0.0))
        process.follow_commits(disk)
        process.engine.recover()
        process.engine.discover([Discovery(seed, Source.SEED, simulation.true.at) for seed in simulation.seeds])
        while len(process.applied) < 6:
            process.engine.step(60.0)
        disk.before_each = photograph
        process.engine.checkpoint()
        photograph()
        disk.before_each = lambda: None
    process.abandon()
    assert photographs[-1][1] > photographs[0][1]
    for number, (image, durable) in enumerate([*photographs[:-1:4], photographs[-1]]):
        simulation.required, simulation.node = {0: durable}, tmp_path / f"other-{number}"
        again = Process(simulation, image, Clock(simulation.true, 0.0))
        again.engine.recover()
        simulation.check_recovered(again)
        again.abandon()

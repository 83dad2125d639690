"""A crawl whose state lies on the disk of its machine, with a copy in the collection; machines are lost.

The collection is on the simulated disk: what a machine had not synced there is gone when it is lost. The next life has
the disk of the machine as it was, or that of another machine, which is empty: then the copy is all there is. What must
hold is what must hold for a state in the collection (`simulation`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, cast

from tests.faults.disk import Fault
from tests.faults.simulation import WORLDS, Process, Simulation, check_ends, plan_of

from periplus.store import Replica

SMALL: Final = 4_000
"""Bytes of deltas after which a new image is written: a few commits."""


class AtOnce:
    """In place of a thread that writes images: it does so before it returns, at the same operation in every run."""

    def submit(self, write: Callable[[], None]) -> Future[None]:
        done: Future[None] = Future()
        try:
            write()
            done.set_result(None)
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, wait: bool = True) -> None: ...


class ReplicaSimulation(Simulation):
    """Lives on several machines. `lost` counts those that took their disks with them."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(plan_of(seed), folder)
        self.lost = 0
        self._epoch = 0
        self._scratch = 0

    def replica_of(self, home: Path) -> Replica:
        self._epoch += 1
        replica = Replica(home, epoch=self._epoch, smallest_fold=SMALL)
        replica._folder = cast("ThreadPoolExecutor", AtOnce())
        return replica

    def _next_folder(self, folder: Path, processes: list[Process]) -> Path:
        if self.disk.fault.kind in ("power", "eio", "enospc", "") and self.chance.random() < 0.7:
            self.disk.fault.kind = "power"
            self.lost += 1
            left = super()._next_folder(folder, processes)
            self.node = self._folder / f"node-{self.lost}"
            self.story.append("  the machine is lost with its disk")
            return left
        return super()._next_folder(folder, processes)

    def _replayed(self, image: Path | None) -> dict[str, Any]:
        """What is compared is made from the copy alone."""
        node, self._scratch = self.node, self._scratch + 1
        self.node = self._folder / f"scratch-{self._scratch}"
        try:
            return super()._replayed(image)
        finally:
            self.node = node

    def _fault(self) -> Fault:
        fault = super()._fault()
        fault.kind = self.chance.choice((fault.kind, "power"))
        return fault


def run_replicas(seed: int, folder: Path) -> ReplicaSimulation:
    """Run a seed; raises `Broken`, or what the crawl raised, where something does not hold."""
    simulation = ReplicaSimulation(seed, folder)
    try:
        simulation.run()
        check_ends(simulation, seed % WORLDS, folder / "expected")
    except Exception as error:
        error.add_note("\n".join(simulation.story))
        raise
    return simulation

"""The crawl of `bench.politeness` as processes of its own, which are killed at random moments and started again.

The crawl runs in a session of its own: its processes are found by their session, to kill them and to measure them. A
kill ends all of them, or the one that runs the crawl, or one worker.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Final

from msgspec import Struct

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.model import Url

KINDS: Final = ("all", "all", "coordinator", "worker")
"""Which processes a kill ends; all of them half of the time."""
ORPHANS: Final = 120.0
"""Seconds for workers to end by themselves after the process that ran the crawl was killed."""
STARTING: Final = 30.0
"""Seconds that a crawl needs to start on a busy machine: the mean time to a kill counts from then on."""
REPORT_EVERY: Final = 1.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Plan(Struct, frozen=True):
    """What is crawled."""

    folder: str
    options: dict[str, Any]
    seeds: tuple[str, ...]
    workers: int


def crawl(plan: Plan, connection: Connection) -> None:
    """Crawl or continue in this process, and send the pages fetched so far; ends early when the connection does."""
    os.setsid()
    folder = Path(plan.folder)
    seeds = [Url(seed) for seed in plan.seeds]
    config = Config().with_options(plan.options)
    config.check()
    running = open_crawl(config, folder, seeds, plan.workers)

    def stop(_number: int, _frame: FrameType | None) -> None:
        running.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    last = 0.0
    for statuses in running.progress():
        if time.monotonic() < last + REPORT_EVERY:
            continue
        last = time.monotonic()
        try:
            connection.send(sum(status.frontier.done for status in statuses))
        except OSError:
            running.stop()
    settle(folder)


class Measured(Struct, frozen=True):
    """A process of the crawl: its parent, its CPU seconds and the bytes of its memory that no file backs."""

    pid: int
    parent: int
    began: int
    cpu: float
    memory: int


class Lives:
    """The crawl's processes, over several starts. `kills` counts them by kind."""

    def __init__(self, plan: Plan, kill_every: float, seed: int) -> None:
        """`kill_every`: mean seconds between a start and a kill; 0: never."""
        self._plan, self._every, self._chance = plan, kill_every, Random(seed)
        self._context = multiprocessing.get_context("spawn")
        self._cpu: dict[tuple[int, int], float] = {}
        self._is_stopping = False
        self.kills = dict.fromkeys(KINDS, 0)
        self.pages = 0
        self.memory, self.most_memory = 0, 0
        self._start()

    def _start(self) -> None:
        self._connection, there = self._context.Pipe()
        self._process = self._context.Process(target=crawl, args=(self._plan, there))
        self._process.start()
        there.close()
        self._draw()

    def _draw(self) -> None:
        wait = self._chance.uniform(0.0, 2.0 * (STARTING + self._every)) if self._every else float("inf")
        self._kill_at = time.monotonic() + wait

    def kill_if_due(self, look: Callable[[], object]) -> bool:
        """Kill processes of the crawl when it is time, and `look` while none of the others runs; whether this was done.

        Workers whose crawl was killed end by themselves, before anybody looks.
        """
        if time.monotonic() < self._kill_at or self._is_stopping or not self.is_running:
            return False
        kind = self._chance.choice(KINDS)
        group = self.measure()
        leader = self._process.pid or 0
        own = {one.pid for one in group}
        workers = [one.pid for one in group if one.parent in own and one.parent != leader]
        if kind == "worker" and not workers:
            return False
        chosen = own if kind == "all" else {leader} if kind == "coordinator" else {self._chance.choice(workers)}
        others = own - chosen
        if kind == "worker":
            _send(signal.SIGSTOP, others)
        _send(signal.SIGKILL, chosen)
        self._await_end(chosen if kind == "worker" else own)
        look()
        _send(signal.SIGCONT, others)
        self.kills[kind] += 1
        if kind == "worker":
            self._draw()
        return True

    def _await_end(self, pids: set[int]) -> None:
        """Wait until processes have ended; those that take too long are killed."""
        until = time.monotonic() + ORPHANS
        while left := pids & {one.pid for one in self.measure()}:
            if time.monotonic() > until:
                _send(signal.SIGKILL, left)
            time.sleep(0.05)

    def revive(self) -> None:
        """Start the crawl again where the process that ran it was killed."""
        if self._process.exitcode == -signal.SIGKILL and not self._is_stopping:
            self._connection.close()
            self._start()

    def stop(self) -> None:
        """Make the crawl end, with everything kept."""
        self._is_stopping = True
        if self.is_running:
            self._process.terminate()

    @property
    def is_running(self) -> bool:
        """Whether the process that runs the crawl is alive."""
        return self._process.is_alive()

    @property
    def exit_code(self) -> int:
        """How the crawl ended."""
        self._process.join()
        return self._process.exitcode or 0

    def wait(self, seconds: float) -> None:
        """Wait for the crawl's reports."""
        until = time.monotonic() + seconds
        with suppress(EOFError, OSError):
            while self._connection.poll(max(until - time.monotonic(), 0.0)):
                self.pages = self._connection.recv()
        time.sleep(max(until - time.monotonic(), 0.0))

    def measure(self) -> list[Measured]:
        """The processes of the crawl now; their CPU time and memory are added to what was measured before."""
        found = []
        for entry in os.scandir("/proc"):
            if entry.name.isdecimal():
                with suppress(OSError, ValueError, IndexError):
                    one = _measured(Path(entry), self._process.pid or 0)
                    found += [one] if one is not None else []
        self._cpu.update({(one.pid, one.began): one.cpu for one in found})
        self.memory = sum(one.memory for one in found)
        self.most_memory = max(self.most_memory, self.memory)
        return found

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes so far, as measured."""
        return sum(self._cpu.values())


def _send(number: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _measured(process: Path, session: int) -> Measured | None:
    # The name in brackets may contain spaces; what follows the last bracket is numbers.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    if int(fields[3]) != session:
        return None
    memory = (process / "smaps_rollup").read_text().splitlines()
    anonymous = next(int(line.split()[1]) for line in memory if line.startswith("Anonymous:"))
    cpu = (int(fields[11]) + int(fields[12])) / _TICKS
    return Measured(int(process.name), int(fields[1]), int(fields[19]), cpu, 1024 * anonymous)

"""One contestant as the kernel sees it: pinned to a core, bounded in time, measured with every process it starts.

The bench makes itself the reaper of orphans (Linux, `PR_SET_CHILD_SUBREAPER`), so everything that a contestant starts
stays below the bench, also what leaves its group, as the actors of Ray do. CPU seconds come from `wait4` of each
process, so that the time of killed grandchildren is not lost. Memory is the sum over the processes of what `/proc`
says, several times a second, because `ru_maxrss` knows one process only and, across `exec`, still holds the size of
the parent it was forked from. Of that the anonymous part is told, too, with what processes share divided among them:
what is mapped from files is the kernel's cache, which it takes back when others need the memory.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_GLANCE = 0.2


class Glance(NamedTuple):
    """How far the processes that were there had come at some time."""

    at: float
    cpu_seconds: float
    anonymous: int


@dataclass(frozen=True)
class Run:
    """What one run took."""

    started_at: float
    ended_at: float
    cpu_seconds: float
    peak_bytes: int
    peak_anonymous: int
    """Bytes of memory that belong to no file, at their most: of all processes, what they share counted once."""
    glances: tuple[Glance, ...]
    status: int | None
    """What it ended with; None if it was cut at the bound."""

    def cpu_since(self, moment: float) -> float:
        """CPU seconds from a moment on: what came before it is start, and imports. As exact as glances are frequent."""
        place = bisect_right(self.glances, moment, key=lambda glance: glance.at)
        if not 0 < place < len(self.glances):
            return self.cpu_seconds
        before, after = self.glances[place - 1 : place + 1]
        share = (moment - before.at) / (after.at - before.at)
        return self.cpu_seconds - before.cpu_seconds - share * (after.cpu_seconds - before.cpu_seconds)

    def usual_anonymous(self, since: float) -> float:
        """Bytes of anonymous memory from a moment on: as much as half of the time, or more."""
        return median([glance.anonymous for glance in self.glances if glance.at > since] or [0])


def run(argv: list[str], *, seconds: float, folder: Path, core: int | None) -> Run:
    """Run `argv` in `folder` for at most `seconds`, output into `stdout` and `stderr` there."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    watched = _Watched()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        started_at = time.time()
        child = subprocess.Popen(
            [*pinned, *argv], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        ended = watched.watch(child.pid, started_at + seconds)
    ended_at = time.time()
    cpu, status = watched.end(child.pid)
    child.returncode = status  # it is waited for: subprocess must not try again
    most, glances = (watched.resident, watched.anonymous), tuple(watched.glances)
    return Run(started_at, ended_at, cpu, *most, glances, status if ended else None)


class _Process(NamedTuple):
    """A line of `/proc`: `numbers` are what follows the name in its `stat`."""

    pid: int
    parent: int
    numbers: list[str]


def _processes() -> Iterator[_Process]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                # The name in brackets may hold anything; what follows the last bracket is numbers.
                numbers = Path(entry, "stat").read_text().rpartition(")")[2].split()
                yield _Process(int(entry.name), int(numbers[1]), numbers)


class _Watched:
    """The most memory that a contestant's processes held, and how their CPU seconds grew.

    To be made before the contestant is started: what runs below the bench by then is not the contestant's.
    """

    def __init__(self) -> None:
        self.resident = self.anonymous = 0
        self.glances: list[Glance] = []
        self._others = {each.pid for each in _processes() if each.parent == os.getpid()}
        self._cpu, self._status = 0.0, 0

    def watch(self, leader: int, deadline: float) -> bool:
        """Whether the leader ended before the deadline."""
        while time.time() < deadline:
            self._look()
            if os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            time.sleep(max(0.0, min(_GLANCE, deadline - time.time())))
        return False

    def end(self, leader: int) -> tuple[float, int]:
        """Kill what still runs: CPU seconds of all processes, and the leader's exit code."""
        while found := self._found():
            for each in found:
                with suppress(ProcessLookupError):
                    os.kill(each.pid, signal.SIGKILL)
            for each in found:
                if each.parent == os.getpid():
                    self._reap(each.pid, leader)
        return self._cpu, self._status

    def _reap(self, pid: int, leader: int) -> None:
        with suppress(ChildProcessError):
            _, code, used = os.wait4(pid, 0)
            self._cpu += used.ru_utime + used.ru_stime
            if pid == leader:
                self._status = os.waitstatus_to_exitcode(code)

    def _found(self) -> list[_Process]:
        """All processes below the bench, but for those that were there before."""
        below: dict[int, list[_Process]] = {}
        for each in _processes():
            below.setdefault(each.parent, []).append(each)
        found = [each for each in below.get(os.getpid(), ()) if each.pid not in self._others]
        for each in found:  # grows on the way
            found += below.get(each.pid, ())
        return found

    def _look(self) -> None:
        resident = anonymous = ticks = 0
        for each in self._found():
            resident += int(each.numbers[21]) * _PAGE_BYTES
            # Those that were waited for are in it: an actor that has ended is no less of its crawl.
            ticks += sum(map(int, each.numbers[11:15]))
            anonymous += anonymous_memory(each.pid)
        self.resident, self.anonymous = max(self.resident, resident), max(self.anonymous, anonymous)
        self.glances.append(Glance(time.time(), ticks / _TICKS, anonymous))


def anonymous_memory(pid: int) -> int:
    """Bytes of memory that belong to no file, what is shared divided among its processes; 0 if it has ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss_Anon:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0

"""One contestant as the kernel sees it: pinned to a core, bounded in time, measured with every child it starts.

CPU seconds come from `wait4` of each process of its group: the bench makes itself the reaper of orphans (Linux,
`PR_SET_CHILD_SUBREAPER`), so that the time of killed grandchildren is not lost. Memory is the sum over the group of
what `/proc` says is resident, several times a second, because `ru_maxrss` knows one process only and, across `exec`,
still holds the size of the parent it was forked from. Of that the anonymous part is told, too: what is mapped from
files is the kernel's cache, which it takes back when others need the memory.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_GLANCE = 0.1


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
    """Bytes of memory that belong to no file, at their most."""
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
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        started_at = time.time()
        child = subprocess.Popen(
            [*pinned, *argv], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        watched = _Watched()
        ended = watched.watch(child.pid, started_at + seconds)
    ended_at = time.time()
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    cpu, status = _reap(child.pid)
    child.returncode = status  # it is waited for: subprocess must not try again
    most, glances = (watched.resident, watched.anonymous), tuple(watched.glances)
    return Run(started_at, ended_at, cpu, *most, glances, status if ended else None)


class _Watched:
    """The most memory that a group of processes held, and how its CPU seconds grew."""

    def __init__(self) -> None:
        self.resident = self.anonymous = 0
        self.glances: list[Glance] = []

    def watch(self, leader: int, deadline: float) -> bool:
        """Whether the leader of the group ended before the deadline."""
        while time.time() < deadline:
            self._look(leader)
            if os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            time.sleep(max(0.0, min(_GLANCE, deadline - time.time())))
        return False

    def _look(self, group: int) -> None:
        resident = anonymous = ticks = 0
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                # The name in brackets may hold anything; what follows the last bracket is numbers.
                fields = Path(entry, "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group:
                    resident += int(fields[21]) * _PAGE_BYTES
                    ticks += int(fields[11]) + int(fields[12])
                    anonymous += _anonymous(Path(entry, "status").read_text())
        self.resident, self.anonymous = max(self.resident, resident), max(self.anonymous, anonymous)
        self.glances.append(Glance(time.time(), ticks / _TICKS, anonymous))


def _anonymous(status: str) -> int:
    """Bytes; none of a process that has ended already."""
    said = status.partition("RssAnon:")[2].split()
    return int(said[0]) * 1024 if said else 0


def _reap(group: int) -> tuple[float, int]:
    """CPU seconds of the group's processes, and the leader's exit code."""
    cpu, status = 0.0, 0
    with suppress(ChildProcessError):
        while True:
            pid, code, used = os.wait4(-group, 0)
            cpu += used.ru_utime + used.ru_stime
            if pid == group:
                status = os.waitstatus_to_exitcode(code)
    return cpu, status

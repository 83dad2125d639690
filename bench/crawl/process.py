"""One contestant as the kernel sees it: pinned to a core, bounded in time, measured with every child it starts.

CPU seconds come from `wait4` of each process of its group: the bench makes itself the reaper of orphans (Linux,
`PR_SET_CHILD_SUBREAPER`), so that the time of killed grandchildren is not lost. Memory is the sum over the group of
what `/proc` says is resident, several times a second, because `ru_maxrss` knows one process only and, across `exec`,
still holds the size of the parent it was forked from.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_GLANCE = 0.2


@dataclass(frozen=True)
class Run:
    """What one run took."""

    started_at: float
    ended_at: float
    cpu_seconds: float
    peak_bytes: int
    status: int | None
    """What it ended with; None if it was cut at the bound."""


def run(argv: list[str], *, seconds: float, folder: Path, core: int | None) -> Run:
    """Run `argv` in `folder` for at most `seconds`, output into `stdout` and `stderr` there."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        started_at = time.time()
        child = subprocess.Popen(
            [*pinned, *argv], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        peak, ended = _watch(child.pid, started_at + seconds)
    ended_at = time.time()
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    cpu, status = _reap(child.pid)
    child.returncode = status  # it is waited for: subprocess must not try again
    return Run(started_at, ended_at, cpu, peak, status if ended else None)


def _watch(leader: int, deadline: float) -> tuple[int, bool]:
    """The most memory the group held, and whether its leader ended before the deadline."""
    peak = 0
    while time.time() < deadline:
        peak = max(peak, _resident(leader))
        if os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return peak, True
        time.sleep(max(0.0, min(_GLANCE, deadline - time.time())))
    return peak, False


def _resident(group: int) -> int:
    total = 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            # The name in brackets may hold anything; what follows the last bracket is numbers.
            fields = Path("/proc", entry.name, "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[21]) * _PAGE_BYTES
    return total


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

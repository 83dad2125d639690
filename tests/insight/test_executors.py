"""`insight.executors.ProcessExecutor`: its processes end with it, however it ends; Ctrl-C is not for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

PROGRAM = """
import os, signal, sys, time
from periplus.insight.executors import ProcessExecutor

def who(job, shared):
    if job:
        time.sleep(600)
    return os.getpid()

if __name__ == "__main__":
    executor = ProcessExecutor(2)
    found = executor.map(who, [0, 0, 1, 1], None)
    print(next(found), next(found), flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    found.close()
    os.kill(os.getpid(), signal.SIGINT)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc who is alive")
@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_no_worker_outlives_its_parent(tmp_path: Path, how: str) -> None:
    """Also in the middle of a job, and whichever process is asked to end."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert pids
        if how == "interrupted":
            process.send_signal(signal.SIGTERM)
    pause = Event()
    for _ in range(300):
        if not any(map(is_alive, pids)):
            return
        pause.wait(0.1)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    pytest.fail("processes are left behind")

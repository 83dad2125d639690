"""`insight.executors.ProcessExecutor`: its processes end with it, however it ends; Ctrl-C is not for them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import wait_until_gone

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
    wait_until_gone(pids)

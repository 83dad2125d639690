"""The program as people type it, in this process or in one of its own, and what it said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

PROGRAM = [sys.executable, "-c", "from periplus.cli import main; main()"]


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Said]


@contextmanager
def running(*args: str) -> Iterator[subprocess.Popen[str]]:
    """The program in a process of its own, with all its children; those left when the block ends are killed."""
    with subprocess.Popen(
        [*PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str], patience: float = 600.0) -> None:
    """Wait for what a process does, as long as it lives."""
    give_up = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < give_up, f"nothing happened for {patience:.0f} seconds"
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)

"""Whether processes have ended, for tests that start programs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PATIENCE: Final = 600.0
"""Seconds that a process may take to end on a busy machine."""


def is_alive(pid: int) -> bool:
    """Whether there is such a process that has not ended; one whose parent has not asked for its end has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids: Iterable[int]) -> None:
    """Wait until processes that got no signal have ended by themselves."""
    until = time.monotonic() + PATIENCE
    left = list(pids)
    while left and time.monotonic() < until:
        left = [pid for pid in left if is_alive(pid)]
        time.sleep(0.01)
    assert not left

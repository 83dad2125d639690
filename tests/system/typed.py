"""The program as people type it, in this process or in one of its own, and what it said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

PROGRAM = [sys.executable, "-c", "from periplus.cli import main; main()"]


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Said]

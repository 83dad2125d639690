"""The processes of a browser: which they are, what memory they take, and their end. By `/proc`, where there is one."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "--periplus-browser="
"""An argument that browsers do not know, by which ours are told apart."""
_PROFILE: Final = b"--user-data-dir="
_PROC: Final = Path("/proc")
_PAGE_SIZE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def processes_of(mark: str) -> list[int]:
    """The processes that were started with a mark, and all that they started."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    wanted = f"{MARK}{mark}".encode()
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            number = int(entry.name)
            with suppress(OSError, IndexError, ValueError):
                if wanted in (entry / "cmdline").read_bytes().split(b"\0"):
                    marked.add(number)
                parents[number] = int((entry / "stat").read_bytes().rpartition(b") ")[2].split()[1])
    found = set(marked)
    while True:
        more = {number for number, parent in parents.items() if parent in found} - found
        if not more:
            return sorted(found)
        found |= more


def memory_of(processes: list[int]) -> int:
    """Bytes in memory that these processes do not share with files, all together."""
    total = 0
    for number in processes:
        with suppress(OSError, IndexError, ValueError):
            resident, shared = map(int, (_PROC / str(number) / "statm").read_bytes().split()[1:3])
            total += (resident - shared) * _PAGE_SIZE
    return total


def profiles_of(processes: list[int]) -> set[Path]:
    """The folders of their profiles."""
    found = set()
    for number in processes:
        with suppress(OSError):
            arguments = (_PROC / str(number) / "cmdline").read_bytes().split(b"\0")
            found |= {Path(os.fsdecode(each[len(_PROFILE) :])) for each in arguments if each.startswith(_PROFILE)}
    return found


def kill(processes: list[int]) -> None:
    """End processes at once."""
    for number in processes:
        with suppress(OSError):
            os.kill(number, signal.SIGKILL)

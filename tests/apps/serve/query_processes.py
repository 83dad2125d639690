"""The processes of a server that answer queries, as the system sees them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def query_workers(server: int) -> set[int]:
    """The processes for queries that a process has started and that run."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended since
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            is_worker = b"query_worker" in (folder / "cmdline").read_bytes()
            if is_worker and int(parent) == server and state != "Z":
                found.add(int(folder.name))
    return found


def is_there(pid: int) -> bool:
    """Whether a process runs."""
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def memory_of(pid: int, name: str) -> int:
    """Bytes of a line of `status`."""
    lines = (Path("/proc") / str(pid) / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


def limit_of(pid: int, name: str) -> str:
    """The soft and the hard limit of a process."""
    lines = (Path("/proc") / str(pid) / "limits").read_text().splitlines()
    return next(line.removeprefix(name).strip() for line in lines if line.startswith(name))

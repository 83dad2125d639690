"""A crawl that the server runs beside itself: `periplus serve DIR --crawl`, or `--watch`.

It is the same command as a person would type, in a process of its own: a crash of one does not touch the other, and the
server speaks with it through its control socket as with any crawl. When the server stops it lets the crawl end its
requests and commit everything.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_WITHIN = 60.0
"""Seconds for a crawl to end its requests and commit; then it is killed, which loses only the requests under way."""


@contextmanager
def crawling(folders: Sequence[Path], kind: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run a command (`crawl` or `watch`) on each folder until the block ends."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for folder in folders:
            place = ["-o", str(folder.resolve())] if kind == "crawl" else [str(folder.resolve())]
            command = [sys.executable, "-m", "periplus", kind, *place]
            quiet = subprocess.DEVNULL
            processes.append(subprocess.Popen(command, stdin=quiet, start_new_session=True))  # noqa: S603 - our own
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

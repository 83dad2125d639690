"""Crawls that agents start: `periplus crawl` in a process of its own, one at a time for each collection."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.collection.collection import existing, held, planned, tally_of
from periplus.model import CollectionInUse

from .answers import CrawlJob, Refusal

STOP_WITHIN: Final = 60.0
"""Seconds for a crawl to end its requests and commit; then it is killed, which loses only the requests under way."""
MAX_REMEMBERED: Final = 100
"""Jobs whose result is remembered."""


class _Job(Struct):
    id: str
    folder: Path
    process: subprocess.Popen[bytes]
    began_at: float
    ended_at: float | None = None


class CrawlJobs:
    """The jobs of one server."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()

    def start(self, folder: Path, seeds: list[str], limit: int, minutes: int) -> CrawlJob | Refusal:
        """Begin a crawl of at most `limit` further pages."""
        with self._lock:
            if any(job.folder == folder and job.process.poll() is None for job in self._jobs.values()):
                return Refusal("already-running", "A crawl of this collection is running: wait, or ask crawl_status.")
            pages = tally_of(existing(folder).layout).pages
            try:
                with held(folder):  # not as arguments of the command, which would count as typed by a person
                    planned(folder, found=seeds, options={}).save()
            except CollectionInUse:
                return Refusal("already-running", "Another crawl of this collection is running: wait.")
            command = [
                sys.executable, "-P", "-m", "periplus", "crawl", "-o", str(folder.resolve()),
                "--limit", str(pages + limit), "--for", f"{minutes}m",
            ]  # fmt: skip
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
            job = _Job(secrets.token_hex(8), folder, process, time.monotonic())
            self._jobs[job.id] = job
            self._forget()
            return self._status(job)

    def status(self, id_: str) -> CrawlJob | Refusal:
        """The status of a job."""
        with self._lock:
            job = self._jobs.get(id_)
            return (
                Refusal("unknown-job", "There is no such crawl; ids end with the server.")
                if job is None
                else self._status(job)
            )

    def close(self) -> None:
        """Stop all crawls; they commit everything and can be continued."""
        with self._lock:
            running = [job.process for job in self._jobs.values() if job.process.poll() is None]
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _status(self, job: _Job) -> CrawlJob:
        code = job.process.poll()
        if code is not None and job.ended_at is None:
            job.ended_at = time.monotonic()
        state = "running" if code is None else "ended" if code == 0 else "failed"
        pages = tally_of(existing(job.folder).layout).pages
        return CrawlJob(job.id, state, pages, round((job.ended_at or time.monotonic()) - job.began_at, 1))

    def _forget(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.process.poll() is not None]
        for id_ in ended[: max(0, len(self._jobs) - MAX_REMEMBERED)]:
            del self._jobs[id_]

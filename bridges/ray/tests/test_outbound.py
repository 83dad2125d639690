"""A process that stood still for longer than its lease changes no file of its successor's when it goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest
from msgspec import Struct
from tests.faults.disk import Disk

from periplus.engine.inputs import Flushed
from periplus.engine.log import InputLog
from periplus.model import Failed, Fetched, FetchEnded, FetchTask, Lane, Purpose, Site, Url
from periplus.store import Archive, MemoryPayloads, Tables, TableSettings
from periplus.store.durable import write_file
from periplus.store.tables import Spooled, read
from periplus.store.warc import WarcEnd, WarcSettings
from periplus_ray.links import Lease
from periplus_ray.outbound import Watchdog

LEASE: Final = 0.5
NOW: Final = 1_700_000_000.0
URL: Final = Url("https://example.org/")
TASK: Final = FetchTask(URL, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, NOW)
MOMENTS: Final = [
    ("write", ".warc.gz"),
    ("write", ".log"),
    ("write", "fetches-000002.arrows"),
    ("rename", "/fetches/.00-000002.parquet.part"),
    ("create", "fetches-000003.arrows"),
    ("rename", ".new"),
    ("unlink", ".log"),
]
"""Operations of a turn, each with the end of the name of a file in the folder that all machines see."""


class Commit(Struct):
    """What a shard has committed of its files."""

    number: int = 0
    mark: bytes | None = None
    end: WarcEnd = WarcEnd()


class Files:
    """What a shard writes into the folder that all machines see, as last committed."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / "committed"
        kept = self._kept = msgspec.json.decode(self._place.read_bytes(), type=Commit)
        self._log = InputLog(folder / "log", folder / "warc")
        self._tables = Tables(
            folder / "tables", folder / "spool", TableSettings(rows_per_group=1), shard=0, mark=kept.mark
        )
        end = self._log.repair(kept.number, kept.end)
        self._archive = Archive(
            folder / "warc", WarcSettings(), shard=0, software="", fields={}, end=end, payloads=MemoryPayloads()
        )

    def write(self, name: str) -> None:
        """Write an answer, and a row with this name; the Parquet file of it is begun."""
        self._archive.write(Fetched(TASK, 200, (), name.encode(), NOW, 0.1), b"")
        self._log.append([Flushed(NOW)])
        self._tables.record([FetchEnded(Failed(TASK, name, NOW, 0.1), NOW)])
        self._tables.checkpoint()

    def commit(self) -> None:
        """Publish the Parquet file, and commit."""
        self._archive.sync()
        mark = self._tables.settle()
        self._kept = Commit(self._kept.number + 1, mark, self._archive.end)
        write_file(self._place, msgspec.json.encode(self._kept))
        self._log.begin(self._kept.number)

    def close(self) -> None:
        self._tables.close()
        self._archive.close()
        self._log.close()


class StoppingDisk(Disk):
    """Stops the process in front of an operation, just after its lease was renewed, once this `is_due`."""

    is_due = False

    def __init__(self, root: Path, kind: str, ending: str) -> None:
        super().__init__(root, Random(1))
        self._moment = kind, ending

    def _begin(self, kind: str, path: str) -> None:
        if self.is_due and kind == self._moment[0] and path.endswith(self._moment[1]):
            self.is_due = False
            watchdog = Watchdog()
            watchdog.renew(Lease(1, LEASE), time.monotonic())
            watchdog.start()
            os.kill(os.getpid(), signal.SIGSTOP)
        super()._begin(kind, path)


def hold(folder: Path, kind: str, ending: str) -> None:
    """Be the process that holds the shard first: commit once, and stop in the turn after that."""
    folder.mkdir()
    disk = StoppingDisk(folder, kind, ending)
    with disk.installed():
        write_file(folder / "committed", msgspec.json.encode(Commit()))
        files = Files(folder)
        files.write("kept")
        files.commit()
        disk.is_due = True
        files.write("lost")
        files.commit()


@contextmanager
def stopped(folder: Path, kind: str, ending: str) -> Iterator[tuple[Path, BaseProcess]]:
    """A process that was stopped there, and where it writes. On a busy machine one may lose its lease before that."""
    for number in count():
        place = folder / str(number)
        process = get_context("spawn").Process(target=hold, args=(place, kind, ending))
        process.start()
        _, status = os.waitpid(process.pid or 0, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            break
        assert os.waitstatus_to_exitcode(status) == -signal.SIGALRM
    try:
        yield place, process
    finally:
        process.kill()
        process.join()


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.proof
@pytest.mark.parametrize(("kind", "ending"), MOMENTS)
def test_a_process_that_lost_its_lease_changes_nothing(tmp_path: Path, kind: str, ending: str) -> None:
    with stopped(tmp_path, kind, ending) as (folder, process):
        lost_at = time.monotonic() + LEASE
        while time.monotonic() < lost_at:
            time.sleep(0.01)
        with closing(Files(folder)) as successor:
            successor.write("successor")
            before = contents(folder)
            os.kill(process.pid or 0, signal.SIGCONT)
            process.join()
            assert contents(folder) == before
            assert process.exitcode == -signal.SIGALRM
            successor.commit()
    committed = msgspec.json.decode((folder / "committed").read_bytes(), type=Commit)
    rows = read(folder / "tables", "fetches", spooled=[Spooled(0, folder / "spool", committed.mark)])
    assert rows["reason"].to_pylist() == ["kept", *["lost"] * (committed.number > 2), "successor"]

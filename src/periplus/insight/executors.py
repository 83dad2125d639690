"""Executors of insight's jobs on one machine: this process, or several worker processes.

`SerialExecutor` runs jobs one after the other in this process. `ProcessExecutor` starts worker processes (spawn), one
for each processor. Data that jobs share is pickled once into a file whose arrays each process maps (pickle protocol 5,
PEP 574), so ten processes that read one vector hold it once.

A process that dies is not replaced and its job is not repeated: on one machine the cause, mostly a lack of memory,
would kill the next one too.

Partitions are files in a separate folder, which is removed at the end, also after an error.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import count
from multiprocessing import connection, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Executor, PeriplusError, UsageError
from periplus.store.durable import replace_scratch_file

MOST_PARTS = 4096
"""More would be files of next to nothing, or memory for next to nothing."""


class Workplace(Struct, frozen=True):
    """The executor, the folder, and about how many bytes a job may hold at a time, besides what all jobs share."""

    executor: Executor
    folder: Path
    """Every worker must see it at this path."""
    job_bytes: int = 512 << 20

    def parts(self, total_bytes: int, least: int = 1) -> int:
        """How many parts make each small enough for a job; a power of two."""
        wanted = max(-(-total_bytes // max(1, self.job_bytes)), least)
        return 1 << (min(wanted, MOST_PARTS) - 1).bit_length()

    @contextmanager
    def files(self) -> Iterator[Path]:
        """A folder for partitions."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            made = TemporaryDirectory(prefix="parts-", dir=self.folder, ignore_cleanup_errors=True)
        except OSError as error:
            hint = "partitions need a folder that can be written, at one path on every machine"
            raise UsageError(f"{self.folder}: {error.strerror}", hint=hint) from error
        with made as name:
            yield Path(name)


def save(path: Path, array: NDArray[np.generic]) -> None:
    """Write an array as a whole or not at all: a job may be done twice, and the first may have died on its way."""
    with TemporaryDirectory(prefix=".draft-", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        np.save(draft, array)
        replace_scratch_file(draft, path)


def load(path: Path) -> NDArray[Any]:
    """A memory-mapped array: only the parts that are read come into memory."""
    found: NDArray[Any] = np.load(path, mmap_mode="r")
    return found


def bounds(ordered: NDArray[np.uint64], parts: int) -> NDArray[np.int64]:
    """Where each of `parts` equal ranges of all 64-bit numbers begins in a sorted array, and where the last ends."""
    begins = np.array([part * (1 << 64) // parts for part in range(parts)], np.uint64)
    return np.append(np.searchsorted(ordered, begins), len(ordered)).astype(np.int64)


Job = TypeVar("Job")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

_AHEAD: Final = 2
"""Jobs for each worker: the one that it runs, and the next, so that it never waits for the caller."""
_LINE: Final = 64
"""Arrays begin where a line of the cache does."""


class SerialExecutor:
    """Runs one job after the other, in this process."""

    workers = 1
    most_under_way = 1

    def map(self, work: Callable[[Job, Shared], Result], jobs: Iterable[Job], shared: Shared) -> Iterator[Result]:
        """The result of each job; no job starts before its result is requested."""
        lent = _unwritable(shared)
        for job in jobs:
            yield work(job, lent)

    def close(self) -> None:
        """There is nothing to end."""


def _unwritable(shared: Shared) -> Shared:
    """The same value with arrays that cannot be written to, without a copy: as it is where it travels."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(shared, protocol=5, buffer_callback=buffers.append)
    value: Shared = pickle.loads(pickled, buffers=[memoryview(buffer).toreadonly() for buffer in buffers])  # noqa: S301
    return value


class ProcessExecutor:
    """Several jobs at a time, in processes of this machine. Where they begin, `__main__` must be importable."""

    def __init__(self, workers: int = 0) -> None:
        """`workers` processes; 0: as many as this process may use processors."""
        self.workers = workers or _processors()
        self.most_under_way = _AHEAD * self.workers
        self._folder = TemporaryDirectory(prefix="periplus-shared-", ignore_cleanup_errors=True)
        self._numbers = count()
        self._pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), initializer=_begin)

    def map(self, work: Callable[[Job, Shared], Result], jobs: Iterable[Job], shared: Shared) -> Iterator[Result]:
        """The result of each job, in order."""
        lent = _lend(shared, Path(self._folder.name) / str(next(self._numbers)))
        under_way: deque[Future[Result]] = deque()
        try:
            for job in jobs:
                if len(under_way) == self.most_under_way:
                    yield _answer(under_way.popleft())
                under_way.append(self._begun(work, job, lent))
            while under_way:
                yield _answer(under_way.popleft())
        finally:
            for future in under_way:
                future.cancel()
            Path(lent.path).unlink(missing_ok=True)

    def _begun(self, work: Callable[[Job, Shared], Result], job: Job, lent: _Lent) -> Future[Result]:
        try:
            return self._pool.submit(_do, work, job, lent)
        except BrokenProcessPool as error:
            raise _died() from error

    def close(self) -> None:
        """End all workers, each after the job that it is at."""
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()


def _answer(future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise _died() from error


def _died() -> PeriplusError:
    return PeriplusError(
        "a worker process died",
        hint="it was probably killed for lack of memory: allow fewer bytes at a time, or fewer processes",
    )


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# what jobs share


class _Lent(Struct, frozen=True):
    """A value in two parts: a pickle without its arrays, and a file with these, one after the other."""

    pickled: bytes
    path: str
    lengths: tuple[int, ...]


def _lend(shared: object, path: Path) -> _Lent:
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(shared, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    if parts:
        with path.open("wb") as file:
            for part in parts:
                file.write(part)
                file.write(bytes(-part.nbytes % _LINE))
    return _Lent(pickled, str(path), tuple(part.nbytes for part in parts))


def _borrow(lent: _Lent) -> Any:
    return pickle.loads(lent.pickled, buffers=_parts(lent))  # noqa: S301 - of our own process


def _parts(lent: _Lent) -> list[memoryview]:
    if not sum(lent.lengths):
        return [memoryview(b"") for _ in lent.lengths]
    with Path(lent.path).open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    parts, start = [], 0
    for length in lent.lengths:
        parts.append(whole[start : start + length])
        start += length + -length % _LINE
    return parts


# in a process of its own


def _begin() -> None:
    """Ignore Ctrl-C, which the parent handles, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do(work: Callable[[Any, Any], Result], job: object, lent: _Lent) -> Result:
    return work(job, _borrow(lent))

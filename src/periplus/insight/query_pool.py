"""Processes that answer queries of viewers and agents (`query_worker`), kept ready because starting one takes a second.

At most `AT_ONCE` queries run at once; further ones wait. A process that does not answer in time is killed with its
query, and another one is started in its place.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import IO, Final

import msgspec

from periplus.model import UsageError

from .query_worker import CollectionQuery, QueryRefused, QueryRows, Ready, Reply, encode_question, error_of, reply_in

AT_ONCE: Final = 2
"""Queries that run at once."""
_LOOK_EVERY: Final = 0.1
"""Seconds between two looks whether the server is stopping, while a query runs."""
_ENVELOPE: Final = 1_000_000
"""Bytes of a reply beside its rows: the names of columns, which are parts of the query, or an error."""
_LARGEST_ERROR: Final = 2_000
"""Characters of an error that are passed on: DuckDB quotes values, which may be long."""


class QueryStopped(UsageError):  # noqa: N818 - reads as what is the case
    """A query took more time or memory than it may, or could not be started now."""


class QueryPool:
    """The processes of one server; any thread may ask. They are started when they are first needed."""

    def __init__(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """A running query ends as soon as `is_stopping` returns true."""
        self._is_stopping = is_stopping
        self._free = threading.Semaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._is_closed = False

    def warm(self) -> None:
        """Start a process if there is none: a query will probably follow."""
        with self._lock:
            if not self._idle and not self._is_closed:
                self._idle.append(_Worker())

    def ask(self, question: CollectionQuery, *, patience: float) -> QueryRows:
        """Rows of a query. Raises `UsageError` if it is wrong, `QueryStopped` if it is too much.

        `patience` are seconds to wait for a process that is free, and for a new one to start.
        """
        until = time.monotonic() + patience
        if not self._free.acquire(timeout=patience):
            raise QueryStopped("Other queries are running.", hint="Try again in a moment.")
        try:
            reply = self._asked(question, until)
        finally:
            self._free.release()
        if isinstance(reply, QueryRefused):
            raise error_of(msgspec.structs.replace(reply, message=reply.message[:_LARGEST_ERROR]))
        return reply

    def _asked(self, question: CollectionQuery, until: float) -> QueryRows | QueryRefused:
        with self._lock:
            worker = self._idle_worker() or _Worker()
        try:
            worker.wait_until_ready(until, self._is_stopping)
            reply = worker.ask(question, self._is_stopping)
        except BaseException:
            worker.kill()
            self._keep(None)
            raise
        self._keep(worker)
        return reply

    def _idle_worker(self) -> _Worker | None:
        """A process that waits. The system may have killed some meanwhile, for lack of memory."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_running:
                return worker
            worker.kill()
        return None

    def _keep(self, worker: _Worker | None) -> None:
        """Keep a process for the next query; a new one if it was killed."""
        with self._lock:
            if not self._is_closed and not self._is_stopping():
                self._idle.append(worker or _Worker())
                return
        if worker is not None:
            worker.kill()

    def close(self) -> None:
        """End all processes that wait; those with a query end when it does."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.kill()


class _Worker:
    """A process, for one query at a time. Its temporary folder is ours, and goes when it goes."""

    def __init__(self) -> None:
        self._scratch = TemporaryDirectory(prefix="periplus-query-", ignore_cleanup_errors=True)
        environment = {
            **os.environ,
            "TMPDIR": self._scratch.name,
            "ARROW_DEFAULT_MEMORY_POOL": "system",  # gives back what a query needed
            "MALLOC_ARENA_MAX": "2",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", f"{__package__}.query_worker", self._scratch.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment,
            start_new_session=True,  # Ctrl-C at a terminal is for the server
        )
        self._is_ready = False

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def wait_until_ready(self, until: float, is_stopping: Callable[[], bool]) -> None:
        """Wait until it can answer."""
        if not self._is_ready:
            late = "The process for queries has not started yet."
            reply = self._reply(_ENVELOPE, until, is_stopping, QueryStopped(late, hint="Try again in a moment."))
            self._is_ready = isinstance(reply, Ready)

    def ask(self, question: CollectionQuery, is_stopping: Callable[[], bool]) -> QueryRows | QueryRefused:
        """Send a question and wait for its answer."""
        until = time.monotonic() + question.seconds
        late = f"The query took longer than {question.seconds:g} seconds and was stopped."
        hint = "Select less, or run it at the command line: periplus query"
        with suppress(BrokenPipeError):  # it has ended: the answer will be nothing
            _pipe(self._process.stdin).write(encode_question(question))
        reply = self._reply(question.max_bytes + _ENVELOPE, until, is_stopping, QueryStopped(late, hint=hint))
        if isinstance(reply, Ready):  # pragma: no cover - our own process does not
            raise _ended()
        return reply

    def _reply(self, most: int, until: float, is_stopping: Callable[[], bool], late: QueryStopped) -> Reply:
        """The next message; `late` is raised if it does not come in time."""
        pipe = _pipe(self._process.stdout)
        ready = select.poll()
        ready.register(pipe, select.POLLIN)
        received = bytearray()
        while (left := until - time.monotonic()) > 0:
            if is_stopping():
                raise QueryStopped("The server is stopping.")
            if not ready.poll(1000 * min(left, _LOOK_EVERY)):
                continue
            part = os.read(pipe.fileno(), 1 << 20)
            received += part
            if not part or len(received) > most:
                raise _ended()
            if (reply := reply_in(received)) is not None:
                return reply
        raise late

    def kill(self) -> None:
        """End the process at once, and remove its files."""
        self._process.kill()
        self._process.wait()
        _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()
        self._scratch.cleanup()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - `Popen` was told to make it
    return pipe


def _ended() -> QueryStopped:
    return QueryStopped(
        "The query needed more memory or processor time than it may use, and was stopped.",
        hint="Select less, or run it at the command line: periplus query",
    )

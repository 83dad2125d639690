"""The process that answers queries of viewers and agents, one after the other; `query_pool` starts and kills it.

SQL can ask for any amount of memory or time (`repeat('x', 4000000000)`), and DuckDB neither counts nor interrupts
every function of its own. So a query runs here, where the system limits address space and processor time, and where
the process can be killed. It has no more rights than `Views.select`: it reads the tables, and nothing else.

A message on standard input or output is its length (four bytes, big-endian) and its value: first a `Ready` from here,
then a `CollectionQuery` from there and an `QueryRows` or `QueryRefused` from here, and so on. Replies are JSON, which
has numbers of any size; questions are MessagePack, because paths are bytes. When standard input closes, because the
server has ended in whatever way, the process ends at once, also in the middle of a query.
"""

from __future__ import annotations

import os
import queue
import resource
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from itertools import islice
from math import ceil
from pathlib import Path
from typing import IO, Any, Final, NoReturn

import msgspec
from msgspec import Struct

from periplus.model import CollectionInUse, PeriplusError, UsageError
from periplus.store.tables.manifest import Spooled

from .plain_values import plain

MEMORY: Final = "512MB"
"""What DuckDB may hold."""
ADDRESS_SPACE: Final = 1 << 30
"""Bytes of address space beyond that of the idle process: twice `MEMORY`, for what DuckDB does not count."""
SPILL_BYTES: Final = 1_000_000_000
"""What may wait on disk."""
THREADS: Final = 2
_LENGTH: Final = 4


class Ready(Struct, frozen=True, tag="ready"):
    """The process has loaded what it needs."""


class CollectionQuery(Struct, frozen=True, tag="question"):
    """A query of one collection, whose files were verified.

    `computed` is the folder of computed tables; they must be current.
    """

    folder: Path
    spooled: tuple[Spooled, ...]
    sql: str
    max_rows: int
    max_bytes: int
    """Of the rows, in JSON."""
    seconds: float
    """Until the process is killed; here, for the limit of processor time."""
    computed: Path | None = None


class QueryRows(Struct, frozen=True, tag="answered"):
    """Rows of a result. `has_more`: there are further rows; `is_too_large`: because `max_bytes` were reached."""

    names: list[str]
    rows: list[list[Any]]
    has_more: bool
    is_too_large: bool = False


class QueryRefused(Struct, frozen=True, tag="refused"):
    """Why there are no rows. `kind` is the name of the class of the error in `periplus.model`."""

    kind: str
    message: str
    hint: str


Reply = Ready | QueryRows | QueryRefused
_replies: Final = msgspec.json.Decoder(Reply)
_questions: Final = msgspec.msgpack.Decoder(CollectionQuery, dec_hook=lambda _, path: Path(os.fsdecode(path)))


def encode_question(question: CollectionQuery) -> bytes:
    """A question as it is sent."""
    return _with_length(msgspec.msgpack.encode(question, enc_hook=os.fsencode))


def _with_length(body: bytes) -> bytes:
    return len(body).to_bytes(_LENGTH, "big") + body


def reply_in(received: bytes | bytearray) -> Reply | None:
    """The message that was received; `None` if it is not whole yet."""
    end = _LENGTH + int.from_bytes(received[:_LENGTH], "big")
    return _replies.decode(received[_LENGTH:end]) if len(received) >= max(end, _LENGTH) else None


def main() -> NoReturn:
    """Answer questions until standard input closes. The argument is a folder for temporary files, removed at the end.

    The folder is not looked up: where it is missing, `tempfile` would choose one that belongs to others.
    """
    scratch = Path(sys.argv[1])
    tempfile.tempdir = str(scratch)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not write into an answer
    import periplus.insight.views.connection
    import periplus.store.tables.reader  # noqa: F401 - DuckDB and Arrow, before the limit is taken

    _limit_memory()
    questions: queue.SimpleQueue[CollectionQuery] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, questions, scratch), daemon=True).start()
    _send(answers, Ready(), scratch)
    while True:
        question = questions.get()
        _limit_processor_time(question.seconds)
        _send(answers, _answer(question), scratch)


def _send(answers: IO[bytes], message: Struct, scratch: Path) -> None:
    try:
        answers.write(_with_length(msgspec.json.encode(message)))
        answers.flush()
    except BrokenPipeError:
        _end(scratch)


def _receive(incoming: IO[bytes], questions: queue.SimpleQueue[CollectionQuery], scratch: Path) -> None:
    """Hand questions over; end the process when there are no more, whatever it does at that moment."""
    while len(length := incoming.read(_LENGTH)) == _LENGTH:
        questions.put(_questions.decode(incoming.read(int.from_bytes(length, "big"))))
    _end(scratch)


def _end(scratch: Path) -> NoReturn:
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _answer(question: CollectionQuery) -> QueryRows | QueryRefused:
    try:
        return _answered(question)
    except PeriplusError as error:
        return QueryRefused(type(error).__name__, str(error), error.hint)
    except MemoryError:
        return QueryRefused("UsageError", "The query needs more memory than it may use.", "Select less.")
    except Exception as error:  # of a library, in a query that we did not write
        return QueryRefused("UsageError", f"The query failed: {error}", "Select less, or other columns.")


def _answered(question: CollectionQuery) -> QueryRows:
    from .views.connection import Views, ViewSettings

    settings = ViewSettings(memory=MEMORY, spill=f"{SPILL_BYTES}B", threads=THREADS)
    with Views(
        question.folder,
        spooled=question.spooled,
        settings=settings,
        say=_refuse_to_compute,
        computed=question.computed,
        is_verified=True,
    ) as views:
        answer = views.select(question.sql)
        rows: list[list[Any]] = []
        size = 0
        for row in islice(answer.rows, question.max_rows + 1):
            values = [plain(value) for value in row]
            size += len(msgspec.json.encode(values))
            if size > question.max_bytes or len(rows) == question.max_rows:
                return QueryRows(answer.names, rows, True, size > question.max_bytes)
            rows.append(values)
        return QueryRows(answer.names, rows, False)


def _refuse_to_compute(_message: str) -> NoReturn:
    raise CollectionInUse("The tables have grown in this moment.", hint="Try again.")


def _limit_memory() -> None:
    with suppress(OSError, ValueError):  # where the system does not know the limit, DuckDB's own remains
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        Path("/proc/self/oom_score_adj").write_text("1000")  # rather this process than any other
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * SPILL_BYTES, 2 * SPILL_BYTES))


def _limit_processor_time(seconds: float) -> None:
    """Let the system end this process if the server does not.

    That is a second after all threads could have run for `seconds`.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = ceil(used.ru_utime + used.ru_stime + seconds * THREADS) + 1
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def error_of(refused: QueryRefused) -> PeriplusError:
    """The error that was raised in the process."""
    from periplus import model

    kind = getattr(model, refused.kind, UsageError)
    made: PeriplusError = kind(refused.message, hint=refused.hint)
    return made


if __name__ == "__main__":
    main()

"""Reads the text of PDFs in another process, which can be killed: `pdf_worker`.

One process reads many files, one after the other, and is replaced when it ends: because a file made it crash, took
longer than `MAX_SECONDS`, or because it has read many. Whatever a file does, the answer is a `PdfText`; pages that were
read before an error are in it.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from periplus.content.pdf import PdfText
from periplus.content.scan.columns import MAX_TEXT
from periplus.model import Problem

from .pdf_worker import BAD_PAGE, CUT, DONE, FAILED, FRAME, HEADING, LANGUAGE, PAGE, REQUEST, RETIRED, TITLE

log = logging.getLogger(__name__)

MAX_BYTES: Final = 64 << 20
"""Bytes of a file that is read."""
MAX_PAGES: Final = 5000
MAX_SECONDS: Final = 30.0
"""Seconds that a file may take."""
MAX_PROCESSOR_SECONDS: Final = 20
"""Seconds of processor time that a file may take."""
_WORKER: Final = Path(__file__).with_name("pdf_worker.py")
_INSTALL: Final = "install the extra: pip install 'periplus[pdf]'"
_MAX_PROBLEMS: Final = 20
_PIECE: Final = 1 << 16


class _Collected:
    """What the worker has sent of one file."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.problems: list[Problem] = []
        self._facts = {TITLE: "", HEADING: "", LANGUAGE: ""}

    def add(self, kind: bytes, text: str) -> None:
        if kind in (PAGE, BAD_PAGE):
            self.pages.append(text if kind == PAGE else "")
        if kind == BAD_PAGE:
            self.problems.append(Problem("pdf-damaged", text[:200], len(self.pages)))
        elif kind == FAILED:
            is_locked = "password" in text.lower() or "security" in text.lower()
            self.problems.append(Problem("pdf-encrypted" if is_locked else "pdf-damaged", text[:200]))
        elif kind == CUT:
            self.problems.append(Problem("pdf-cut", at=len(self.pages)))
        elif kind in self._facts:
            self._facts[kind] = text

    @property
    def text(self) -> PdfText:
        if not any(self.pages) and not self.problems:
            self.problems.append(Problem("pdf-no-text", f"{len(self.pages)} pages"))
        title, heading, language = self._facts.values()
        return PdfText(tuple(self.pages), title, heading, language, tuple(self.problems[:_MAX_PROBLEMS]))


class PdfReader:
    """Reads files one at a time; threads wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._unread = b""

    def read(self, body: bytes, *, max_seconds: float = MAX_SECONDS, max_pages: int = MAX_PAGES) -> PdfText:
        """The text of a PDF. Never raises for what the file holds: what is wrong with it is in `problems`."""
        if len(body) > MAX_BYTES:
            return PdfText(problems=(Problem("pdf-too-large", str(len(body)), MAX_BYTES),))
        if not has_reader():
            warn_without_reader()
            return PdfText(problems=(Problem("pdf-no-reader", _INSTALL),))
        with self._lock:
            return self._answer(body, time.monotonic() + max_seconds, max_pages)

    def close(self) -> None:
        """End the process; the next file starts another."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():  # after a fork the process belongs to the parent
            self._process, self._owner = None, os.getpid()
        if self._process is None:
            self._unread = b""
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-P", str(_WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for us: we end it
            )
        return self._process

    def _answer(self, body: bytes, deadline: float, max_pages: int) -> PdfText:
        found = _Collected()
        try:
            self._send(REQUEST.pack(len(body), max_pages, MAX_TEXT, MAX_PROCESSOR_SECONDS), body, deadline)
            kind = b""
            while kind not in (DONE, RETIRED):
                kind, text = self._frame(deadline)
                found.add(kind, text)
            if kind == RETIRED:
                self.close()
        except TimeoutError:
            self.close()
            found.problems.append(Problem("pdf-timeout", at=len(found.pages) + 1))
        except OSError:
            found.problems.append(self._ended(len(found.pages) + 1))
        return found.text

    def _send(self, head: bytes, body: bytes, deadline: float) -> None:
        pipe = self._started().stdin
        if pipe is None:
            raise OSError("the process has no input")
        os.set_blocking(pipe.fileno(), False)
        waiting = select.poll()
        waiting.register(pipe, select.POLLOUT)
        for part in (head, body):
            rest = memoryview(part)
            while rest:
                if not waiting.poll(_milliseconds(deadline)):
                    raise TimeoutError
                rest = rest[os.write(pipe.fileno(), rest[:_PIECE]) :]

    def _frame(self, deadline: float) -> tuple[bytes, str]:
        kind, size = FRAME.unpack(self._bytes(FRAME.size, deadline))
        return kind, self._bytes(size, deadline).decode("utf-8", "replace")

    def _bytes(self, count: int, deadline: float) -> bytes:
        """The next bytes of the answer; `OSError` if the process has ended, `TimeoutError` if they do not come."""
        pipe = self._started().stdout
        if pipe is None:
            raise OSError("the process has no output")
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)
        parts = [self._unread]
        size = len(self._unread)
        while size < count:
            if not waiting.poll(_milliseconds(deadline)):
                raise TimeoutError
            part = os.read(pipe.fileno(), _PIECE)
            if not part:
                raise OSError("the process has ended")
            parts.append(part)
            size += len(part)
        found = b"".join(parts)
        self._unread = found[count:]
        return found[:count]

    def _ended(self, page: int) -> Problem:
        """Why the process has ended while it read this page."""
        process = self._process
        code = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(5)
        self.close()
        if code == -signal.SIGXCPU:
            return Problem("pdf-timeout", at=page)
        return Problem("pdf-crashed", "" if code is None else f"exit code {code}", page)


def _milliseconds(deadline: float) -> int:
    return max(0, int(1000 * (deadline - time.monotonic())))


def has_reader() -> bool:
    """Whether PDFs can be read here: the extra `pdf` is installed."""
    return find_spec("pypdfium2") is not None


@cache
def warn_without_reader() -> None:
    """Log once that PDFs have no text here, unless they can be read."""
    if not has_reader():
        log.warning("PDFs have no text without the package pypdfium2: %s", _INSTALL)


def reader_version() -> str:
    """The version of the library that reads PDFs; empty if none is installed."""
    from importlib.metadata import PackageNotFoundError, version  # only a few callers ask

    try:
        return version("pypdfium2")
    except PackageNotFoundError:
        return ""


_READER: Final = PdfReader()
atexit.register(_READER.close)


def read_pdf(body: bytes) -> PdfText:
    """The text of a PDF, read in the process that all of this program shares."""
    return _READER.read(body)

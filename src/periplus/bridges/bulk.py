"""Sends the lines of a bulk export to OpenSearch or Elasticsearch, in batches.

A batch that is refused with 429 or a status of 5xx, or that gets no answer, is sent again after a second, two, four
and so on; since ids depend on URLs alone, a batch that arrived twice changes nothing. Documents that the server
refuses one by one are listed and do not stop the others.
"""

from __future__ import annotations

import gzip
import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from periplus.model import PeriplusError, UsageError

from .exchange import PushReply, ask

BATCH_BYTES: Final = 10 << 20
"""Bytes of a batch before compression: servers recommend 5 to 15 MB."""
ATTEMPTS: Final = 8
"""Times that a batch is sent: with doubled pauses, for some two minutes."""
FIRST_PAUSE: Final = 1.0
"""Seconds before a batch is sent again; doubled each time."""
MAX_PAUSE: Final = 60.0
"""Seconds that a server may ask to wait (`Retry-After`)."""
MAX_ERRORS: Final = 20
"""Refused documents that are listed; all are counted."""
MAX_REPLY: Final = 64 << 20
"""Bytes of an answer that are read: it has a line for each document."""
AUTHORIZATION: Final = "PERIPLUS_BULK_AUTHORIZATION"
"""The environment variable with the value of the Authorization header, such as `ApiKey ...`."""


class BulkFailed(PeriplusError):  # noqa: N818 - reads as what is the case
    """The server does not take the documents."""


class Sent(Struct, frozen=True):
    """What was sent: actions that the server carried out, those that it refused, and the first of these."""

    done: int = 0
    refused: int = 0
    errors: tuple[str, ...] = ()


class _Error(Struct):
    type: str = ""
    reason: str = ""


class _Item(Struct):
    id: str = msgspec.field(default="", name="_id")
    status: int = 0
    error: _Error | None = None


class _Answer(Struct):
    items: list[dict[str, _Item]] = []


_decode = msgspec.json.Decoder(_Answer).decode


class BulkTarget:
    """A server that takes documents. It is written to like a file: `write` whole lines, and `finish`."""

    def __init__(self, url: str, index: str, *, wait: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"--to: {url!r} is not the address of a server", hint="such as http://localhost:9200")
        host = parts.netloc.rpartition("@")[2]
        self._url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = _authorization(parts.username, parts.password)
        self._index = index
        self._wait = wait
        self._waiting: list[bytes] = []
        self._size = 0
        self._sent = Sent()

    def make_index(self, mapping: bytes) -> None:
        """Make the index with the types of its fields, if it does not exist."""
        reply = self._ask("PUT", f"{self._url}/{self._index}", mapping, "application/json")
        if not 200 <= reply.status < 300 and b"resource_already_exists_exception" not in reply.body:
            raise BulkFailed(f"{self._url} does not make the index {self._index}: {_words(reply)}")

    def write(self, lines: bytes, /) -> int:
        """Add actions with their documents, and send what makes a batch."""
        if self._waiting and self._size + len(lines) > BATCH_BYTES:
            self._send()
        self._waiting.append(lines)
        self._size += len(lines)
        return len(lines)

    def writelines(self, lines: Iterator[bytes] | Sequence[bytes], /) -> None:
        """Add several."""
        for line in lines:
            self.write(line)

    def finish(self) -> Sent:
        """Send the rest: what was sent in all."""
        self._send()
        return self._sent

    def _send(self) -> None:
        if not self._waiting:
            return
        body, self._waiting, self._size = b"".join(self._waiting), [], 0
        reply = self._ask("POST", f"{self._url}/_bulk", body, "application/x-ndjson")
        if not 200 <= reply.status < 300:
            raise BulkFailed(f"{self._url} refuses documents: {_words(reply)}")
        self._count(reply.body)

    def _ask(self, method: str, url: str, body: bytes, content_type: str) -> PushReply:
        packed, pause = gzip.compress(body, 3), FIRST_PAUSE
        headers = {**self._headers, "Content-Encoding": "gzip"}
        for attempt in range(1, ATTEMPTS + 1):
            reply = ask(method, url, packed, content_type, headers=headers, most_bytes=MAX_REPLY)
            if reply.status and reply.status != 429 and reply.status < 500:
                return reply
            if attempt < ATTEMPTS:
                asked = float(reply.retry_after) if reply.retry_after.isdigit() else 0.0
                self._wait(min(max(pause, asked), MAX_PAUSE))
                pause *= 2
        raise BulkFailed(f"{self._url} does not answer: {_words(reply)}", hint="try again: the same lines do no harm")

    def _count(self, body: bytes) -> None:
        try:
            items = [item for each in _decode(body).items for item in each.items()]
        except msgspec.DecodeError as error:
            raise BulkFailed(f"{self._url} does not answer as a search engine does: {error}") from error
        bad = [item for action, item in items if not _is_done(action, item)]
        errors = [f"{item.id}: {item.error.type}: {item.error.reason}" for item in bad if item.error is not None]
        self._sent = Sent(
            self._sent.done + len(items) - len(bad),
            self._sent.refused + len(bad),
            (*self._sent.errors, *errors)[:MAX_ERRORS],
        )


def _is_done(action: str, item: _Item) -> bool:
    """Whether an action succeeded; to delete a page that is not there counts as success."""
    return 200 <= item.status < 300 or (action == "delete" and item.status == 404)


def _authorization(user: str | None, password: str | None) -> dict[str, str]:
    if value := os.environ.get(AUTHORIZATION):
        return {"Authorization": value}
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def _words(reply: PushReply) -> str:
    return reply.error or f"status {reply.status} {reply.body[:200].decode('utf-8', 'replace')}"

"""The wire of a crawl that offers dictionaries: answers in the coding `dcz` become what they stand for.

An answer that cannot be decoded is a failure with the reason `bad-delta`: its page is fetched again without a
dictionary. That goes for a body that was coded with another dictionary, for garbage, for one that unpacks to more than
a page may have, and for a stored version that is not in the archive any more.
"""

from __future__ import annotations

from collections import deque
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from periplus.content import decode_body
from periplus.engine.wire import Wire
from periplus.formats.compression_dictionary import CODING, read_dcz
from periplus.formats.headers import Headers
from periplus.model import (
    CollectionDamaged,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    OfferedDictionary,
    Problem,
    Stored,
)
from periplus.store.warc import read_record

_MAX_RATIO: Final = 200
"""Bytes that a coded byte may become, besides a copy of the dictionary and `_RATIO_FREE`: as in other codings."""
_RATIO_FREE: Final = 1 << 20
_TOGETHER: Final = 32 << 20
"""Bytes of decoded pages beyond which further answers wait for the next turn."""
_MAX_DETAIL: Final = 200
_SENT_ENCODING: Final = "X-Crawler-Content-Encoding"
_SENT_LENGTH: Final = "X-Crawler-Content-Length"


class DecodingWire:
    """A wire in front of another one."""

    def __init__(self, wire: Wire, archive: Path, max_decoded: int) -> None:
        self._wire = wire
        self._archive = archive
        self._max_decoded = max_decoded
        self._coded: deque[Fetched] = deque()

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now."""
        return max(0, self._wire.free_slots - len(self._coded))

    @property
    def under_way(self) -> int:
        """How many tasks were started and have not ended."""
        return self._wire.under_way + len(self._coded)

    def start(self, task: FetchTask) -> None:
        """Begin to fetch."""
        self._wire.start(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds for something to end."""
        ended: list[FetchOutcome] = []
        for outcome in self._wire.finished(0.0 if self._coded else timeout):
            if outcome.task.dictionary is not None and isinstance(outcome, Fetched) and CODING in _codings(outcome):
                self._coded.append(outcome)
            else:
                ended.append(outcome)
        size = 0
        while self._coded and size < _TOGETHER:
            decoded = self._decoded(self._coded.popleft())
            size += len(decoded.body) if isinstance(decoded, Fetched) else 0
            ended.append(decoded)
        return ended

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of the request as it was sent."""
        return self._wire.request_bytes(task)

    def cancel_all(self) -> None:
        """Cancel everything; the outcomes are `cancelled`. What has arrived is still decoded."""
        self._wire.cancel_all()

    def wake(self) -> None:
        """Make a waiting `finished` return at once."""
        self._wire.wake()

    def close(self) -> None:
        """Close every connection."""
        self._wire.close()

    def _decoded(self, outcome: Fetched) -> Fetched | Failed:
        body = self._body(outcome)
        if isinstance(body, Problem):
            detail = f"{body.reason}: {body.detail}" if body.detail else body.reason
            return Failed(
                outcome.task,
                "bad-delta",
                outcome.started_at,
                outcome.duration,
                outcome.status,
                detail[:_MAX_DETAIL],
                outcome.ip,
            )
        sent = len(outcome.body)
        return replace(outcome, headers=_as_stored(outcome.headers, sent, len(body)), body=body, saved=len(body) - sent)

    def _body(self, outcome: Fetched) -> bytes | Problem:
        offered, coded = outcome.task.dictionary, outcome.body
        if offered is None or _codings(outcome) != [CODING]:
            return Problem("bad-coding", ", ".join(_codings(outcome)))
        if outcome.is_truncated:
            return Problem("truncated")
        dictionary = self._dictionary(offered)
        if dictionary is None:
            return Problem("no-dictionary", "the stored version cannot be read")
        limit = max(_RATIO_FREE, _MAX_RATIO * len(coded)) + len(dictionary)
        return read_dcz(coded, dictionary, min(limit, self._max_decoded))

    def _dictionary(self, offered: OfferedDictionary) -> bytes | None:
        """The body that was offered, from the archive; `None` if that has changed."""
        try:
            message = read_record(self._archive, Stored(offered.file, offered.offset, 0, "")).message()
        except CollectionDamaged:
            return None
        codings = ",".join(message.headers.all("content-encoding"))
        body, _ = decode_body(message.body, codings, max_size=self._max_decoded)
        return body if sha256(body).digest() == offered.sha256 else None


def _codings(outcome: Fetched) -> list[str]:
    fields = ",".join(Headers(outcome.headers).all("content-encoding"))
    return [name for part in fields.split(",") if (name := part.strip().lower()) and name != "identity"]


def _as_stored(fields: tuple[tuple[str, str], ...], sent: int, length: int) -> tuple[tuple[str, str], ...]:
    """The header section of a decoded answer: what was sent is under other names."""
    kept = [(name, value) for name, value in fields if name.lower() not in ("content-encoding", "content-length")]
    return (*kept, (_SENT_ENCODING, CODING), (_SENT_LENGTH, str(sent)), ("Content-Length", str(length)))

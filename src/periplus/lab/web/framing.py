"""From an ordinary answer to the bytes of a response: date, length or chunks, gzip, and what becomes of the connection.

What the head of the request allows decides (RFC 9112 sections 6 and 9); the answer itself is the world's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from periplus.formats.dates import write_http

from .exchange import Answer
from .http import Head, chunked, gzip, may_have_body, should_gzip, write_head

_SERVER = ("Server", "periplus-lab")


class Framed(Struct, frozen=True):
    """A response as bytes: all of it in `start` when `rest` is `None`. `closes`: its end is the connection's end."""

    start: bytes
    rest: Iterator[bytes] | None
    closes: bool


def frame(answer: Answer, head: Head, at: float) -> Framed:
    """Write an answer for the client that sent `head`, at the virtual time `at`."""
    fields = [_SERVER, ("Date", _date(int(at))), *answer.headers]
    body = answer.body
    closes = not head.keeps_alive
    if isinstance(body, bytes):
        body = _whole(answer, body, head, fields)
    elif head.takes_chunks:
        fields.append(("Transfer-Encoding", "chunked"))
        body = chunked(body)
    else:
        closes = True
    if closes:
        fields.append(("Connection", "close"))
    elif not head.takes_chunks:
        fields.append(("Connection", "keep-alive"))
    start = write_head(answer.status, fields)
    if head.method == "HEAD":
        return Framed(start, None, closes)
    return Framed(start + body, None, closes) if isinstance(body, bytes) else Framed(start, body, closes)


def _whole(answer: Answer, body: bytes, head: Head, fields: list[tuple[str, str]]) -> bytes:
    """The body as sent, with its length in `fields`."""
    if not may_have_body(answer.status):
        return b""
    if should_gzip(answer.headers, body):
        fields.append(("Vary", "Accept-Encoding"))
        if head.takes_gzip and len(smaller := gzip(body)) < len(body):
            body = smaller
            fields.append(("Content-Encoding", "gzip"))
    fields.append(("Content-Length", str(len(body))))
    return body


@lru_cache(maxsize=16)
def _date(second: int) -> str:
    return write_http(second)

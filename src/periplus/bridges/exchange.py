"""One HTTP request to a server that a person named: bounded in time and size, without following redirects."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

TIMEOUT: Final = 10.0
"""Seconds without a byte from the receiver."""
DEADLINE: Final = 30.0
"""Seconds for the whole exchange, so that a receiver that sends byte by byte holds up nothing."""
MOST_BYTES: Final = 4_096
"""Bytes of an answer that are read: a key file has fewer."""
AGENT: Final = "periplus-publish"
_NO_HEADERS: Final[Mapping[str, str]] = {}


class PushReply(Struct, frozen=True):
    """An answer; status 0 with the reason in `error` if there was none."""

    status: int
    retry_after: str = ""
    content_type: str = ""
    body: bytes = b""
    error: str = ""


def ask(
    method: str,
    url: str,
    body: bytes | None = None,
    content_type: str = "",
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    most_bytes: int = MOST_BYTES,
) -> PushReply:
    """Send a request and read the beginning of the answer. Never raises for what a receiver or the network does."""
    parts = urlsplit(url)
    sent = {"User-Agent": AGENT, "Connection": "close", **headers}
    if content_type:
        sent["Content-Type"] = content_type
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
    except ValueError as error:
        return PushReply(0, error=str(error))
    timer = threading.Timer(DEADLINE, _cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        connection.request(method, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, sent)
        answer = connection.getresponse()
        return PushReply(
            answer.status,
            answer.headers.get("Retry-After", ""),
            answer.headers.get("Content-Type", ""),
            answer.read(most_bytes + 1),
        )
    except (OSError, HTTPException, ValueError) as error:
        return PushReply(0, error=f"{type(error).__name__}: {error}"[:200])
    finally:
        timer.cancel()
        connection.close()


def _cut(connection: HTTPConnection) -> None:
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)

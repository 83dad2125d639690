"""The values between the server, which handles HTTP, and the world, which has the contents.

The server adds everything that belongs to the wire: Date, Content-Length, Connection, content coding, chunks, and it
drops the body of a HEAD. The world decides everything that depends on the state at a moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class Request(Struct, frozen=True):
    """One HTTP request as the server read it.

    `host` is without port and in lower case; `target` is path and query as sent; names of `headers` are in lower case;
    `at` is virtual time.
    """

    method: str
    host: str
    target: str
    headers: tuple[tuple[str, str], ...]
    at: float
    ip: str = "127.0.0.1"

    def header(self, name: str) -> str | None:
        """The first value of a field, by its name in lower case."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Answer(Struct, frozen=True):
    """An ordinary response. An iterator is a body generated while it is sent."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | Iterator[bytes]

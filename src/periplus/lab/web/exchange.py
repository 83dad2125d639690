"""What passes between the server, which speaks HTTP, and the world, which knows what to say.

The server owns everything that belongs to the wire: Date, Content-Length, Connection, content coding, chunks, and the
body of a HEAD, which it drops. The world owns everything that depends on what is true at a moment.
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
    """What an ordinary server says. An iterator is a body made while it is sent."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | Iterator[bytes]

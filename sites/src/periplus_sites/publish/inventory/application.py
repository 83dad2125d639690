"""Addresses whose contents a web application answers with, asked inside this process: no network, no server.

What is published is what everyone gets: the requests carry no cookie and no credentials, and only answers of 200
count.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from periplus.formats.headers.caching import read_last_modified
from periplus.model import Problem

from ..resources import Resource
from ..serving import lowered

LARGEST_ANSWER: Final = 32 << 20
"""Bytes of an answer that are read."""
SECONDS: Final = 60.0
"""Time that the application may take for one answer."""
Asgi = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Answer:
    """An answer while it arrives."""

    def __init__(self) -> None:
        self.status = 0
        self.mime = ""
        self.modified_at: float | None = None
        self.body = bytearray()

    def start(self, status: int, fields: Iterable[tuple[str, str]]) -> None:
        self.status = status
        headers = lowered(fields)
        self.mime = headers.get("content-type", "").partition(";")[0].strip().lower()
        self.modified_at = read_last_modified(headers.get("last-modified", ""))

    def resource(self, url: str) -> Resource | Problem:
        if self.status != 200:
            return Problem("status", f"{url}: {self.status or 'no answer'}")
        if len(self.body) > LARGEST_ANSWER:
            return Problem("too-large", url)
        body = bytes(self.body)
        return Resource(url, self.mime or "text/html", len(body), source_date=self.modified_at, read=lambda: body)


class AsgiInventory:
    """What an ASGI application answers for these addresses, which may be relative to the base."""

    def __init__(self, app: Asgi, addresses: Iterable[str], base_url: str, *, is_complete: bool = True) -> None:
        self._app = app
        self._addresses = addresses
        self._base = base_url
        self.is_complete = is_complete

    def resources(self) -> Iterator[Resource | Problem]:
        """Every address as a resource."""
        with asyncio.Runner() as runner:
            for address in self._addresses:
                url = urljoin(self._base, address)
                try:
                    yield runner.run(asyncio.wait_for(self._ask(url), SECONDS)).resource(url)
                except Exception as error:  # whatever an application raises is a problem of one address
                    yield Problem("unreadable", f"{url}: {type(error).__name__}: {error}"[:500])

    async def _ask(self, url: str) -> _Answer:
        answer = _Answer()
        parts = urlsplit(url)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": parts.scheme,
            "path": unquote_to_bytes(parts.path or "/").decode("utf-8", "replace"), "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(), "root_path": "", "server": (parts.hostname, parts.port or 443),
            "client": ("127.0.0.1", 0), "headers": [(b"host", parts.netloc.encode()), (b"accept", b"*/*")],
        }  # fmt: skip
        has_asked = False

        async def receive() -> dict[str, Any]:
            nonlocal has_asked
            if has_asked:
                await asyncio.sleep(SECONDS)
                return {"type": "http.disconnect"}
            has_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                fields = ((key.decode("latin-1"), value.decode("latin-1")) for key, value in message["headers"])
                answer.start(message["status"], fields)
            elif len(answer.body) <= LARGEST_ANSWER:
                answer.body += message.get("body", b"")

        await self._app(scope, receive, send)
        return answer


class WsgiInventory:
    """What a WSGI application answers for these addresses, which may be relative to the base."""

    def __init__(self, app: Wsgi, addresses: Iterable[str], base_url: str, *, is_complete: bool = True) -> None:
        self._app = app
        self._addresses = addresses
        self._base = base_url
        self.is_complete = is_complete

    def resources(self) -> Iterator[Resource | Problem]:
        """Every address as a resource."""
        for address in self._addresses:
            url = urljoin(self._base, address)
            try:
                yield self._ask(url).resource(url)
            except Exception as error:  # whatever an application raises is a problem of one address
                yield Problem("unreadable", f"{url}: {type(error).__name__}: {error}"[:500])

    def _ask(self, url: str) -> _Answer:
        answer = _Answer()
        parts = urlsplit(url)
        environ = {
            "REQUEST_METHOD": "GET", "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(parts.path or "/").decode("latin-1"), "QUERY_STRING": parts.query,
            "SERVER_NAME": parts.hostname or "", "SERVER_PORT": str(parts.port or 443),
            "HTTP_HOST": parts.netloc, "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": parts.scheme, "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(),
            "wsgi.multithread": False, "wsgi.multiprocess": False, "wsgi.run_once": False,
        }  # fmt: skip

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> Callable[[bytes], None]:
            answer.start(int(status.split()[0]), headers)
            return answer.body.extend

        pieces = self._app(environ, start)
        try:
            for piece in pieces:
                answer.body += piece
                if len(answer.body) > LARGEST_ANSWER:
                    break
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
        return answer

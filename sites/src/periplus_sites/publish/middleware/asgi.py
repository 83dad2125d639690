"""An ASGI application with the publisher in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import quote

from periplus.formats.robots import MAX_BYTES

from ..hook_requests import LARGEST_REPORT
from ..inventory.application import Asgi
from ..serving import (
    LARGEST_OBSERVED,
    Answer,
    Known,
    has_version,
    is_observable,
    is_personal,
    is_shared,
    unchanged_fields,
    validators,
)
from .live import CLIENT, SIGNATURE, SIGNER, Live

_Send = Callable[[Any], Awaitable[None]]


class AsgiMiddleware:
    """Answers for the publisher's files and for unchanged pages; lets everything else pass."""

    def __init__(self, app: Asgi, live: Live) -> None:
        self._app = app
        self._live = live

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Any]], send: _Send
    ) -> None:
        """Answer a request."""
        live = self._live
        if scope["type"] == "lifespan":
            await self._app(scope, receive, _Lifespan(live, send))
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer: Answer | None = None
        tap: _Tap | None = None
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            headers[CLIENT] = (scope.get("client") or ("",))[0]
            raw = scope.get("raw_path")
            path = raw.decode("latin-1").partition("?")[0] if raw else quote(scope["path"])
            query = scope.get("query_string", b"").decode("latin-1")
            if "signature-input" in headers or "signature" in headers:
                fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
                judged = live.signature(scope["method"], path, query, fields)
                scope, headers[SIGNER] = {**scope, SIGNATURE: judged}, judged.agent if judged is not None else ""
            if live.is_hook(path):
                answer = await _hook(live, scope["method"], headers, receive)
            else:
                answer = live.early_answer(scope["method"], path, query, headers)
            if answer is None:
                is_robots = path == "/robots.txt" and live.has_robots and scope["method"] == "GET"
                tap = (_Robots if is_robots else _Tap)(live, send, scope["method"], path, query, headers)
        except Exception as error:  # the application must not notice
            live.complain(error)
        if answer is not None:
            await send({"type": "http.response.start", "status": answer.status, "headers": _encoded(answer.headers)})
            await send({"type": "http.response.body", "body": answer.body})
            live.count(headers, path, query, answer.status, len(answer.body))
        elif tap is None:
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, tap)
            tap.finish()


def _encoded(fields: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in fields]


async def _hook(live: Live, method: str, headers: dict[str, str], receive: Callable[[], Awaitable[Any]]) -> Answer:
    """The answer to a report of changes."""
    refused = live.hook_refusal(method, headers)
    if refused is not None:
        return refused
    body = bytearray()
    has_more = True
    while has_more and len(body) <= LARGEST_REPORT:
        message = await receive()
        body += message.get("body", b"")
        has_more = message["type"] == "http.request" and message.get("more_body", False)
    return await asyncio.to_thread(live.reported, bytes(body))


class _Lifespan:
    """Writes what was gathered when the server stops: some servers end the process right after that."""

    def __init__(self, live: Live, send: _Send) -> None:
        self._live = live
        self._send = send

    async def __call__(self, message: Any) -> None:
        if message["type"].startswith("lifespan.shutdown"):
            try:
                self._live.close()
            except Exception as error:  # the application must not notice
                self._live.complain(error)
        await self._send(message)


class _Tap:
    """Passes the messages of an application on, and looks at them."""

    def __init__(self, live: Live, send: _Send, method: str, path: str, query: str, headers: dict[str, str]) -> None:
        self.live = live
        self.send = send
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.status = 0
        self.size = 0
        self.asked_at = live.clock()
        self.body: bytearray | None = None
        self.is_held = False
        """Whether the answer is held back until it is whole, to compare it or to code it."""
        self.known: Known | None = None
        """The version of the ledger, if the reader has it."""
        self.held: list[Any] = []

    async def __call__(self, message: Any) -> None:
        try:
            message = self.look(message)
        except Exception as error:  # the application must not notice
            self.live.complain(error)
        if not self.is_held:
            await self.send(message)
            return
        self.held.append(message)
        is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        if not is_open or self.size > LARGEST_OBSERVED:
            for one in self.release(is_whole=not is_open):
                await self.send(one)

    def release(self, *, is_whole: bool) -> list[Any]:
        """The messages that were held back. A whole page is compared and coded before."""
        known, self.is_held = self.known, False
        messages, self.held = self.held, []
        if not is_whole:
            return messages
        try:
            fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in messages[0]["headers"]]
            body = b"".join(one.get("body", b"") for one in messages[1:])
            if known is not None and self.live.is_version(self.path, self.query, body, known):
                return self.whole(304, unchanged_fields(fields, known), b"")
            if self.live.has_dictionaries and not self.query:
                return self.whole(200, *self.live.with_dictionary(self.path, self.headers, fields, body))
        except Exception as error:  # the application must not notice
            self.live.complain(error)
        return messages

    def whole(self, status: int, fields: Iterable[tuple[str, str]], body: bytes) -> list[Any]:
        """An answer in place of that of the application."""
        self.status, self.size = status, len(body)
        return [
            {"type": "http.response.start", "status": status, "headers": _encoded(fields)},
            {"type": "http.response.body", "body": body},
        ]

    def look(self, message: Any) -> Any:
        if message["type"] == "http.response.body":
            piece = message.get("body", b"")
            self.size += len(piece)
            if self.body is not None:
                self.body += piece
                if self.size > LARGEST_OBSERVED:
                    self.body = None
        elif message["type"] == "http.response.start":
            self.status = message["status"]
            if self.status == 200 and self.method in ("GET", "HEAD"):
                return self.start(message)
        return message

    def start(self, message: Any) -> Any:
        """Add validators to a page for everyone, and begin to look at its content."""
        pairs = list(message.get("headers", ()))
        fields = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in pairs}
        if stated := self.live.usage_headers(self.path, fields):
            pairs += _encoded(stated)
            message = {**message, "headers": pairs}
        if not is_shared(200, fields) or is_personal(self.headers, self.live.settings):
            return message
        if self.method == "GET" and is_observable(fields) and self.live.wants(self.path, self.query):
            self.body = bytearray()
        known = None if "etag" in fields or "last-modified" in fields else self.live.known(self.path, self.query)
        if known is None:
            return message
        is_whole = self.method == "GET" and is_observable(fields) and "range" not in self.headers
        if is_whole and has_version(self.headers, known):
            self.known = known
        self.is_held = self.known is not None or (is_whole and self.live.has_dictionaries and not self.query)
        if self.known is not None:
            return message
        return {**message, "headers": [*pairs, *_encoded(validators(known))]}

    def finish(self) -> None:
        """Count the visit and compare the page."""
        try:
            self.live.count(self.headers, self.path, self.query, self.status, self.size)
            if self.body is not None:
                self.live.saw(self.path, self.query, bytes(self.body), self.asked_at)
        except Exception as error:  # the application must not notice
            self.live.complain(error)


class _Robots(_Tap):
    """Holds a robots.txt back until it is whole, and adds our block; what it does not understand passes as it is."""

    is_passing = False

    async def __call__(self, message: Any) -> None:
        if self.is_passing:
            await super().__call__(message)
            return
        self.held = [*self.held, message]
        whole = self.held
        try:
            start = whole[0]
            fields = {name.lower(): value for name, value in start.get("headers", ())}
            size = sum(len(one.get("body", b"")) for one in whole[1:])
            is_text = fields.get(b"content-type", b"text/plain").startswith(b"text/plain")
            is_ours = (start["status"] == 200 and is_text and b"content-encoding" not in fields) or start[
                "status"
            ] == 404
            self.is_passing = not is_ours or size > MAX_BYTES
            if not self.is_passing and (len(whole) == 1 or message.get("more_body")):
                return
            if not self.is_passing:
                whole = self.with_block(start, fields, b"".join(one.get("body", b"") for one in whole[1:]))
        except Exception as error:  # the application must not notice
            self.live.complain(error)
        self.is_passing = True
        for one in whole:
            await super().__call__(one)

    def with_block(self, start: Any, fields: dict[bytes, bytes], body: bytes) -> list[Any]:
        after = self.live.robots(body if start["status"] == 200 else b"")
        drop = (b"content-length", b"etag", b"last-modified", b"content-type")
        kept = [(name, value) for name, value in fields.items() if name not in drop]
        headers = [
            *kept,
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(after)).encode()),
        ]
        return [
            {"type": "http.response.start", "status": 200, "headers": headers},
            {"type": "http.response.body", "body": after},
        ]

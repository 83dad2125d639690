"""A WSGI application with the publisher in front of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from periplus.formats.robots import MAX_BYTES

from ..inventory.application import Wsgi
from ..serving import (
    LARGEST_OBSERVED,
    Answer,
    Known,
    has_version,
    is_observable,
    is_personal,
    is_shared,
    lowered,
    unchanged_fields,
    validators,
)
from .live import CLIENT, SIGNATURE, SIGNER, Live

_HEADERS = {
    "HTTP_IF_NONE_MATCH": "if-none-match",
    "HTTP_IF_MODIFIED_SINCE": "if-modified-since",
    "HTTP_IF_RANGE": "if-range",
    "HTTP_RANGE": "range",
    "HTTP_COOKIE": "cookie",
    "HTTP_AUTHORIZATION": "authorization",
    "HTTP_USER_AGENT": "user-agent",
    "HTTP_ACCEPT_ENCODING": "accept-encoding",
    "HTTP_AVAILABLE_DICTIONARY": "available-dictionary",
    "CONTENT_LENGTH": "content-length",
    "REMOTE_ADDR": CLIENT,
}
_Pairs = list[tuple[str, str]]


class WsgiMiddleware:
    """Answers for the publisher's files and for unchanged pages; lets everything else pass."""

    def __init__(self, app: Wsgi, live: Live) -> None:
        self._app = app
        self._live = live

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        live = self._live
        answer: Answer | None = None
        tap: _Tap | None = None
        try:
            headers = {name: environ[key] for key, name in _HEADERS.items() if key in environ}
            raw = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
            path = quote(raw.encode("latin-1"), safe="/~!$&'()*+,;=:@")
            query = environ.get("QUERY_STRING", "")
            method = environ["REQUEST_METHOD"]
            if "HTTP_SIGNATURE_INPUT" in environ or "HTTP_SIGNATURE" in environ:
                judged = live.signature(method, path, query, _fields(environ))
                environ[SIGNATURE], headers[SIGNER] = judged, judged.agent if judged is not None else ""
            if live.is_hook(path):
                answer = _hook(live, method, headers, environ)
            else:
                answer = live.early_answer(method, path, query, headers)
            if answer is None:
                tap = _Tap(live, start_response, method, path, query, headers)
        except Exception as error:  # the application must not notice
            live.complain(error)
        if answer is not None:
            live.count(headers, path, query, answer.status, len(answer.body))
            start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", list(answer.headers))
            return [answer.body]
        if tap is None:
            return self._app(environ, start_response)
        if path == "/robots.txt" and live.has_robots and method == "GET":
            return _robots(self._app, environ, start_response, tap)
        return _Body(self._app(environ, tap.start), tap)


def _fields(environ: dict[str, Any]) -> _Pairs:
    """All header fields of a request."""
    fields = [(key[5:].replace("_", "-").lower(), str(value)) for key, value in environ.items() if key[:5] == "HTTP_"]
    others = (("CONTENT_TYPE", "content-type"), ("CONTENT_LENGTH", "content-length"))
    return [*fields, *((name, environ[key]) for key, name in others if environ.get(key))]


def _hook(live: Live, method: str, headers: dict[str, str], environ: dict[str, Any]) -> Answer:
    """The answer to a report of changes."""
    refused = live.hook_refusal(method, headers)
    if refused is not None:
        return refused
    return live.reported(environ["wsgi.input"].read(int(headers["content-length"])))


class _Tap:
    """Looks at the answer of an application while it passes."""

    __slots__ = (
        "asked_at", "body", "head", "headers", "held", "is_held", "known", "live", "method", "path", "query", "size",
        "start_response", "status",
    )  # fmt: skip

    def __init__(
        self,
        live: Live,
        start_response: Callable[..., Any],
        method: str,
        path: str,
        query: str,
        headers: dict[str, str],
    ) -> None:
        self.live = live
        self.start_response = start_response
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
        self.head: tuple[Any, ...] = ()
        self.held: list[bytes] = []

    def start(self, status: str, pairs: _Pairs, *rest: Any) -> Any:
        """Pass the head of an answer on, with validators if it is a page for everyone."""
        try:
            self.status = int(status[:3])
            if self.status == 200 and self.method in ("GET", "HEAD"):
                pairs = self._look(pairs)
        except Exception as error:  # the application must not notice
            self.live.complain(error)
        if not self.is_held:
            return self.start_response(status, pairs, *rest)
        self.head = (status, pairs, *rest)
        return self.held.append

    def _look(self, pairs: _Pairs) -> _Pairs:
        fields = lowered(pairs)
        pairs = [*pairs, *self.live.usage_headers(self.path, fields)]
        if not is_shared(200, fields) or is_personal(self.headers, self.live.settings):
            return pairs
        if self.method == "GET" and is_observable(fields) and self.live.wants(self.path, self.query):
            self.body = bytearray()
        known = None if "etag" in fields or "last-modified" in fields else self.live.known(self.path, self.query)
        if known is None:
            return pairs
        is_whole = self.method == "GET" and is_observable(fields) and "range" not in self.headers
        if is_whole and has_version(self.headers, known):
            self.known = known
        self.is_held = self.known is not None or (is_whole and self.live.has_dictionaries and not self.query)
        return pairs if self.known is not None else [*pairs, *validators(known)]

    def release(self, *, is_whole: bool) -> list[bytes]:
        """Send the head of an answer that was held back; returns its body. A whole one is compared and coded before."""
        status, pairs, *rest = self.head
        known, self.is_held = self.known, False
        pieces, self.held = self.held, []
        try:
            body = b"".join(pieces) if is_whole else b""
            if is_whole and known is not None and self.live.is_version(self.path, self.query, body, known):
                status, pairs, pieces = "304 Not Modified", unchanged_fields(pairs, known), [b""]
                self.status, self.size = 304, 0
            elif is_whole and self.live.has_dictionaries and not self.query:
                pairs, body = self.live.with_dictionary(self.path, self.headers, pairs, body)
                pieces, self.size = [body], len(body)
        except Exception as error:  # the application must not notice
            self.live.complain(error)
        self.start_response(status, pairs, *rest)
        return pieces

    def add(self, piece: bytes) -> None:
        """Look at a piece of the body."""
        self.size += len(piece)
        if self.body is not None:
            self.body += piece
            if self.size > LARGEST_OBSERVED:
                self.body = None

    def finish(self) -> None:
        """Count the visit, and compare the page if it passed whole."""
        try:
            self.live.count(self.headers, self.path, self.query, self.status, self.size)
            if self.body is not None:
                self.live.saw(self.path, self.query, bytes(self.body), self.asked_at)
        except Exception as error:  # the application must not notice
            self.live.complain(error)


class _Body:
    """The body of an answer, passed on piece by piece. The server closes it, whatever happens."""

    __slots__ = ("_is_whole", "_pieces", "_tap")

    def __init__(self, pieces: Iterable[bytes], tap: _Tap) -> None:
        self._pieces = pieces
        self._tap = tap
        self._is_whole = False

    def __iter__(self) -> Iterator[bytes]:
        tap = self._tap
        for piece in self._pieces:
            tap.add(piece)
            if not tap.is_held:
                yield piece
                continue
            tap.held.append(piece)
            if tap.size > LARGEST_OBSERVED:
                yield from tap.release(is_whole=False)
        self._is_whole = True
        if tap.is_held:
            yield from tap.release(is_whole=True)

    def close(self) -> None:
        """Close what the application gave."""
        close = getattr(self._pieces, "close", None)
        try:
            if close is not None:
                close()
        finally:
            if not self._is_whole:
                self._tap.body = None
            self._tap.finish()


def _robots(app: Wsgi, environ: dict[str, Any], start_response: Callable[..., Any], tap: _Tap) -> Iterable[bytes]:
    """The application's robots.txt with our block; what is not a robots.txt passes as it is."""
    heads: list[tuple[str, _Pairs, tuple[Any, ...]]] = []
    written: list[bytes] = []

    def start(status: str, pairs: _Pairs, *rest: Any) -> Callable[[bytes], None]:
        heads.append((status, pairs, rest))
        return written.append

    pieces = app(environ, start)
    try:
        body = b"".join((*written, *pieces))
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
    status, pairs, rest = heads[-1]
    try:
        fields = lowered(pairs)
        is_text = fields.get("content-type", "text/plain").startswith("text/plain") and "content-encoding" not in fields
        if status.startswith("404") or (status.startswith("200") and is_text and len(body) <= MAX_BYTES):
            body = tap.live.robots(body if status.startswith("200") else b"")
            drop = ("content-length", "etag", "last-modified", "content-type")
            pairs = [(name, value) for name, value in pairs if name.lower() not in drop]
            pairs += [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
            status = "200 OK"
        tap.live.count(tap.headers, tap.path, tap.query, int(status[:3]), len(body))
    except Exception as error:  # the application must not notice
        tap.live.complain(error)
    start_response(status, pairs, *rest)
    return [body]

"""What holds for every request: the Host header, header fields of answers, a line in the log."""

from __future__ import annotations

import logging
import re
import time
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .served import ServeSettings

access = logging.getLogger("periplus.web.access")

SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
FIELDS = {
    "content-security-policy": SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Header fields of every answer, unless it has its own."""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")
"""A Host header: a name or an address, and a port."""
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Middleware:
    """Wraps the application. Log lines have no query, so no words that people search for."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._hosts = _accepted_hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                headers = MutableHeaders(scope=message)
                for name, value in FIELDS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._app if self._is_expected(scope) else _MISDIRECTED
        try:
            await app(scope, receive, sent)
        finally:
            self._log(scope, status, time.perf_counter() - began)

    def _is_expected(self, scope: Scope) -> bool:
        """Whether the Host header names this server. A name of others that leads to 127.0.0.1 does not (rebinding)."""
        if self._hosts is None:
            return True
        found = _HOST.fullmatch(Headers(scope=scope).get("host", "").lower())
        return found is not None and found[1] in self._hosts

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        if not access.isEnabledFor(logging.INFO):
            return
        client = scope.get("client")
        path = quote(scope["path"], safe="/:@!$&'()*+,;=~%")
        access.info("%s %s %s %d %.0f ms", client[0] if client else "-", scope["method"], path, status, seconds * 1000)


_MISDIRECTED = PlainTextResponse("This server is not known by this name.\n", 421)


def _accepted_hosts(settings: ServeSettings) -> frozenset[str] | None:
    """Names that the Host header may have; `None`: any, as every request needs a token there or is a public search."""
    if not settings.is_loopback:
        return None
    public = urlsplit(settings.public_url).hostname
    return _LOOPBACK_NAMES | {settings.host} | ({public} if public else set())

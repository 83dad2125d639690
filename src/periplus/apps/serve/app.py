"""The application: routes of all modules, what holds for every request, and how errors are answered.

For every request the Host header is checked, and that no other site caused it; answers get their header fields, and the
log a line. An error is a page for people, and JSON with `error` and `hint` for programs. No traceback leaves the
server.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware as Layer
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from periplus.model import CollectionError, PeriplusError
from periplus.view.html import STYLE_FILE

from .auth import Audience, Auth
from .rendering import HERE, json_response, page
from .routing import FOREIGN, GuardedRoute, allowed_origin, is_for_programs, is_foreign, is_shared
from .served import Addition, Served, ServeSettings

log = logging.getLogger("periplus.web")

_MEANINGS = {
    404: "There is no such page.",
    405: "This page cannot be asked in this way.",
}


def failure(request: Request, status: int, message: str, hint: str = "") -> Response:
    """An error as a page or as JSON."""
    if is_for_programs(request):
        return json_response({"error": message, "hint": hint} if hint else {"error": message}, status)
    return page(request, "failure.html", status=status, message=message, hint=hint)


async def on_http_error(request: Request, error: HTTPException) -> Response:
    """Answer what an endpoint refused."""
    is_bare = error.detail in ("Not Found", "Method Not Allowed")
    message = _MEANINGS.get(error.status_code, error.detail) if is_bare else error.detail
    response = failure(request, error.status_code, message)
    response.headers.update(error.headers or {})
    return response


async def on_known_error(request: Request, error: PeriplusError) -> Response:
    """Answer an error of ours: to operators in its own words, which may name folders; to others in general."""
    status = 503 if isinstance(error, CollectionError) else 400
    if getattr(request.state, "audience", Audience.ANYONE) >= Audience.VIEWER:
        return failure(request, status, str(error), error.hint)
    log.warning("%s", error)
    return failure(
        request, status, "The collection cannot be read at the moment." if status == 503 else "Not possible."
    )


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer an unexpected error; the log has its traceback."""
    log.error("internal error at %s", request.url.path, exc_info=error)
    return failure(request, 500, "Something went wrong in the server; its log says what.")


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

    def __init__(self, app: ASGIApp, settings: ServeSettings, routes: Sequence[GuardedRoute]) -> None:
        self._app = app
        self._hosts = _accepted_hosts(settings)
        self._pages = [route for route in routes if route.guarded.is_page]
        self._shared = [route for route in routes if route.guarded.is_shared]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        app, fields = self._chosen(scope)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                headers = MutableHeaders(scope=message)
                if scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-cache")  # asked for again, answered 304
                headers.update(fields)
                for name, value in FIELDS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await app(scope, receive, sent)
        finally:
            self._log(scope, status, time.perf_counter() - began)

    def _chosen(self, scope: Scope) -> tuple[ASGIApp, dict[str, str]]:
        """What answers a request, and the header fields for other sites (CORS)."""
        request = Request(scope)
        if not self._is_expected(scope):
            return _MISDIRECTED, {}
        shares = is_shared(request, self._shared)
        fields = {"vary": "Origin"} if shares else {}
        if not is_foreign(request, self._pages):
            return self._app, fields
        origin = allowed_origin(request) if shares else ""
        if not origin:
            return _FOREIGN, fields
        fields |= {"access-control-allow-origin": origin, "cross-origin-resource-policy": "cross-origin"}
        if scope["method"] == "OPTIONS":
            return _PREFLIGHT, fields
        scope[FOREIGN] = origin
        return self._app, fields

    def _is_expected(self, scope: Scope) -> bool:
        """Whether the Host header names this server. A foreign name that resolves to 127.0.0.1 does not (rebinding)."""
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
_PREFLIGHT = Response(
    status_code=204, headers={"access-control-allow-methods": "GET", "access-control-max-age": "86400"}
)
_FOREIGN = json_response({"error": "This request comes from a page of another site."}, 403)


def _accepted_hosts(settings: ServeSettings) -> frozenset[str] | None:
    """Names that the Host header may have; `None`: any, as every request needs a token there or is a public search."""
    if not settings.is_loopback:
        return None
    public = urlsplit(settings.public_url).hostname
    return _LOOPBACK_NAMES | {settings.host} | ({public} if public else set())


MODULES = (
    "login",
    "search_page",
    "search_api",
    "cached",
    "cdx",
    "sites_api",
    "browse",
    "live",
    "metrics",
    "receivers",
    "openapi",
)
"""The modules of this package with `routes()`, in the order of the navigation."""


class _Files(StaticFiles):
    """The files of the pages, and the style that they share with reports and audits."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Where a file is."""
        return (str(STYLE_FILE), STYLE_FILE.stat()) if path == STYLE_FILE.name else super().lookup_path(path)


def make_app(served: Served) -> Starlette:
    """The application that serves these collections."""
    modules: list[Any] = [*_modules(), *served.additions]
    routes: list[BaseRoute] = [route for module in modules for route in module.routes()]
    guarded = [route for route in routes if isinstance(route, GuardedRoute)]
    routes.append(Mount("/static", _Files(directory=HERE / "static")))
    app = Starlette(
        routes=routes,
        middleware=[Layer(Middleware, settings=served.settings, routes=guarded)],
        exception_handlers=cast(
            "Any", {HTTPException: on_http_error, PeriplusError: on_known_error, Exception: on_bug}
        ),
        lifespan=lambda _app: _lifespan(served, modules),
    )
    app.state.served = served
    app.state.auth = Auth(served.settings)
    app.state.navigation = [link for module in modules for link in getattr(module, "NAVIGATION", ())]
    return app


def described_api(additions: Sequence[Addition] = ()) -> dict[str, Any]:
    """The API of a server, in OpenAPI, without one that runs."""
    from .openapi import describe

    found = [each for part in [*_modules(), *additions] for each in part.routes() if isinstance(each, GuardedRoute)]
    return describe(each for each in found if each.guarded.operation is not None)


@asynccontextmanager
async def _lifespan(served: Served, modules: list[Any]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for module in modules:
            if hasattr(module, "lifespan"):
                await stack.enter_async_context(module.lifespan(served))
        stack.callback(served.close)
        yield


def _modules() -> list[ModuleType]:
    names = [f"{__package__}.{name}" for name in MODULES]
    return [import_module(name) for name in names if find_spec(name) is not None]

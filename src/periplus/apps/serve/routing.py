"""Routes with their audience, the origins allowed, and their description in the API."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Message, Receive

from periplus.apps.search.widget import SCRIPTS
from periplus.model import InvariantError

from .auth import Audience, auth_of
from .served import served_of

__all__ = [
    "Audience",
    "Endpoint",
    "GuardedRoute",
    "Link",
    "Operation",
    "Parameter",
    "allowed_origin",
    "form_of",
    "is_foreign",
    "is_shared",
    "json_of",
    "route",
]

Endpoint = Callable[[Request], Response | Awaitable[Response]]
_SAFE = frozenset({"GET", "HEAD"})
_OWN = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site`: our own pages, and what people type or open from elsewhere than a page."""
_MAX_FIELDS = 100
"""Fields of a form."""
CSRF_FIELD = "csrf"
FOREIGN = "periplus.foreign"
"""The key of a scope that has the origin of another site which may read the answer."""


class Parameter(Struct, frozen=True):
    """A parameter of an API operation."""

    name: str
    description: str
    kind: str = "string"
    """A type of JSON Schema."""
    is_required: bool = False
    is_in_path: bool = False


class Operation(Struct, frozen=True):
    """The description of a route in `/api/openapi.json`. `returns` is the type of its JSON, or a media type."""

    summary: str
    parameters: tuple[Parameter, ...] = ()
    returns: Any = None
    body: Any = None
    """The type of the JSON that a POST takes."""


class Link(Struct, frozen=True):
    """An entry of the navigation of every page."""

    label: str
    path: str
    audience: Audience = Audience.VIEWER


class GuardedRoute(Route):
    """A route that checks audience, origin, size and time before its endpoint is called."""

    def __init__(self, path: str, guarded: _Guarded, methods: Sequence[str], name: str) -> None:
        super().__init__(path, guarded.respond, methods=list(methods), name=name)
        self.guarded = guarded


class _Guarded(Struct, frozen=True):
    endpoint: Endpoint
    audience: Audience
    checks_origin: bool
    max_body: int | None
    operation: Operation | None
    is_page: bool
    fetches: bool
    is_shared: bool

    async def respond(self, request: Request) -> Response:
        settings = served_of(request).settings
        limit = self.max_body or settings.max_body
        if _declared_size(request) > limit:
            raise HTTPException(413, f"The body of a request may have {limit:,} bytes.")
        if request.method not in _SAFE:
            _limit_body(request, limit, settings.timeout)
        auth = auth_of(request)
        audience = auth.audience_of(request) if self.audience is not Audience.ANYONE else Audience.ANYONE
        if request.scope.get(FOREIGN):
            audience = min(audience, Audience.PUBLIC)
        if audience < self.audience:
            return _refused(request, audience)
        request.state.audience = audience
        if self.checks_origin and request.method not in _SAFE:
            await _check_origin(request)
        try:
            async with asyncio.timeout(settings.timeout):
                return await self._made(request)
        except TimeoutError:
            raise HTTPException(503, f"This took longer than {settings.timeout:g} seconds.") from None

    async def _made(self, request: Request) -> Response:
        if inspect.iscoroutinefunction(self.endpoint):
            made: Response = await self.endpoint(request)
            return made
        async with served_of(request).turns_of(request.client.host if request.client else ""):
            response: Any = await run_in_threadpool(self.endpoint, request)
        found: Response = response
        return found


def route(
    path: str,
    endpoint: Endpoint,
    *,
    audience: Audience,
    methods: Sequence[str] = ("GET",),
    checks_origin: bool = True,
    max_body: int | None = None,
    operation: Operation | None = None,
    name: str = "",
    is_page: bool = False,
    fetches: bool = False,
    is_shared: bool = False,
) -> GuardedRoute:
    """A route for one audience. `operation` describes it in the API; every path below `/api/` has one.

    `is_page`: it is read by people in a browser, and pages of other sites may link to it. `fetches`: it sends requests
    to other servers, which no link, image or reload may cause: it must not be for GET. `is_shared`: scripts of sites
    in `[serve] origins` may read it, as strangers do.
    """
    if fetches and not _SAFE.isdisjoint(methods):
        raise InvariantError(f"{path} sends requests to other servers and must be for POST, not {', '.join(methods)}")
    guarded = _Guarded(endpoint, audience, checks_origin, max_body, operation, is_page, fetches, is_shared)
    return GuardedRoute(path, guarded, methods, name or endpoint.__name__.strip("_"))


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form (`application/x-www-form-urlencoded`); of a field that is there twice the last."""
    if kind_of(request) != "application/x-www-form-urlencoded":
        return {}
    try:
        fields = parse_qsl(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None
    return dict(fields)


async def json_of(request: Request) -> dict[str, Any]:
    """The JSON object of a body; 400 if it is something else."""
    try:
        return msgspec.json.decode(await request.body(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"The body is not a JSON object: {error}.") from None
    except RecursionError:
        raise HTTPException(400, "The body is not a JSON object: it is nested too deeply.") from None


def kind_of(request: Request) -> str:
    """The media type of a body."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_for_programs(request: Request) -> bool:
    """Whether errors are returned as JSON."""
    accepts = request.headers.get("accept", "*/*")
    return request.url.path.startswith("/api/") or "text/html" not in accepts


def _refused(request: Request, audience: Audience) -> Response:
    if audience >= Audience.VIEWER:
        raise HTTPException(403, "This needs the token of an operator.")
    if request.method not in _SAFE or is_for_programs(request):
        raise HTTPException(401, "This needs a token.", headers={"WWW-Authenticate": "Bearer"})
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?next={quote(target, safe='')}", 303)


def is_foreign(request: Request, pages: Iterable[Route]) -> bool:
    """Whether a page of another site has caused a request, other than by a link that a person follows to a page.

    Browsers say so: by `Origin`, or by `Sec-Fetch-Site` where they send none. `Origin: null` with a POST may come from
    a form of ours, which `_check_origin` finds out.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
    if origin is not None and not (origin == "null" and request.method == "POST"):
        return not auth_of(request).is_same_origin(request, origin)
    if site in _OWN:
        return False
    is_link = (
        request.headers.get("sec-fetch-mode") == "navigate" and request.headers.get("sec-fetch-dest") == "document"
    )
    return not (
        request.method in _SAFE and is_link and any(each.matches(request.scope)[0] is Match.FULL for each in pages)
    )


def is_shared(request: Request, shared: Iterable[GuardedRoute]) -> bool:
    """Whether a request is for something that other sites may read, whatever its method."""
    return any(each.matches(request.scope)[0] is not Match.NONE for each in shared)


def allowed_origin(request: Request) -> str:
    """The origin in a request, if the settings of the collection let its pages search; "*" for a script that they load.

    Empty: it may not. A script is a file that everyone has, and is loaded without an `Origin`.
    """
    origin, served = request.headers.get("origin"), served_of(request)
    if request.url.path in SCRIPTS:
        return "*" if any(each.origins for each in served.collections.values()) else ""
    collection = served.collections.get(request.query_params.get("collection", "") or served.first.name)
    origins = collection.origins if collection is not None else ()
    return origin if origin is not None and (origin in origins or "*" in origins) else ""


async def _check_origin(request: Request) -> None:
    """Refuse a request that a form of another site may have caused; `is_foreign` was asked before."""
    auth = auth_of(request)
    if auth.needs_token and request.headers.get("authorization", "").lower().startswith("bearer "):
        return
    origin = request.headers.get("origin")
    if origin is None and kind_of(request) == "application/json":
        return  # a program: a browser sends Origin with every POST, and asks before it sends this type elsewhere
    if origin not in (None, "null"):
        return
    if not auth.is_own_form(request, (await form_of(request)).get(CSRF_FIELD, "")):
        raise HTTPException(403, "This request does not come from a page of this server, or the page is too old.")


def _declared_size(request: Request) -> int:
    try:
        return int(request.headers.get("content-length", "0"))
    except ValueError:
        raise HTTPException(400, "Content-Length is not a number.") from None


def _limit_body(request: Request, limit: int, timeout: float) -> None:
    """Raise 413 when a body without Content-Length grows too large, 408 when it takes too long."""
    receive: Receive = request.receive
    loop = asyncio.get_running_loop()
    left, ends = limit, loop.time() + timeout

    async def limited() -> Message:
        nonlocal left
        if left < 0:  # the body was whole: what follows is the end of the connection, which may take its time
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"The request took longer than {timeout:g} seconds.") from None
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, f"The body of a request may have {limit:,} bytes.")
            if not message.get("more_body", False):
                left = -1
        return message

    request._receive = limited

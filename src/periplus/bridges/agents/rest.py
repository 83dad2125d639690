"""The verbs as routes of `periplus serve`: REST under `/api`, and the Model Context Protocol at `/mcp`.

Search and useful links have their routes in `web`. Everything here needs the token of an operator, because agents can
have pages fetched; a refusal is an answer with status 400 or 404 and the same `reason` and `hint`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from periplus.web.auth import Audience, auth_of
from periplus.web.rendering import json_response
from periplus.web.routing import Operation, Parameter, route
from periplus.web.served import Served

from .answers import Refusal
from .verbs import VERBS, AgentVerbs

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

PATHS: Final = {
    "read": "/api/read",
    "map": "/api/map",
    "crawl": "/api/crawl",
    "crawl_status": "/api/crawl_status",
    "changes": "/api/changes",
    "query": "/api/query",
}
"""The routes of verbs; the others have theirs in `web`."""
NOT_THERE: Final = frozenset({"not-archived", "no-collection", "no-such-part", "unknown-job", "no-site", "http-404"})
"""Reasons that are answered with 404; others with 400."""


class AgentRoutes:
    """What is added to a server. `allows_sql`: whether `/api/query` answers."""

    def __init__(self, *, allows_sql: bool = False) -> None:
        self._allows_sql = allows_sql
        self._verbs: AgentVerbs | None = None
        self._mcp = _McpEndpoint() if find_spec("mcp") is not None else None

    def routes(self) -> list[Route]:
        """The routes."""
        found: list[Route] = [self._route(name, path) for name, path in PATHS.items()]
        if self._mcp is not None:
            found.append(Route("/mcp", self._mcp, methods=["GET", "POST", "DELETE"], name="mcp"))
        return found

    @asynccontextmanager
    async def lifespan(self, served: Served) -> AsyncIterator[None]:
        """Open what the verbs need, and stop their crawls at the end."""
        self._verbs = AgentVerbs(served, allows_sql=self._allows_sql)
        try:
            if self._mcp is None:
                yield
            else:
                async with self._mcp.running(self._verbs):
                    yield
        finally:
            self._verbs.close()

    def _route(self, name: str, path: str) -> Route:
        verb = VERBS[name]
        is_post = not verb.is_read_only
        operation = Operation(
            (verb.arguments.__doc__ or "").strip(),
            () if is_post else tuple(_parameters(verb.arguments)),
            verb.returns,
            verb.arguments if is_post else None,
        )
        return route(
            path,
            self._posted(name) if is_post else self._asked(name),
            audience=Audience.OPERATOR,
            methods=("POST",) if is_post else ("GET",),
            operation=operation,
            name=f"agent_{name}",
        )

    def _asked(self, name: str) -> Callable[[Request], Response]:
        def respond(request: Request) -> Response:
            return self._answered(name, dict(request.query_params))

        return respond

    def _posted(self, name: str) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                given = msgspec.json.decode(await request.body())
            except msgspec.DecodeError as error:
                raise HTTPException(400, f"The body is not JSON: {error}.") from None
            return self._answered(name, given)

        return respond

    def _answered(self, name: str, given: object) -> Response:
        if self._verbs is None:  # pragma: no cover - the server is not running
            raise HTTPException(503, "The server is starting.")
        answer = self._verbs.call(name, given)
        status = 200
        if isinstance(answer, Refusal):
            status = 404 if answer.reason in NOT_THERE else 400
        return json_response(msgspec.to_builtins(answer, enc_hook=str), status)


def _parameters(arguments: type[Struct]) -> list[Parameter]:
    found = []
    for field in msgspec.inspect.type_info(arguments).fields:  # type: ignore[attr-defined]
        kind, described = field.type, ""
        if isinstance(kind, msgspec.inspect.Metadata):
            described = (kind.extra_json_schema or {}).get("description", "")
            kind = kind.type
        name = "string"
        if isinstance(kind, msgspec.inspect.IntType | msgspec.inspect.BoolType):
            name = "integer" if isinstance(kind, msgspec.inspect.IntType) else "boolean"
        found.append(Parameter(field.name, described, name, is_required=field.required))
    return found


class _McpEndpoint:
    """The protocol over streamable HTTP, without sessions: each request is answered by itself."""

    def __init__(self) -> None:
        self._manager: Any = None

    @asynccontextmanager
    async def running(self, verbs: AgentVerbs) -> AsyncIterator[None]:
        """Answer requests while this is open."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from .mcp_server import mcp_server

        self._manager = StreamableHTTPSessionManager(app=mcp_server(verbs), json_response=True, stateless=True)
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an operator; one that a page of another site caused is refused."""
        request = Request(scope, receive)
        auth = auth_of(request)
        if auth.audience_of(request) < Audience.OPERATOR:
            raise HTTPException(401, "This needs the token of an operator.", headers={"WWW-Authenticate": "Bearer"})
        origin = request.headers.get("origin")
        if origin is not None and not auth.is_same_origin(request, origin):
            raise HTTPException(403, "This request comes from a page of another site.")
        await self._manager.handle_request(scope, receive, send)

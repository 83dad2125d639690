"""The verbs as routes of `periplus serve`: REST under `/api`, and the Model Context Protocol at `/mcp`.

Search and useful links have their routes in `apps.serve`. Everything here needs the token of an operator, because
agents can have pages fetched; what fetches needs POST. A refusal is an answer with status 400 or 404 and the same
`reason` and `hint`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from periplus.apps.serve.auth import Audience
from periplus.apps.serve.rendering import json_response
from periplus.apps.serve.routing import Operation, Parameter, json_of, route
from periplus.apps.serve.served import Served

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
"""The routes of verbs; the others have theirs in `apps.serve`."""
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
        found: list[Route] = []
        for name, path in PATHS.items():
            verb = VERBS[name]
            stored = verb.stored if verb.fetches else verb.arguments
            if stored is not None:
                found.append(self._get_route(name, path, stored))
            if verb.fetches:
                found.append(self._post_route(name, path))
        if self._mcp is not None:
            respond = self._mcp.respond
            found.append(
                route("/mcp", respond, audience=Audience.OPERATOR, methods=("POST",), name="mcp", fetches=True)
            )
            found.append(
                route("/mcp", respond, audience=Audience.OPERATOR, methods=("GET", "DELETE"), name="mcp_session")
            )
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

    def _get_route(self, name: str, path: str, arguments: type[Struct]) -> Route:
        verb = VERBS[name]
        summary = (arguments.__doc__ or "").strip()
        only_posted = set(verb.arguments.__struct_fields__) - set(arguments.__struct_fields__)

        def respond(request: Request) -> Response:
            given = dict(request.query_params)
            if found := sorted(only_posted & given.keys()):
                message = f"{found[0]} needs POST, with the arguments as a JSON object: it sends requests to sites."
                raise HTTPException(405, message, headers={"Allow": "POST"})
            return self._answered(name, given, arguments)

        operation = Operation(summary, tuple(_parameters(arguments)), verb.returns)
        return route(path, respond, audience=Audience.OPERATOR, operation=operation, name=f"agent_{name}")

    def _post_route(self, name: str, path: str) -> Route:
        verb = VERBS[name]
        summary = (verb.arguments.__doc__ or "").strip()

        async def respond(request: Request) -> Response:
            given = await json_of(request)
            return await run_in_threadpool(self._answered, name, given, verb.arguments)

        return route(
            path,
            respond,
            audience=Audience.OPERATOR,
            methods=("POST",),
            operation=Operation(summary, (), verb.returns, verb.arguments),
            name=f"agent_{name}_post",
            fetches=True,
        )

    def _answered(self, name: str, given: object, arguments: type[Struct]) -> Response:
        if self._verbs is None:  # pragma: no cover - the server is not running
            raise HTTPException(503, "The server is starting.")
        answer = self._verbs.call(name, given, arguments)
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

    async def respond(self, request: Request) -> Response:
        """The answer to a request, which the protocol's own code writes."""
        return _McpResponse(self._manager, request)


class _McpResponse(Response):
    def __init__(self, manager: Any, request: Request) -> None:
        super().__init__()
        self._manager = manager
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - its body is limited
        """Hand the request over."""
        await self._manager.handle_request(scope, self._request.receive, send)

"""The description of the API: `/api/openapi.json` for programs, `/api` for people, both made from the routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from periplus import __version__

from .rendering import json_response, page
from .routing import Audience, GuardedRoute, Link, Operation, Parameter, route

NAVIGATION = (Link("API", "/api", Audience.VIEWER),)
_REFERENCE = "#/components/schemas/{name}"
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_CONVERTOR = re.compile(r":\w+(?=\})")
"""What the router reads in `{url:path}`, and OpenAPI does not know."""
_OUTCOMES = {
    "400": "A parameter is wrong.",
    "401": "A token is needed, or the one given is wrong.",
    "403": "The token does not allow this, or a page of another site caused the request.",
    "404": "There is no such thing.",
    "405": "This needs another method: what sends requests to sites needs POST.",
    "429": "Too many attempts with a wrong token.",
    "503": "The collection cannot be read now, or it took too long.",
}


def routes() -> list[Route]:
    """The routes of this module."""
    described = Operation("This description of the API, in OpenAPI 3.1.", (), dict[str, Any])
    return [
        route("/api", _page, audience=Audience.VIEWER, name="api", is_page=True),
        route("/api/openapi.json", _description, audience=Audience.VIEWER, operation=described),
    ]


def operations(request: Request) -> list[GuardedRoute]:
    """The routes of the server that are part of the API."""
    found = [each for each in request.app.routes if isinstance(each, GuardedRoute)]
    return [each for each in found if each.guarded.operation is not None]


def _page(request: Request) -> Response:
    listed = [
        {
            "method": method,
            "path": _CONVERTOR.sub("", each.path),
            "audience": each.guarded.audience.name.lower(),
            "operation": each.guarded.operation,
        }
        for each in operations(request)
        for method in _methods(each)
    ]
    return page(request, "api.html", operations=listed)


def _description(request: Request) -> Response:
    return json_response(describe(operations(request)))


def describe(found: Iterable[GuardedRoute]) -> dict[str, Any]:
    """The routes in OpenAPI 3.1."""
    routes = list(found)
    types = [
        kind
        for each in routes
        for kind in (each.guarded.operation.returns, each.guarded.operation.body)  # type: ignore[union-attr]
        if kind is not None and not isinstance(kind, str)
    ]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    named = {repr(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for each in routes:
        for method in _methods(each):
            path = _CONVERTOR.sub("", each.path)
            paths.setdefault(path, {})[method.lower()] = _operation(each, method, named)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Periplus", "version": __version__, "summary": "Search and facts of crawled collections."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return _plain(document)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """Every array with one schema for its items: generators of clients know neither those of tuples nor none."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(each) for key, each in value.items()}
    if isinstance(kinds := plain.pop("prefixItems", None), list):
        different = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
        plain["items"] = different[0] if len(different) == 1 else {"anyOf": different}
    elif plain.get("type") == "array":
        plain.setdefault("items", {})
    return plain


def _operation(each: GuardedRoute, method: str, schemas: dict[str, Any]) -> dict[str, Any]:
    operation = each.guarded.operation or Operation("")
    media_type, schema = "application/json", schemas.get(repr(operation.returns), {})
    if isinstance(operation.returns, str):
        media_type = operation.returns
        schema = {"type": "array", "items": {}} if media_type.endswith("json") else {"type": "string"}
    described: dict[str, Any] = {
        "operationId": f"{method.lower()}{_NOT_A_NAME.sub('_', each.path)}".strip("_"),
        "summary": operation.summary,
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "responses": {
            "200": {"description": "The answer.", "content": {media_type: {"schema": schema}}},
            **{status: {"description": text} for status, text in _OUTCOMES.items()},
        },
    }
    if operation.body is not None:
        described["requestBody"] = {"content": {"application/json": {"schema": schemas[repr(operation.body)]}}}
    if each.guarded.audience > Audience.ANYONE:
        described["security"] = [{"token": []}]
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "path" if parameter.is_in_path else "query",
        "required": parameter.is_required or parameter.is_in_path,
        "description": parameter.description,
        "schema": {"type": parameter.kind},
    }


def _methods(each: GuardedRoute) -> list[str]:
    return sorted((each.methods or set()) - {"HEAD"})

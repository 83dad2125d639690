"""Errors as answers: a page for people, JSON with `error` and `hint` for programs. No traceback leaves the server."""

from __future__ import annotations

import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.model import CollectionError, PeriplusError

from .auth import Audience
from .rendering import json_response, page
from .routing import is_for_programs

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

"""The routes of the receivers. Whether a sender may send another message is decided before its body is read."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.formats import indexnow, websub
from periplus.formats.indexnow import Submission
from periplus.model import Problem

from ..auth import address_of
from ..rendering import json_response
from ..routing import Audience, GuardedRoute, Operation, kind_of, route
from ..served import Served, served_of
from .intake import Answer, MessageKind, Result, too_many
from .receiving import Receivers, receivers_of
from .reports import Changed
from .websub import PATH

MAX_REPORTED = 10_000
"""URLs in one message to `/api/changed`, as in one of IndexNow."""
_FEW_BYTES = 1_000_000
"""Bytes of a body that does not count as large."""
_LARGE_BODIES = 4
"""Large bodies that are read at once: 64 MB of memory."""


def routes() -> list[GuardedRoute]:
    """The routes of all receivers."""
    report = Operation("Report URLs of yours that are new or changed.", returns=Changed, body=list[str])
    return [
        route("/indexnow", _indexnow_query, audience=Audience.ANYONE),
        route(
            "/indexnow",
            _indexnow_batch,
            audience=Audience.ANYONE,
            methods=("POST",),
            checks_origin=False,
            max_body=indexnow.MAX_BYTES,
        ),
        route("/ping", _ping, audience=Audience.ANYONE),
        route(PATH + "{token}", _websub_question, audience=Audience.ANYONE),
        route(
            PATH + "{token}",
            _websub_message,
            audience=Audience.ANYONE,
            methods=("POST",),
            checks_origin=False,
            max_body=websub.MAX_BYTES,
        ),
        route(
            "/api/changed",
            _changed,
            audience=Audience.OPERATOR,
            methods=("POST",),
            checks_origin=False,
            max_body=indexnow.MAX_BYTES,
            operation=report,
        ),
    ]


@asynccontextmanager
async def lifespan(served: Served) -> AsyncIterator[None]:
    """Check keys and renew subscriptions while the server runs."""
    receivers = await run_in_threadpool(receivers_of, served)
    receivers.start()
    try:
        yield
    finally:
        await run_in_threadpool(receivers.close)


async def _indexnow_query(request: Request) -> Response:
    receivers = _open(request, MessageKind.INDEXNOW)
    return await _submitted(receivers, indexnow.read_query(request.url.query), request)


async def _indexnow_batch(request: Request) -> Response:
    receivers = _open(request, MessageKind.INDEXNOW)
    body = await _body_of(request, receivers, MessageKind.INDEXNOW)
    submission = await run_in_threadpool(indexnow.read_batch, body)
    return await _submitted(receivers, submission, request)


async def _submitted(receivers: Receivers, submission: Submission, request: Request) -> Response:
    answer = await run_in_threadpool(receivers.indexnow.receive, submission, address_of(request))
    return answer.response()


async def _websub_question(request: Request) -> Response:
    receivers = _open(request, MessageKind.WEBSUB)
    intent = websub.read_intent(request.url.query)
    answer = await run_in_threadpool(receivers.websub.verify, request.path_params["token"], intent)
    is_yes = answer.status == 200 and not isinstance(intent, Problem) and answer.text == intent.challenge
    return Response(answer.text, media_type="text/plain") if is_yes else answer.response()


async def _websub_message(request: Request) -> Response:
    receivers = _open(request, MessageKind.WEBSUB)
    body = await _body_of(request, receivers, MessageKind.WEBSUB)
    signature = request.headers.get("x-hub-signature")
    answer = await run_in_threadpool(
        receivers.websub.receive, request.path_params["token"], signature, body, address_of(request)
    )
    return answer.response()


async def _ping(request: Request) -> Response:
    receivers = _open(request, MessageKind.SITEMAP_PING)
    text = request.query_params.get("sitemap", "")
    answer = await run_in_threadpool(receivers.reports.ping, text, address_of(request))
    return answer.response()


async def _changed(request: Request) -> Response:
    """Receive a JSON list of changed URLs. Other origins cannot send that type without a CORS preflight."""
    receivers = _open(request, MessageKind.CHANGED)
    if kind_of(request) != "application/json":
        raise HTTPException(415, "Send a JSON list of URLs with Content-Type: application/json.")
    try:
        texts = msgspec.json.decode(await _body_of(request, receivers, MessageKind.CHANGED), type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        receivers.counts.add(MessageKind.CHANGED, Result.INVALID)
        raise HTTPException(400, 'Send a JSON list of URLs: ["https://example.org/page"]') from None
    if len(texts) > MAX_REPORTED:
        receivers.counts.add(MessageKind.CHANGED, Result.INVALID)
        raise HTTPException(413, f"One message may have {MAX_REPORTED:,} URLs, got {len(texts):,}.")
    answer = await run_in_threadpool(receivers.reports.changed, texts, address_of(request))
    return answer.response() if isinstance(answer, Answer) else json_response(answer)


def _open(request: Request, kind: MessageKind) -> Receivers:
    """The receivers of the server, if there are any and the sender may send another message."""
    receivers = receivers_of(served_of(request))
    if not receivers.is_open:
        raise HTTPException(404, "This server receives no messages: it runs without --receive.")
    if wait := receivers.limits.wait_for_message(address_of(request), time.monotonic()):
        receivers.counts.add(kind, Result.LIMITED)
        raise _http_error(too_many(wait))
    return receivers


async def _body_of(request: Request, receivers: Receivers, kind: MessageKind) -> bytes:
    """The body of a request; only a few large ones are read at once."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) <= _FEW_BYTES:
        return await request.body()
    if receivers.large_bodies >= _LARGE_BODIES:
        receivers.counts.add(kind, Result.LIMITED)
        raise _http_error(Answer(429, "Too many large messages at once.", 5.0))
    receivers.large_bodies += 1
    try:
        return await request.body()
    finally:
        receivers.large_bodies -= 1


def _http_error(answer: Answer) -> HTTPException:
    return HTTPException(answer.status, answer.text, headers={"Retry-After": answer.response().headers["Retry-After"]})

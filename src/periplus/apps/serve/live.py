"""The live pages: how a crawl goes, what waits in its queues, and controls for operators.

Numbers arrive as server-sent events (`/live/events`); without scripts the page reloads itself every ten seconds. Where
no crawl runs, the pages show what the files of the collection say. Everything that changes a crawl is a POST of an
operator and goes through the control socket of the crawl (`collection.control`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from math import floor, log10
from typing import Any, cast
from urllib.parse import urlencode

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from periplus.collection.control import ControlClient, CrawlRefused, LiveStatus, NoCrawlRuns
from periplus.collection.facts.site_list import all_waiting, longest_queues, queue_of
from periplus.model import Site, UsageError

from . import live_urls
from .live_feed import MAX_LISTENERS, TABLES, Feeds, LiveFeed
from .rendering import json_response, page
from .routing import Audience, Link, Operation, Parameter, form_of, json_of, route
from .served import Served, ServedCollection, chosen_collection, served_of

NAVIGATION = (Link("Live", "/live"),)

_SITES_SHOWN = 100
"""Sites in the table of queues."""
_URLS_SHOWN = 500
"""URLs of one site on a page; the download has all of them."""
_CONTROL_TIMEOUT = 25.0
"""Seconds for a crawl to do what was asked: less than a request may take."""
_PATTERN_VERBS = ("exclude", "prefer", "allow")
_CURVE = (300.0, 60.0)
"""Width and height of a curve, in units of its picture: a second is one wide."""


class Controlled(Struct, frozen=True):
    """What a crawl answered to a control."""

    verb: str
    result: dict[str, Any]


def routes() -> list[Route]:
    """The live pages."""
    named = (Parameter("collection", "The name of a collection; by default the first."),)
    return [
        route("/live", _overview, audience=Audience.VIEWER, is_page=True),
        route("/live/events", _events, audience=Audience.VIEWER),
        route("/live/queue", _queue, audience=Audience.VIEWER, is_page=True),
        route("/live/queue.txt", _queue_text, audience=Audience.VIEWER),
        *live_urls.routes(),
        route("/live/control", _control, audience=Audience.OPERATOR, methods=("POST",)),
        route(
            "/api/live",
            _status_json,
            audience=Audience.VIEWER,
            operation=Operation(
                "The status of the crawl that runs in a collection; 409 if none does.", named, LiveStatus
            ),
        ),
        route(
            "/api/live/control",
            _control_json,
            audience=Audience.OPERATOR,
            methods=("POST",),
            operation=Operation(
                "Control the crawl that runs: a JSON object with a verb of docs/live.md and its arguments.",
                named,
                Controlled,
                dict[str, Any],
            ),
        ),
    ]


@asynccontextmanager
async def lifespan(served: Served) -> AsyncIterator[None]:
    """Close the connections to crawls when the server stops."""
    feeds = feeds_of(served)
    try:
        yield
    finally:
        feeds.close()


_FEEDS = "live_feeds"


def feeds_of(served: Served) -> Feeds:
    """The feeds of a server, made when they are first used."""
    feeds = getattr(served, _FEEDS, None)
    if feeds is None:
        feeds = Feeds(served)
        setattr(served, _FEEDS, feeds)
    return cast("Feeds", feeds)


def feed_of(request: Request) -> tuple[ServedCollection, LiveFeed]:
    """The collection of a request, and its feed."""
    collection = chosen_collection(request)
    return collection, feeds_of(served_of(request)).of(collection)


# pages


async def _overview(request: Request) -> Response:
    collection, feed = feed_of(request)
    view = await feed.current()
    return page(
        request,
        "live.html",
        collection=collection,
        view=view,
        tables=TABLES,
        listed=live_urls.KINDS,
        rates=feed.rates,
        points=curve(feed.rates),
        top=scale_of(feed.rates),
        timelines={site: str(timeline) for site, timeline in feed.timelines.items()},
        done=request.query_params.get("done", "")[:200],
    )


def scale_of(values: list[float]) -> float:
    """The upper end of an axis: the next of 1, 2 and 5 times a power of ten."""
    most = max(values, default=0.0)
    power = 10.0 ** floor(log10(most)) if most > 0 else 1.0
    return next(step * power for step in (1, 2, 5, 10) if step * power >= most)


def curve(values: list[float]) -> str:
    """The points of a polyline, from 0 to `scale_of` the values; the last value is at the right end."""
    width, height = _CURVE
    most, first = scale_of(values), width - len(values) + 1
    return " ".join(f"{first + place:.0f},{height - value / most * height:.1f}" for place, value in enumerate(values))


def _queue(request: Request) -> Response:
    collection = chosen_collection(request)
    layout = collection.collection.layout
    site = request.query_params.get("site", "")
    urls = queue_of(layout, Site(site), _URLS_SHOWN + 1) if site else []
    return page(
        request,
        "live_queue.html",
        collection=collection,
        site=site,
        urls=urls[:_URLS_SHOWN],
        is_more=len(urls) > _URLS_SHOWN,
        sites=[] if site else longest_queues(layout, _SITES_SHOWN),
    )


def _queue_text(request: Request) -> Response:
    """The URLs that wait, one a line: of one site in its order, or of all."""
    collection = chosen_collection(request)
    layout = collection.collection.layout
    site = request.query_params.get("site", "")

    def lines() -> Iterator[str]:
        urls = (each.url for each in queue_of(layout, Site(site))) if site else all_waiting(layout)
        return (f"{url}\n" for url in urls)

    headers = {"Content-Disposition": 'attachment; filename="queue.txt"'}
    return StreamingResponse(lines(), media_type="text/plain; charset=utf-8", headers=headers)


# events


class EventStream(StreamingResponse):
    """Server-sent events for one listener, which is counted until the connection ends."""

    def __init__(self, feeds: Feeds, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._feeds = feeds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client leaves or the server stops."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feeds.listeners -= 1


async def _events(request: Request) -> Response:
    _, feed = feed_of(request)
    served = served_of(request)
    feeds = feeds_of(served)
    if feeds.listeners >= MAX_LISTENERS:
        raise HTTPException(503, f"{MAX_LISTENERS} pages listen already.", headers={"Retry-After": "60"})
    feeds.listeners += 1
    return EventStream(feeds, feed.listen(served))


# controls


async def _control(request: Request) -> Response:
    """Do what a form asks. A preview is a page of its own, with a button that does it."""
    collection = chosen_collection(request)
    form = await form_of(request)
    verb, arguments = asked_by(form)
    answer = await run_in_threadpool(control, collection, verb, arguments)
    feeds_of(served_of(request)).of(collection).forget()
    if arguments.get("preview"):
        values = {"verb": verb, "pattern": arguments["pattern"], "found": answer}
        return page(request, "live_preview.html", collection=collection, **values)
    done = verb if verb not in _PATTERN_VERBS else f"{verb} {arguments['pattern']}"
    target = f"/live?{_query(collection, served_of(request), done)}"
    return RedirectResponse(target, 303)


def _query(collection: ServedCollection, served: Served, done: str) -> str:
    named = {} if collection is served.first else {"collection": collection.name}
    return urlencode({**named, "done": done})


def asked_by(form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """The verb and its arguments, from the fields of a form."""
    verb = form.get("verb", "")
    if verb in ("pause", "resume", "stop"):
        return verb, {}
    if verb == "pace":
        return verb, {"rate": _rate(form.get("rate", ""))}
    if verb in _PATTERN_VERBS:
        arguments: dict[str, Any] = {"pattern": form.get("pattern", "").strip()}
        if verb != "allow":
            arguments["preview"] = form.get("preview", "") == "1"
        return verb, arguments
    raise HTTPException(400, "There is no such control.")


def _rate(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise UsageError(f"rate must be a number, got {text[:50]!r}", hint="requests a second, such as 5") from None


def control(collection: ServedCollection, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Ask the crawl that runs in a collection."""
    try:
        with ControlClient(collection.folder, timeout=_CONTROL_TIMEOUT) as crawl:
            return crawl.ask(verb, **arguments)
    except NoCrawlRuns:
        raise HTTPException(409, "No crawl runs in this collection.") from None
    except CrawlRefused as error:
        raise HTTPException(400, f"{error}: {error.hint}" if error.hint else str(error)) from None


async def _control_json(request: Request) -> Response:
    asked = await json_of(request)
    verb = str(asked.pop("verb", ""))
    collection, feed = feed_of(request)
    result = await run_in_threadpool(control, collection, verb, asked)
    feed.forget()
    return json_response(Controlled(verb, result))


async def _status_json(request: Request) -> Response:
    collection = chosen_collection(request)
    return json_response(await run_in_threadpool(control, collection, "status", {}))

"""Every request of a page is judged here before it leaves the browser, and scripts are kept for the next page.

The document itself is not requested again: the browser gets what was fetched for the page. Other pages are never loaded
in its place, because neither robots.txt nor politeness was asked for them; where scripts wanted to go is noted instead.
Kinds of requests that only matter to the eye are refused, and so is everything beyond the budget of a page.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from periplus.model import Clock, Site, SubResponse, Url
from periplus.urls import canonical, site_of

from .settings import RenderSettings

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Request, Response, Route

    from .gate import GatePassage

CACHED_KINDS: Final = frozenset({"script", "stylesheet"})
"""Kinds of answers that are kept for the next page of the site."""
_CACHE_AGE: Final = 600.0
"""Seconds that they are kept, unless the server forbids it: a crawl asks for many pages of a site in a row."""
_CACHE_ENTRIES: Final = 256
"""Answers that are kept of a site."""
_CACHE_BYTES: Final = 32_000_000
"""Bytes of one site's answers that are kept."""
_LARGEST_CACHED: Final = 5_000_000
"""Bytes of one answer that is kept."""
_MAX_ARCHIVED: Final = 200
"""Answers of a page that are archived, if that is asked for."""
_WIRE_FIELDS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
"""Fields that describe how a body was sent; the browser gets bodies as they are."""

Fields = tuple[tuple[str, str], ...]


class FetchedDocument(Struct, frozen=True):
    """The page as it was fetched: its body without content codings."""

    url: Url
    status: int
    headers: Fields
    body: bytes


class Visit:
    """A page while it is open: its budget, what is under way, and what was noted."""

    def __init__(self, document: FetchedDocument, address: str, settings: RenderSettings, *, is_archived: bool) -> None:
        """`address` is the URL that the browser opens, with `#!` if the page is behind one."""
        self.document = document
        self.address = address
        self.site: Site = site_of(document.url)
        self.max_requests = settings.max_requests
        self.requests = self.same_site = self.navigations = 0
        self.is_over_budget = False
        self.target: Url | None = None
        self.responses: list[SubResponse] = []
        self.is_archived = is_archived
        self.reading: set[asyncio.Task[None]] = set()
        self.under_way: set[Request] = set()
        self.active_at = time.monotonic()

    def began(self, request: Request) -> None:
        """Record that a request is under way."""
        self.under_way.add(request)
        self.active_at = time.monotonic()

    def ended(self, request: Request) -> None:
        """Record that a request has ended."""
        self.under_way.discard(request)
        self.active_at = time.monotonic()

    def quiet_for(self, now: float) -> float:
        """Seconds since the network was last in use."""
        return 0.0 if self.under_way else now - self.active_at

    async def settled(self, timeout: float) -> None:
        """Wait for answers that are being kept: they can be read as long as the page is open."""
        if self.reading:
            await asyncio.wait(self.reading, timeout=timeout)

    def charge(self, url: str) -> bool:
        """Count a request; whether it is within the budget."""
        if self.requests >= self.max_requests:
            self.is_over_budget = True
            return False
        self.requests += 1
        self.same_site += _site(url) == self.site
        return True


class _Kept(Struct, frozen=True):
    """An answer in the cache."""

    status: int
    headers: dict[str, str]
    body: bytes
    expires_at: float


class ScriptCache:
    """Scripts and style sheets of one context, by URL; the oldest go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0

    def get(self, url: str) -> _Kept | None:
        """The answer for a URL, if it is still good."""
        kept = self._kept.get(url)
        return kept if kept is not None and kept.expires_at > time.monotonic() else None

    def put(self, url: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Keep an answer, if its server allows it."""
        if len(body) > _LARGEST_CACHED or "no-store" in headers.get("cache-control", "").lower():
            return
        self._drop(url)
        kept = {name: value for name, value in headers.items() if name.lower() not in _WIRE_FIELDS}
        self._kept[url] = _Kept(status, kept, body, time.monotonic() + _CACHE_AGE)
        self._bytes += len(body)
        while len(self._kept) > _CACHE_ENTRIES or self._bytes > _CACHE_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, url: str) -> None:
        kept = self._kept.pop(url, None)
        self._bytes -= 0 if kept is None else len(kept.body)


class Interception:
    """Judges the requests of one context, which shows one page at a time."""

    def __init__(self, settings: RenderSettings, passage: GatePassage, clock: Clock) -> None:
        self._settings = settings
        self._passage = passage
        self._clock = clock
        self._blocked = frozenset(settings.blocked)
        self._cache = ScriptCache()
        self.visit: Visit | None = None

    async def install(self, context: BrowserContext) -> None:
        """Have every request of a context judged."""
        await context.route("**/*", self._judge)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        context.on("request", self._on_request)
        context.on("requestfinished", self._on_end)
        context.on("requestfailed", self._on_end)
        context.on("response", self._on_response)

    async def _judge(self, route: Route, request: Request) -> None:
        with contextlib.suppress(Exception):  # the page may be closed while its request is judged
            visit = self.visit
            if visit is None or not request.url.startswith(("http://", "https://")):
                await route.abort("blockedbyclient")
            elif request.is_navigation_request() and request.frame.parent_frame is None:
                await self._navigate(visit, route, request)
            elif request.resource_type in self._blocked:
                await route.abort("blockedbyclient")
            else:
                await self._load(visit, route, request)

    async def _navigate(self, visit: Visit, route: Route, request: Request) -> None:
        """The page itself, the first time from what was fetched; nothing else in its place."""
        visit.navigations += 1
        if visit.navigations == 1:
            visit.address = request.url
            document = visit.document
            headers = _for_browser(document.headers)
            await route.fulfill(status=document.status, headers=headers, body=document.body)
            return
        is_same = request.url.partition("#")[0] == visit.address.partition("#")[0]
        if is_same and visit.navigations <= self._settings.max_navigations and visit.charge(request.url):
            await route.continue_()
        else:
            if not is_same:
                visit.target = visit.target or canonical(request.url)
            await route.abort("aborted")

    async def _load(self, visit: Visit, route: Route, request: Request) -> None:
        kept = self._cache.get(request.url) if request.method == "GET" else None
        if kept is not None:
            await route.fulfill(status=kept.status, headers=kept.headers, body=kept.body)
        elif self._passage.is_exhausted or not visit.charge(request.url):
            visit.is_over_budget = True
            await route.abort("blockedbyclient")
        else:
            await route.continue_()

    def _on_request(self, request: Request) -> None:
        if self.visit is not None:
            self.visit.began(request)

    def _on_end(self, request: Request) -> None:
        if self.visit is not None:
            self.visit.ended(request)

    def _on_response(self, response: Response) -> None:
        visit, request = self.visit, response.request
        if visit is None or request.method != "GET" or not response.url.startswith(("http://", "https://")):
            return
        is_kept = request.resource_type in CACHED_KINDS and response.status == 200
        is_archived = visit.is_archived and len(visit.responses) < _MAX_ARCHIVED
        if request.is_navigation_request() and request.frame.parent_frame is None:
            return
        if (is_kept and self._cache.get(response.url) is None) or is_archived:
            task = asyncio.ensure_future(self._keep(visit, response, is_kept=is_kept, is_archived=is_archived))
            visit.reading.add(task)
            task.add_done_callback(visit.reading.discard)

    async def _keep(self, visit: Visit, response: Response, *, is_kept: bool, is_archived: bool) -> None:
        started_at = self._clock.now()
        with contextlib.suppress(Exception):  # redirects have no body, and the page may be closed by now
            body = await response.body()
            headers = await response.all_headers()
            if is_kept:
                self._cache.put(response.url, response.status, headers, body)
            url = canonical(response.url)
            if is_archived and url is not None:
                kept = tuple((name, value) for name, value in headers.items() if name not in _WIRE_FIELDS)
                sent = _request(url, await response.request.all_headers())
                visit.responses.append(SubResponse(url, response.status, kept, body, started_at, sent))


def _for_browser(headers: Fields) -> dict[str, str]:
    """The fields of a document for the browser: cookies are separated by line breaks, other fields by commas."""
    joined: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key not in _WIRE_FIELDS:
            between = "\n" if key == "set-cookie" else ", "
            joined[key] = f"{joined[key]}{between}{value}" if key in joined else value
    return joined


_SECRET_FIELDS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


def _request(url: Url, headers: Mapping[str, str]) -> bytes:
    """The request of a browser as it is archived: in the form of HTTP/1.1, without what signs it in."""
    host, slash, path = url.partition("://")[2].partition("/")
    others = ((name, value) for name, value in headers.items() if name != "host" and name not in _SECRET_FIELDS)
    fields = "".join(f"{name}: {value}\r\n" for name, value in others if not name.startswith(":"))
    return f"GET {slash}{path} HTTP/1.1\r\nhost: {host}\r\n{fields}\r\n".encode()


def _site(url: str) -> Site | None:
    found = canonical(url)
    return None if found is None else site_of(found)

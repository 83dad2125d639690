"""What Scrapy got, in our words: the outcome of each request, reported when the spider is done with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from periplus.model import Failed, Fetched, FetchOutcome, FetchTask, NotModified, Redirected, Url, UsageError
from periplus.urls import canonical

if TYPE_CHECKING:
    from .scheduler import Scheduler

TASK = "periplus"
"""The key of a request's `meta` that names its task."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FAILURES = (
    ("CannotResolveHostError", "dns-not-found"),
    ("DNSLookupError", "dns-not-found"),
    ("DownloadConnectionRefusedError", "connect-refused"),
    ("ConnectionRefusedError", "connect-refused"),
    ("DownloadTimeoutError", "timeout"),
    ("TimeoutError", "timeout"),
    ("TCPTimedOutError", "connect-timeout"),
    ("TunnelError", "proxy"),
    ("ResponseNeverReceived", "reset"),
    ("ConnectionLost", "reset"),
    ("ConnectionDone", "closed-early"),
    ("ResponseDataLossError", "closed-early"),
    ("ResponseFailed", "reset"),
    ("DownloadFailedError", "connect-failed"),
    ("ConnectError", "connect-failed"),
)
"""Scrapy's and Twisted's exceptions by name, and our reasons; the first that fits."""


def _scheduler(crawler: Crawler) -> Scheduler:
    from .scheduler import Scheduler

    scheduler = Scheduler.of(crawler)
    if scheduler is None:
        raise UsageError(
            "SCHEDULER is not periplus_scrapy.Scheduler",
            hint="set ADDONS = {'periplus_scrapy.Addon': 300}",
        )
    return scheduler


class ReportMiddleware:
    """A downloader middleware, next to the downloader: responses and exceptions become outcomes."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ReportMiddleware:
        """As Scrapy makes it."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep the outcome until the spider is done; a redirect or an answer to be tried again is not shown to it."""
        scheduler = _scheduler(self._crawler)
        task = scheduler.task_of(request)
        if task is None:
            return response
        outcome = outcome_of(task, request, response, scheduler.now())
        if isinstance(outcome, Redirected):
            scheduler.redirected(outcome)
            raise _quiet(request, f"redirected to {outcome.target}")
        if isinstance(outcome, NotModified) or scheduler.is_tried_again(task, f"http-{response.status}"):
            scheduler.wire.end(outcome)
            raise _quiet(request, f"answered {response.status}")
        scheduler.wire.hold(outcome, head_of(request))
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Report a failure; one that is tried again is not shown to the spider."""
        scheduler = _scheduler(self._crawler)
        task = scheduler.task_of(request)
        if task is None:
            return
        reason = reason_of(exception)
        is_again = scheduler.is_tried_again(task, reason)
        now = scheduler.now()
        scheduler.wire.end(Failed(task, reason, now, 0.0, detail=str(exception)[:200]))
        if is_again:
            raise _quiet(request, f"{reason}, tried again")


class SpiderOutputMiddleware:
    """A spider middleware, next to the engine: requests are noted as they leave the spider, then the page is done.

    So if the process dies between the two, the page is fetched again, and none of its requests is lost.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SpiderOutputMiddleware:
        """As Scrapy makes it."""
        return cls(crawler)

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Note what leaves the spider."""
        try:
            for each in result:
                yield self._noted(each)
        finally:
            self._done(response)

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Note what leaves the spider."""
        try:
            async for each in result:
                yield self._noted(each)
        finally:
            self._done(response)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:  # noqa: ARG002
        """The page was fetched, whatever the spider made of it."""
        self._done(response)

    def _noted(self, each: Any) -> Any:
        if isinstance(each, Request):
            _scheduler(self._crawler).note(each)
        return each

    def _done(self, response: Response) -> None:
        request = response.request
        url = None if request is None else request.meta.get(TASK)
        if url is not None:
            _scheduler(self._crawler).wire.release(url)


def outcome_of(task: FetchTask, request: Request, response: Response, now: float) -> FetchOutcome:
    """A response in our words."""
    took = float(request.meta.get("download_latency", 0.0))
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in response.headers.items()
        for value in values
    )
    ip = None if response.ip_address is None else str(response.ip_address)
    if response.status in _REDIRECTS:
        location = (response.headers.get("Location") or b"").decode("latin-1")
        target = canonical(location, Url(response.url)) if location else None
        if target is None:
            return Failed(task, "bad-redirect", now - took, took, status=response.status, ip=ip)
        return Redirected(task, response.status, target, headers, now - took, took, ip, response.body)
    if response.status == 304:
        return NotModified(task, headers, now - took, took, ip)
    is_cut = "dataloss" in response.flags or "download_stopped" in response.flags
    return Fetched(task, response.status, headers, response.body, now - took, took, ip, is_cut)


def _quiet(request: Request, why: str) -> IgnoreRequest:
    """The exception that drops a request without calling the spider's `errback`."""
    request.errback = None
    return IgnoreRequest(why)


def reason_of(exception: Exception) -> str:
    """The reason of a failure, in our words."""
    names = {kind.__name__ for kind in type(exception).__mro__}
    return next((reason for name, reason in _FAILURES if name in names), "other")


def head_of(request: Request) -> bytes:
    """The head of a request as it was sent, without cookies."""
    host, _, path = request.url.partition("://")[2].partition("/")
    lines = [f"{request.method} /{path.partition('#')[0]} HTTP/1.1".encode(), b"Host: " + host.encode()]
    lines += [b"%s: %s" % (name, b", ".join(values)) for name, values in request.headers.items() if name != b"Cookie"]
    return b"\r\n".join([*lines, b"", b""])

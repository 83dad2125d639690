"""Scrapy's scheduler: our engine decides what is fetched next, and survives the death of the process."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import deferred_from_coro

from periplus.collection.collection import held, planned
from periplus.collection.opening import settle
from periplus.collection.shards import ShardMaker, opened_engine
from periplus.engine.clock import SystemClock
from periplus.engine.frontier import is_tried_again
from periplus.engine.plugins import OwnParts
from periplus.formats.robots import product_token
from periplus.model import Discovery, Failed, FetchTask, Redirected, Source, Url
from periplus.policy.found import FoundUrl
from periplus.store.layout import Layout
from periplus.urls import canonical

from .middleware import TASK, ReportMiddleware, SpiderOutputMiddleware, head_of, outcome_of, reason_of
from .wire import Requests, ScrapyWire, encoded

if TYPE_CHECKING:
    from periplus.engine.engine import Engine

_OPTIONS: dict[str, object] = {
    "scope.kind": "any",
    "sitemaps.follow": False,
    "crawl.workers": 1,
    "crawl.limit": 0,
    "extensions.refused": [],
    "dust.enabled": False,
    "absence.enabled": False,
}
"""What a spider decides itself: which URLs are wanted, and how many."""
_FORCED: dict[str, object] = {
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "RETRY_ENABLED": False,
    "METAREFRESH_ENABLED": False,
}
"""What the frontier does in Scrapy's place: robots.txt, delays, redirects, retries."""
_LONGEST_WAIT = 1.0
"""Maximum seconds until the frontier is asked again."""
_SHORTEST_WAIT = 0.01
"""Minimum seconds until the frontier is asked again, so that a frontier that is always due does not spin."""
_MAX_STEPS = 4
"""Maximum steps of the engine in one call of the reactor: address, robots.txt and page are due one after another."""
_MAX_LEVEL = 16.0
"""Maximum distance of a score from 1, in powers of two: a priority of 160."""


def _politeness(settings: BaseSettings) -> dict[str, object]:
    """Delay and parallel requests as the project sets them; Scrapy's defaults are not the project's."""
    options: dict[str, object] = {}
    if settings.getpriority("DOWNLOAD_DELAY"):
        options["politeness.delay"] = settings.getfloat("DOWNLOAD_DELAY")
    if settings.getpriority("CONCURRENT_REQUESTS_PER_DOMAIN"):
        options["politeness.max_parallel"] = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    return options


class Addon:
    """All settings of the bridge: `ADDONS = {"periplus_scrapy.Addon": 300}` and `PERIPLUS_DIR`."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Put scheduler and middlewares in their places, and switch off what the frontier does."""
        if not settings.get("PERIPLUS_DIR"):
            raise NotConfigured("PERIPLUS_DIR is not set: give the folder of a collection")
        settings.set("PERIPLUS_OPTIONS", _politeness(settings) | settings.getdict("PERIPLUS_OPTIONS"), "cmdline")
        settings.set("SCHEDULER", Scheduler, "cmdline")
        for name, value in _FORCED.items():
            settings.set(name, value, "cmdline")
        settings["DOWNLOADER_MIDDLEWARES"][ReportMiddleware] = 995
        settings["SPIDER_MIDDLEWARES"][SpiderOutputMiddleware] = 5


class Scheduler(BaseScheduler):
    """`SCHEDULER` of a Scrapy project. What cannot be kept as JSON, and other methods than GET, wait in memory."""

    _made: ClassVar[WeakKeyDictionary[Crawler, Scheduler]] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self._crawler = crawler
        self._folder = folder
        self._stack = ExitStack()
        self._noted: dict[int, tuple[Request, bool]] = {}
        self._pending: dict[Url, tuple[bytes, Discovery]] = {}
        self._seen_in_memory: set[bytes] = set()
        self._timer: CallLaterResult | None = None
        self._nudged_at = 0.0
        self._made[crawler] = self

    @classmethod
    def of(cls, crawler: Crawler) -> Scheduler | None:
        """The scheduler of a crawler."""
        return cls._made.get(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        """Create the scheduler, as Scrapy calls it."""
        folder = crawler.settings.get("PERIPLUS_DIR")
        if not folder:
            raise NotConfigured("PERIPLUS_DIR is not set: give the folder of a collection")
        return cls(crawler, Path(folder))

    def open(self, spider: Spider) -> None:
        """Begin or continue the collection."""
        settings = self._crawler.settings
        agent = product_token(settings.get("USER_AGENT") or "Scrapy") or "Scrapy"
        options = _OPTIONS | {"crawl.product": agent} | settings.getdict("PERIPLUS_OPTIONS")
        self._stack.enter_context(held(self._folder))
        collection = planned(self._folder, found=list(spider.start_urls), options=options, needs_seeds=False)
        collection.save()
        self._spider = spider
        self._clock = SystemClock()
        self._retries = collection.config.retries
        self.wire = ScrapyWire(self._clock, settings.getint("CONCURRENT_REQUESTS"), self._nudge)
        self._requests = Requests(self._folder / "scrapy")
        maker = ShardMaker(
            collection.config,
            self._folder,
            collection.seeds,
            parts=OwnParts(want=self._is_asked_for),
            wire=lambda _clock: self.wire,
        )
        self._engine: Engine = opened_engine(maker, Layout(self._folder), 0, 1)

    def close(self, reason: str) -> None:  # noqa: ARG002
        """Make everything durable. What was in flight is fetched by the next run."""
        if self._timer is not None:
            self._timer.cancel()
        self._flush()
        self._engine.stop(0.0)
        self._engine.close()
        self._requests.close()
        settle(self._folder)
        self._stack.close()

    # requests in

    def enqueue_request(self, request: Request) -> bool:
        """Keep a request, unless its URL was asked for before."""
        noted = self._noted.pop(id(request), None)
        return self._accept(request) if noted is None else noted[1]

    def note(self, request: Request) -> None:
        """Keep a request as soon as it leaves the spider; Scrapy enqueues it later."""
        self._noted[id(request)] = request, self._accept(request)

    def _accept(self, request: Request) -> bool:
        request.meta.pop(TASK, None)
        depth = int(request.meta.get("depth", 0))
        is_kept = request.method == "GET" and not request.body and not (request.dont_filter and depth)
        url = canonical(request.url) if is_kept else None
        if url is not None and (url in self._pending or url in self._requests):
            self._count("periplus/filtered")
            return False
        body = encoded(request, self._spider) if url is not None else None
        if url is None or body is None:
            return self._keep_in_memory(request)
        level = min(max(request.priority / 10, -_MAX_LEVEL), _MAX_LEVEL)
        source = Source.LINK if depth else Source.SEED
        self._pending[url] = body, Discovery(url, source, self.now(), depth, score=2.0**level)
        self._count("periplus/enqueued")
        return True

    def _keep_in_memory(self, request: Request) -> bool:
        mark = self._crawler.request_fingerprinter.fingerprint(request)
        if mark in self._seen_in_memory and not request.dont_filter:
            return False
        self._seen_in_memory.add(mark)
        self._requests.in_memory.append(request)
        self._count("periplus/kept_in_memory")
        return True

    def redirected(self, outcome: Redirected) -> None:
        """Keep the request of a redirected URL, with its callback, for the target."""
        body = self._requests.raw(outcome.task.url)
        if body is not None:
            before = self._requests.get(outcome.task.url, self._spider)
            moved = None if before is None else encoded(before.replace(url=outcome.target), self._spider)
            self._requests.put([(outcome.target, moved or body)])
        self.wire.end(outcome)

    def _is_asked_for(self, url: Url, _found: FoundUrl) -> bool:
        """Whether the spider requested a URL; links that Periplus finds are not fetched otherwise."""
        return url in self._pending or url in self._requests

    def _flush(self) -> None:
        """Requests first, then the frontier that refers to them."""
        if self._pending:
            pending = list(self._pending.items())
            self._requests.put((url, body) for url, (body, _) in pending)
            self._engine.discover([discovery for _, (_, discovery) in pending], at_once=False)
            self._pending.clear()

    # requests out

    def has_pending_requests(self) -> bool:
        """Whether something waits here, or is being fetched."""
        return bool(self._requests.in_memory or self._pending) or not self._engine.is_idle

    def next_request(self) -> Request | None:
        """The next request that is due now."""
        self._flush()
        self._step()
        while self.wire.files:
            deferred_from_coro(self._fetch_file(self.wire.files.popleft()))
        if self._requests.in_memory:
            return self._requests.in_memory.popleft()
        while self.wire.pages:
            task = self.wire.pages.popleft()
            request = self._requests.get(task.url, self._spider)
            if request is not None:
                request.meta[TASK] = task.url
                return request
            self.wire.refuse(task, "not-wanted")
        self._nudge_later()
        return None

    def _step(self) -> None:
        """Let the engine work until pages wait, or nothing is due; an answer allows what the next step grants."""
        for _ in range(_MAX_STEPS):
            if self.wire.pages:
                break
            self._engine.step(0.0)
            if not (self.wire.has_ended or self._engine.machine.wants_grant(self.now())):
                break

    def _nudge_later(self) -> None:
        """Wake Scrapy when the next visit is due: by itself it polls only after a response, or every five seconds."""
        next_at = self._engine.machine.frontier.next_at
        now = self.now()
        at = now + _LONGEST_WAIT if next_at is None else min(max(now + _SHORTEST_WAIT, next_at), now + _LONGEST_WAIT)
        if self._timer is None or at < self._nudged_at:
            if self._timer is not None:
                self._timer.cancel()
            self._nudged_at = at
            self._timer = call_later(at - now, self._nudged)

    def _nudged(self) -> None:
        self._timer = None
        self._nudge()

    def _nudge(self) -> None:
        """Have Scrapy ask for the next request soon."""
        slot = getattr(self._crawler.engine, "_slot", None)
        if slot is not None:
            slot.nextcall.schedule()

    async def _fetch_file(self, task: FetchTask) -> None:
        """A robots.txt or the like, through the same downloader; the spider does not see it."""
        request = Request(task.url, meta={"dont_redirect": True, "handle_httpstatus_all": True}, dont_filter=True)
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:  # whatever a downloader raises
            self.wire.end(Failed(task, reason_of(error), self.now(), 0.0, detail=str(error)[:200]))
        else:
            outcome = outcome_of(task, request, response, self.now())
            self.wire.hold(outcome, head_of(request))
            self.wire.release(task.url)

    # what the middlewares ask

    def task_of(self, request: Request) -> FetchTask | None:
        """The task of a request, if it came from the frontier."""
        url = request.meta.get(TASK)
        return None if url is None else self.wire.open.get(url)

    def is_tried_again(self, task: FetchTask, reason: str) -> bool:
        """Whether the frontier will try a URL again that failed for this reason."""
        return is_tried_again(self._retries, reason, task.attempt)

    def now(self) -> float:
        """POSIX time."""
        return self._clock.now()

    def _count(self, name: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(name)

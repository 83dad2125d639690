"""Some pages that live, and a crawl that comes back to them: the real scheduler on a real state, in virtual time.

Every page says how often it changes, where it leads, and how its server answers. A request takes no time, so that a
month passes in a moment.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate
from functools import cache
from random import Random

from msgspec import Struct

from periplus.content import read_page, version_of
from periplus.crawl.frontier import PolitenessSettings, Watching
from periplus.crawl.scheduler import CrawlScheduler
from periplus.model import (
    ChangeLevel,
    Digests,
    Discovery,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    Located,
    NotModified,
    Purpose,
    Reading,
    Source,
    State,
    Url,
    UrlRecord,
)
from periplus.policy.filters import Chain
from periplus.policy.ordering import ordering
from periplus.policy.refresh import RefreshSettings, Weigher
from periplus.store import MemoryEventSink, MemoryState

DAY = 86_400.0
START = 1_000 * DAY
HOME = "http://a.test"


class Living(Struct):
    """A page: a change `every` so many days, the first after `begins`; each has so much `replaced`.

    `leads` says where it leads on which day.
    """

    every: float = 1e9
    replaced: float = 1.0
    begins: float = 0.0
    leads: Callable[[float], list[str]] = lambda _day: []
    answers_304: bool = False
    is_copy: bool = False
    fails: bool = False


class LivingWeb:
    """A site of such pages, crawled and watched."""

    def __init__(
        self,
        pages: dict[str, Living],
        *,
        visits_a_day: float = 24.0,
        settings: RefreshSettings | None = None,
        weigh: Weigher | None = None,
        state: State | None = None,
    ) -> None:
        self.pages = pages
        self.state: State = state or MemoryState()
        self.now = START
        self.visits: Counter[str] = Counter()
        self.lanes: Counter[Lane] = Counter()
        self._settings, self._weigh, self._budget = settings, weigh, visits_a_day
        self.scheduler = self.opened(is_watching=False)

    def opened(self, *, is_watching: bool = True) -> CrawlScheduler:
        """A scheduler on the state as it is."""
        return CrawlScheduler(
            self.state,
            guard=Chain([]),
            ordering=ordering("breadth_first"),
            events=MemoryEventSink(),
            agent="Periplus",
            random=Random(1),
            politeness=PolitenessSettings(delay=0.0, slow_factor=0.0, ip_delay=0.0, lease=1e9),
            refresh=self._settings,
            watching=Watching(self._budget) if is_watching else None,
            weigh=self._weigh,
        )

    def crawl(self, *paths: str) -> None:
        """Visit all that can be found from these once."""
        seeds = [Discovery(Url(f"{HOME}{path}"), Source.SEED, self.now) for path in paths]
        self.scheduler.discover(seeds, self.now)
        while not self.scheduler.is_idle:
            if not self._turn(10):
                self.now += 1.0
        self.scheduler.save()
        self.scheduler = self.opened()

    def watch(self, days: float) -> None:
        """Come back for so long: so many requests a day, one by one."""
        until = self.now + days * DAY
        while self.now < until:
            self._turn(1)
            self.now += DAY / self._budget
        self.scheduler.save()

    def _turn(self, limit: int) -> int:
        tasks = self.scheduler.take(limit, self.now)
        for task in tasks:
            self.report(task)
        return len(tasks)

    def report(self, task: FetchTask) -> None:
        """Answer one request."""
        outcome, reading = self._answer(task)
        self.scheduler.report(outcome, self.now, reading)
        self.scheduler.check_invariants()
        if reading is not None and task.purpose is Purpose.PAGE:
            day = (self.now - START) / DAY
            found = [
                Discovery(Url(f"{HOME}{path}"), Source.LINK, self.now, task.depth + 1, task.url)
                for path in self._page(task).leads(day)
            ]
            self.scheduler.discover(found, self.now)
            self.scheduler.refresher.linked(task.url, [each.url for each in found], self.now)

    def _page(self, task: FetchTask) -> Living:
        return self.pages.get(task.url.removeprefix(HOME), Living())

    def _answer(self, task: FetchTask) -> tuple[FetchOutcome, Reading | None]:
        if task.ip is None:
            return Located(task, "127.0.0.1", 1e12), None
        if task.purpose is Purpose.ROBOTS:
            return Fetched(task, 404, (), b"", self.now, 0.0), None
        path, page = task.url.removeprefix(HOME), self._page(task)
        self.visits[path] += 1
        self.lanes[task.lane] += 1
        if page.fails:
            return Failed(task, "timeout", self.now, 0.0), None
        version = math.floor(((self.now - START) / DAY - page.begins) / page.every) + 1
        headers = (
            (("Last-Modified", formatdate(START + version, usegmt=True)), ("ETag", f'"{version}"'))
            if page.answers_304
            else ()
        )
        if page.answers_304 and task.validators is not None and task.validators.etag == f'"{version}"':
            return NotModified(task, headers, self.now, 0.0), None
        return Fetched(task, 200, headers, b"", self.now, 0.0), self._reading(task, path, page, version)

    def _reading(self, task: FetchTask, path: str, page: Living, version: int) -> Reading:
        [record] = self.state.records.get([task.url])
        level = None
        if record is not None and record.digests is not None:
            level = ChangeLevel.SAME if record.digests.raw == version else ChangeLevel.MAJOR
        return Reading(Digests(version, 0, 0, 0), page.is_copy, True, level, _version(path, version, page.replaced))

    def record(self, path: str) -> UrlRecord:
        """What is known of a page."""
        [record] = self.state.records.get([Url(f"{HOME}{path}")])
        assert record is not None
        return record


@cache
def _version(path: str, version: int, replaced: float) -> bytes:
    """What is kept of a text of 200 words, so many of which are new in every version."""
    words = " ".join(f"{path[1:]}x{version if word < replaced * 200 else 0}y{word}" for word in range(200))
    return version_of(read_page(f"<main><p>{words}</p></main>".encode(), Url(f"{HOME}{path}")))

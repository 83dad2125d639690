"""A crawl in virtual time: the scheduler of the crawl itself, on stores in memory, against a web of arrays.

Only the waiting is left out. `take` decides, the line says how long it lasts, `report` and `discover` learn; nothing
here knows an ordering or a rule of politeness. Sites have been located and allow everything, unless the simulation is
asked to begin as a real crawl does (`is_prepared=False`), with addresses and robots.txt.

What a real crawl does between `take` and `discover` is done here as there, so that the same web, seed and latencies
give the same crawl: an address is found at once, a page of a redirecting status (3xx) leads where its first link leads,
links met before are not told again, and what they bring comes after what is new (`crawl.reading`). In one thing the
simulation is ahead: a real crawl hands over what links met again have brought when it commits, every second or so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.crawl.frontier import FrontierSettings, PolitenessSettings, RetrySettings
from periplus.crawl.reading import redirection
from periplus.crawl.scheduler import CrawlScheduler
from periplus.model import (
    Digests,
    Discovery,
    EventSink,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Guard,
    InvariantError,
    Located,
    Ordering,
    Purpose,
    Reading,
    Redirected,
    RobotsFile,
    SiteState,
    Source,
    Url,
)
from periplus.policy.filters import Chain
from periplus.store import MemoryState
from periplus.urls import site_of

from .network import FreeLine, NetworkSettings, SharedLine, line_of
from .web import NO_ANSWER, OK, Web

FOREVER = 1e15
PATIENCE = 30.0
"""Seconds until a site that does not answer is given up for this time."""
_NOT_FOUND = 404
_REDIRECTS = 3
"""Hundreds: where a page with such a status leads is its first link."""
_SMALL = 100
"""Bytes of an answer that is no page."""
_TOLD_EVERY = 5000
_READ = Reading(Digests(0, 0, 0, 0))
"""What a guard is told of every page: its text is its own."""

Progress = Callable[[int, int], None]


class Trace(Struct, frozen=True):
    """What a simulated crawl did: for every fetch, in the order in which they ended, the page and its times.

    `first` has the positions at which a page was fetched well for the first time; `ended_at` is the end of it all.
    """

    page: NDArray[np.int32]
    started_at: NDArray[np.float64]
    took: NDArray[np.float64]
    is_ok: NDArray[np.bool_]
    ended_at: float

    @property
    def fetched(self) -> NDArray[np.int32]:
        """The pages that were fetched well, in order."""
        return self.page[self.is_ok]


class Silence:
    """Nobody wants to know."""

    def record(self, events: object) -> None:
        """Let it pass."""


class SimulatedCrawl:
    """One crawl of one web under one ordering. `limit`: so many pages at most.

    `seed` is the `random_seed` of a real crawl. `robots` has the text of robots.txt files by their URLs, for a
    crawl that is not prepared; where such a file is a page of the web as well, it answers with that page's status and
    in its time.
    """

    def __init__(
        self,
        web: Web,
        ordering: Ordering,
        network: NetworkSettings | None = None,
        *,
        seed: int = 0,
        limit: int | None = None,
        politeness: PolitenessSettings | None = None,
        retries: RetrySettings | None = None,
        guard: Guard | None = None,
        events: EventSink | None = None,
        is_prepared: bool = True,
        robots: Mapping[Url, bytes] | None = None,
    ) -> None:
        self._web = web
        self._robots = robots or {}
        self._places = {site: number for number, site in enumerate(web.sites)}
        self._network = network or NetworkSettings()
        self._names = web.names()
        self._pages = {url: page for page, url in enumerate(self._names)}
        self._events = events
        self._reading = None if guard is None else _READ
        self._state = MemoryState()
        self.scheduler = CrawlScheduler(
            self._state,
            guard=guard or Chain([]),
            ordering=ordering,
            events=events or Silence(),
            agent="periplus",
            random=Random(f"{seed}/0"),  # noqa: S311 - chance, not secrets: that of the first shard
            politeness=politeness or politeness_of(self._network),
            retries=retries,
            frontier=FrontierSettings(max_sites=len(web.sites) + 1),
            allowance=limit,
        )
        self._learns, self._keeps_links = self.scheduler.learns, self.scheduler.keeps_links
        if is_prepared:
            self._prepare()
        self._limit = min(limit or len(web), len(web))
        self._site, self._size, self._status = web.site.data, web.size.data, web.status.data
        self._starts = web.starts.data
        self._took = None if web.took is None else web.took.data
        self._speeds = web.bandwidth.tolist()
        self._latencies = web.latency.tolist()
        self._met = bytearray(len(web))
        self._open: dict[str, int] = {}
        self.decisions = 0

    def _prepare(self) -> None:
        """Every site has been found and asked: nothing is to be done there but to fetch pages."""
        self._state.sites.put(
            SiteState(site, ip=str(number), ip_expires_at=FOREVER, robots_expire_at=FOREVER)
            for number, site in enumerate(self._web.sites)
        )
        for site in self._web.sites:
            self._state.robots.put(RobotsFile(site, "all", b"", 0.0, FOREVER))

    def run(self, progress: Progress | None = None) -> Trace:
        """From the seeds until nothing is left, or the limit is reached."""
        slots = self._network.connections
        free = list(range(slots - 1, -1, -1))
        under_way: dict[int, tuple[FetchTask, float]] = {}
        line, scheduler, now = line_of(self._network), self.scheduler, 0.0
        page, started_at, took, is_ok = [], [], [], []
        self._tell(self._web.seeds.tolist(), Source.SEED, None, -1, now)
        while not scheduler.is_idle:
            if free and self._start(line, free, under_way, now):
                continue
            at = scheduler.next_at if free else None
            ends_at = line.next_at
            if ends_at < math.inf and (at is None or ends_at <= at):
                now = ends_at
                slot = line.end()
                if slot is None:
                    continue
                task, begun_at = under_way[slot]
                free.append(slot)
                number = self._end(task, begun_at, now)
                if number is not None:
                    page.append(number)
                    started_at.append(begun_at)
                    took.append(now - begun_at)
                    is_ok.append(self._status[number] == OK)
                    if progress is not None and not len(page) % _TOLD_EVERY:
                        progress(scheduler.pages_done, self._limit)
            elif at is not None:
                now = max(now, at)
            elif not scheduler.is_idle:  # else what waited last was given up, not fetched
                raise InvariantError("nothing is under way and nothing will ever be, but the crawl is not over")
        return Trace(np.array(page, np.int32), np.array(started_at), np.array(took), np.array(is_ok, np.bool_), now)

    def _start(
        self,
        line: FreeLine | SharedLine,
        free: list[int],
        under_way: dict[int, tuple[FetchTask, float]],
        now: float,
    ) -> bool:
        """Begin what may begin. Whether an address was asked for: it is known at once, and more may begin."""
        wanting = []
        for task in self.scheduler.take(len(free), now):
            if task.ip is None:
                wanting.append(task)
                continue
            slot = free.pop()
            under_way[slot] = (task, now)
            self._begin(line, slot, task, now)
        for task in wanting:
            self.decisions += 1
            self.scheduler.report(Located(task, str(self._place(task)), FOREVER), now)
        return bool(wanting)

    def _place(self, task: FetchTask) -> int:
        """The site that a task visits: it may be on an errand for another."""
        return self._places[task.site if task.purpose is Purpose.PAGE else site_of(task.url)]

    def _begin(self, line: FreeLine | SharedLine, slot: int, task: FetchTask, now: float) -> None:
        self.decisions += 1
        page = self._pages.get(task.url, -1)
        if page < 0:
            site = self._place(task)
            line.begin(slot, now, self._latencies[site], _SMALL, self._speeds[site])
        elif self._took is not None:
            line.begin(slot, now, self._took[page], 0.0, 1.0)
        elif self._status[page] == NO_ANSWER:
            line.begin(slot, now, PATIENCE, 0.0, 1.0)
        else:
            site = self._site[page]
            latency = self._latencies[site] if self._is_new_connection(task.site) else 0.0
            line.begin(slot, now, latency, self._size[page], self._speeds[site])

    def _is_new_connection(self, site: str) -> bool:
        """Whether a site must be connected to, or this visit goes on where the last page left it."""
        if self._network.pages_per_visit == 1:
            return True
        taken = self._open.get(site, 0)
        self._open[site] = (taken + 1) % self._network.pages_per_visit
        return taken == 0

    def _end(self, task: FetchTask, started_at: float, now: float) -> int | None:
        """Report what a task came to, and tell of what it leads to; the page, if it was one."""
        page = self._pages.get(task.url, -1)
        status = self._status[page] if page >= 0 else OK if task.url in self._robots else _NOT_FOUND
        outcome = self._answer(task, status, page, started_at, now - started_at)
        if self._events is not None:
            self._events.record([FetchEnded(outcome, now)])
        if task.purpose is not Purpose.PAGE:
            self.scheduler.report(outcome, now)
            return None
        self.scheduler.report(outcome, now, self._reading if status == OK else None)
        if status == OK:
            self._lead_on(page, task, now)
        elif isinstance(outcome, Redirected):
            self.scheduler.discover([redirection(outcome, self.scheduler.pass_on(task.url, 1))], now)
        return page

    def _answer(self, task: FetchTask, status: int, page: int, started_at: float, took: float) -> FetchOutcome:
        if status == NO_ANSWER:
            return Failed(task, "timeout", started_at, took, ip=task.ip)
        if status // 100 == _REDIRECTS and self._starts[page] < self._starts[page + 1]:
            target = self._names[self._web.targets[self._starts[page]]]
            return Redirected(task, status, target, (), started_at, took, task.ip)
        body = b"" if task.purpose is Purpose.PAGE else self._robots.get(task.url, b"")
        return Fetched(task, status, (), body, started_at, took, task.ip)

    def _lead_on(self, page: int, task: FetchTask, now: float) -> None:
        """The links of a page, but for those met before; where those count as well, they do so after the new ones."""
        links = self._web.targets[self._starts[page] : self._starts[page + 1]].tolist()
        met = self._met
        gain = self.scheduler.pass_on(task.url, len(links)) if self._learns else 0.0
        news = links if self._keeps_links else [link for link in links if not met[link]]
        again = [link for link in links if met[link]] if gain and not self._keeps_links else []
        for link in news:
            met[link] = 1
        if news:
            self._tell(news, Source.LINK, task.url, task.depth, now, gain)
        if again:
            self._tell(again, Source.LINK, None, -1, now, gain)

    def _tell(
        self, pages: Iterable[int], source: Source, referrer: Url | None, depth: int, now: float, gain: float = 0.0
    ) -> None:
        names = self._names
        found = [Discovery(names[page], source, now, depth + 1, referrer, gain=gain) for page in pages]
        self.scheduler.discover(found, now)


def politeness_of(network: NetworkSettings) -> PolitenessSettings:
    """The paper's politeness: w seconds between visits of a site, whatever the site is like."""
    return PolitenessSettings(
        delay=network.delay, patience=0.0, ip_delay=0.0, pages_per_visit=network.pages_per_visit, lease=FOREVER
    )

"""A crawl in virtual time: the scheduler of the crawl itself, on stores in memory, against a web of arrays.

Only the waiting is left out. `take` decides, the line says how long it lasts, `report` and `discover` learn; nothing
here knows an ordering or a rule of politeness. Sites have been located and allow everything, unless the simulation is
asked to begin as a real crawl does (`is_prepared=False`), with addresses and robots.txt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.crawl.frontier import PolitenessSettings, RetrySettings
from periplus.crawl.scheduler import CrawlScheduler, FrontierSettings
from periplus.model import (
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
    RobotsFile,
    SiteState,
    Source,
    Url,
)
from periplus.policy.filters import Chain
from periplus.store import MemoryState

from .network import FreeLine, NetworkSettings, SharedLine, line_of
from .web import NO_ANSWER, OK, Web

FOREVER = 1e15
PATIENCE = 30.0
"""Seconds until a site that does not answer is given up for this time."""
_SMALL = 100
"""Bytes of an answer that is no page."""
_TOLD_EVERY = 5000

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
    """One crawl of one web under one ordering. `limit`: so many pages at most."""

    def __init__(
        self,
        web: Web,
        ordering: Ordering,
        network: NetworkSettings | None = None,
        *,
        seed: int = 0,
        limit: int | None = None,
        politeness: PolitenessSettings | None = None,
        guard: Guard | None = None,
        events: EventSink | None = None,
        is_prepared: bool = True,
    ) -> None:
        self._web = web
        self._network = network or NetworkSettings()
        self._names = web.names()
        self._pages = {url: page for page, url in enumerate(self._names)}
        self._events = events
        self._state = MemoryState()
        self.scheduler = CrawlScheduler(
            self._state,
            guard=guard or Chain([]),
            ordering=ordering,
            events=events or Silence(),
            agent="periplus",
            random=Random(seed),  # noqa: S311 - chance, not secrets
            politeness=politeness or politeness_of(self._network),
            retries=RetrySettings(),
            frontier=FrontierSettings(max_sites=len(web.sites) + 1),
            allowance=limit,
        )
        if is_prepared:
            self._prepare()
        self._limit = min(limit or len(web), len(web))
        self._site, self._size, self._status = memoryview(web.site), memoryview(web.size), memoryview(web.status)
        self._starts = memoryview(web.starts)
        self._took = None if web.took is None else memoryview(web.took)
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
        under_way: list[tuple[FetchTask, float] | None] = [None] * slots
        line, scheduler, now = line_of(self._network), self.scheduler, 0.0
        page, started_at, took, is_ok = [], [], [], []
        self._tell(self._web.seeds.tolist(), Source.SEED, None, -1, now)
        while not scheduler.is_idle:
            if free:
                for task in scheduler.take(len(free), now):
                    slot = free.pop()
                    under_way[slot] = (task, now)
                    self._begin(line, slot, task, now)
            at = scheduler.next_at if free else None
            if line.next_at <= (math.inf if at is None else at):
                now = line.next_at
                slot = line.end()
                lent = under_way[slot]
                free.append(slot)
                if lent is None:
                    raise InvariantError("a fetch ended that had not begun")
                task, begun_at = lent
                number = self._end(task, begun_at, now)
                if number is not None:
                    page.append(number)
                    started_at.append(begun_at)
                    took.append(now - begun_at)
                    is_ok.append(self._status[number] == OK)
                    if progress is not None and not len(page) % _TOLD_EVERY:
                        progress(scheduler.pages_done, self._limit)
            elif at is None:
                raise InvariantError("nothing is under way and nothing will ever be, but the crawl is not over")
            else:
                now = max(now, at)
        return Trace(np.array(page, np.int32), np.array(started_at), np.array(took), np.array(is_ok, np.bool_), now)

    def _begin(self, line: FreeLine | SharedLine, slot: int, task: FetchTask, now: float) -> None:
        self.decisions += 1
        if task.ip is None:
            line.begin(slot, now, 0.0, 0.0, 1.0)
            return
        page = self._pages.get(task.url, -1)
        if page < 0:
            site = self._web.sites.index(task.site)
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
        outcome = self._answer(task, started_at, now)
        if self._events is not None and not isinstance(outcome, Located):
            self._events.record([FetchEnded(outcome, now)])
        self.scheduler.report(outcome, now)
        if task.purpose is not Purpose.PAGE:
            return None
        page = self._pages[task.url]
        if self._status[page] == OK:
            self._lead_on(page, task, now)
        return page

    def _answer(self, task: FetchTask, started_at: float, now: float) -> FetchOutcome:
        if task.ip is None:
            return Located(task, f"192.0.2.{len(task.site)}", FOREVER)
        page = self._pages.get(task.url)
        status = 404 if page is None else self._status[page]
        if status == NO_ANSWER:
            return Failed(task, "timeout", started_at, now - started_at, ip=task.ip)
        return Fetched(task, status, (), b"", started_at, now - started_at, task.ip)

    def _lead_on(self, page: int, task: FetchTask, now: float) -> None:
        links = self._web.targets[self._starts[page] : self._starts[page + 1]].tolist()
        if self.scheduler.learns:
            gain = self.scheduler.pass_on(task.url, len(links))
            self._tell(links, Source.LINK, task.url, task.depth, now, gain)
            return
        met = self._met
        news = [link for link in links if not met[link]]
        if news:
            self._tell(news, Source.LINK, task.url, task.depth, now)

    def _tell(
        self, pages: list[int], source: Source, referrer: Url | None, depth: int, now: float, gain: float = 0.0
    ) -> None:
        for page in pages:
            self._met[page] = 1
        names = self._names
        found = [Discovery(names[page], source, now, depth + 1, referrer, gain=gain) for page in pages]
        self.scheduler.discover(found, now)


def politeness_of(network: NetworkSettings) -> PolitenessSettings:
    """The paper's politeness: w seconds between visits of a site, whatever the site is like."""
    return PolitenessSettings(
        delay=network.delay, patience=0.0, ip_delay=0.0, pages_per_visit=network.pages_per_visit, lease=FOREVER
    )

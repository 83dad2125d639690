"""A crawl in virtual time: the machine of the crawl itself, on stores in memory, against a web of arrays.

Only the waiting is left out. The machine grants requests, the line says how long each takes, and its answer is the next
input; nothing here knows an ordering or a rule of politeness. Sites have been located and allow everything, unless the
simulation is asked to begin as a real crawl does (`is_prepared=False`), with addresses and robots.txt.

`SimulatedPages` stands for the pages: a page of a redirecting status (3xx) leads where its first link leads, links that
were seen before are not reported again, and what they gain comes after what is new (as in `engine.links`). In one thing
the simulation is ahead: what a page links to by a name that filters change gains in a real crawl when that commits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.engine.frontier import FrontierSettings, PolitenessSettings, RetrySettings
from periplus.engine.inputs import Answered, Discovered, Emit, Fetch, FetchAnswer, Granted, Input, PageBudgetSet
from periplus.engine.links import CountGains, Share
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import MachineSettings, UrlPolicy
from periplus.engine.pipeline import Processed, is_page, redirection
from periplus.model import (
    BodyReading,
    Digests,
    Discovery,
    EventSink,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    InvariantError,
    Located,
    Ordering,
    Purpose,
    Redirected,
    RobotsFile,
    Source,
    Url,
)
from periplus.policy.filters import Chain, Guard, Scope, ScopeSettings
from periplus.store import MemoryState, SiteState
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
"""Bytes of a response that is not a page."""
_PROGRESS_EVERY = 5000
_READ = BodyReading(Digests(0, 0, 0, 0))
"""What a filter learns of every page: its text is unique."""

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


class SimulatedPages:
    """The pipeline of a simulation: links come from arrays. `reading` is what is made of every page that is there."""

    max_gaining = 1

    def __init__(self, web: Web, names: Sequence[Url], pages: Mapping[Url, int], reading: BodyReading | None) -> None:
        self._web = web
        self._names = names
        self._pages = pages
        self._reading = reading
        self._starts = web.starts.data
        self._seen = bytearray(len(web))
        self._again: dict[Url, float] = {}
        self._gains: dict[Url, float] = {}
        self.learns = self.keeps_links = False

    def read(self, answers: Sequence[FetchAnswer], at: float) -> list[Processed]:
        """The same as `process`."""
        return self.process(answers, at)

    def process(self, answers: Sequence[FetchAnswer], at: float) -> list[Processed]:  # noqa: ARG002
        """Every page that is there is read."""
        return [Processed(answer, None, self._reading if is_page(answer.outcome) else None) for answer in answers]

    def read_probe(self, answer: FetchAnswer) -> None:
        """Simulated pages have no contents to compare."""

    def links(self, processed: Processed, at: float, share: Share) -> list[Discovery]:
        """The links of a page, but for those seen before; where those count as well, `gains` returns them."""
        outcome = processed.answer.outcome
        if outcome.task.purpose is not Purpose.PAGE:
            return []
        if isinstance(outcome, Redirected):
            return [redirection(outcome, share(1))]
        if not is_page(outcome):
            return []
        page = self._pages[outcome.task.url]
        links = self._web.targets[self._starts[page] : self._starts[page + 1]].tolist()
        seen, names = self._seen, self._names
        gain = share(len(links)) if self.learns else 0.0
        news = links if self.keeps_links else [link for link in links if not seen[link]]
        if gain and not self.keeps_links:
            self._again = {names[link]: gain for link in links if seen[link]}
        for link in news:
            seen[link] = 1
        url, depth = outcome.task.url, outcome.task.depth + 1
        return [Discovery(names[link], Source.LINK, at, depth, url, gain=gain) for link in news]

    def count_again(self, count: CountGains) -> None:
        """Have the links of the last page counted that were seen before."""
        again, self._again = self._again, {}
        if again:
            self._gains = {url: again[url] for url in count(again)}

    @property
    def gaining(self) -> int:
        """How many URLs `gains` would return."""
        return len(self._gains)

    def gains(self, at: float) -> list[Discovery]:
        """What URLs gain that the last page links to by another name than they have."""
        gains, self._gains = self._gains, {}
        return [Discovery(url, Source.LINK, at, gain=gain) for url, gain in gains.items()]

    def forget_links(self) -> None:
        """Links that were seen before may be wanted now."""
        self._seen = bytearray(len(self._web))

    def flush(self) -> None:
        """Do nothing: nothing is stored."""


MakePages = Callable[[Sequence[Url], Mapping[Url, int]], SimulatedPages]
"""Makes a pipeline from the names of all pages, and their numbers."""


class RealRules(Struct, frozen=True):
    """The rules of a real crawl, with which a simulation takes the same steps: it looks up sites and asks for rules.

    `robots` has the text of robots.txt files by their URLs; where such a file is a page of the web as well, it answers
    with that page's status and in its time.
    """

    politeness: PolitenessSettings
    retries: RetrySettings
    guard: Guard
    robots: Mapping[Url, bytes]


class SimulatedCrawl:
    """One crawl of one web under one ordering. `limit`: maximum number of pages.

    `seed` is the `random_seed` of a real crawl. Without `rules` every site is located and open, and no URL is refused.
    `make_pages` makes the pipeline, if it is another than `SimulatedPages`.
    """

    def __init__(
        self,
        web: Web,
        ordering: Ordering,
        network: NetworkSettings | None = None,
        *,
        seed: int = 0,
        limit: int | None = None,
        rules: RealRules | None = None,
        events: EventSink | None = None,
        make_pages: MakePages | None = None,
    ) -> None:
        self._web = web
        self._robots = {} if rules is None else rules.robots
        self._places = {site: number for number, site in enumerate(web.sites)}
        self._network = network or NetworkSettings()
        self._names = web.names()
        self._pages = {url: page for page, url in enumerate(self._names)}
        self._events = events
        self._state = MemoryState()
        if rules is None:
            self._prepare()
        if make_pages is None:
            pages = SimulatedPages(web, self._names, self._pages, None if rules is None else _READ)
        else:
            pages = make_pages(self._names, self._pages)
        self.machine = Machine(
            MachineSettings(
                random_seed=f"{seed}/0",  # that of the first shard
                politeness=politeness_of(self._network) if rules is None else rules.politeness,
                retries=RetrySettings() if rules is None else rules.retries,
                frontier=FrontierSettings(max_sites=len(web.sites) + 1),
            ),
            self._state,
            UrlPolicy(
                ordering,
                Scope([], ScopeSettings()),
                lambda _recall: Chain([]) if rules is None else rules.guard,
                Chain([]),
            ),
            pipeline=pages,
            is_observed=events is not None,
        )
        pages.learns = self.machine.frontier.scores.learns
        pages.keeps_links = self.machine.frontier.scores.keeps_links
        self._apply(PageBudgetSet(limit, 0.0))
        self._limit = min(limit or len(web), len(web))
        self._site, self._size, self._status = web.site.data, web.size.data, web.status.data
        self._starts = web.starts.data
        self._took = None if web.took is None else web.took.data
        self._speeds = web.bandwidth.tolist()
        self._latencies = web.latency.tolist()
        self._open: dict[str, int] = {}
        self.decisions = 0

    def _prepare(self) -> None:
        """Every site is located and its robots.txt known: only pages are left to fetch."""
        self._state.sites.put(
            SiteState(site, ip=str(number), ip_expires_at=math.inf, robots_expire_at=math.inf)
            for number, site in enumerate(self._web.sites)
        )
        for site in self._web.sites:
            self._state.robots.put(RobotsFile(site, "all", b"", 0.0, FOREVER))

    def run(self, progress: Progress | None = None) -> Trace:
        """Crawl from the seeds until nothing is left, or the limit is reached."""
        slots = self._network.connections
        free = list(range(slots - 1, -1, -1))
        under_way: dict[int, tuple[FetchTask, float]] = {}
        line, frontier, now = line_of(self._network), self.machine.frontier, 0.0
        page, started_at, took, is_ok = [], [], [], []
        seeds = tuple(Discovery(self._names[page], Source.SEED, now) for page in self._web.seeds.tolist())
        self._apply(Discovered(seeds, now))
        while not frontier.is_idle:
            if free and self._start(line, free, under_way, now):
                continue
            at = frontier.next_at if free else None
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
                    if progress is not None and not len(page) % _PROGRESS_EVERY:
                        progress(frontier.pages_done, self._limit)
            elif at is not None:
                now = max(now, at)
            elif not frontier.is_idle:  # else what waited last was given up, not fetched
                raise InvariantError("nothing is under way and nothing will ever be, but the crawl is not over")
        return Trace(np.array(page, np.int32), np.array(started_at), np.array(took), np.array(is_ok, np.bool_), now)

    def _start(
        self,
        line: FreeLine | SharedLine,
        free: list[int],
        under_way: dict[int, tuple[FetchTask, float]],
        now: float,
    ) -> bool:
        """Start what may start. Return whether an address was requested: it is known at once, and more may start."""
        wanting = []
        for task in self._apply(Granted(len(free), now)):
            if task.ip is None:
                wanting.append(task)
                continue
            slot = free.pop()
            under_way[slot] = (task, now)
            self._begin(line, slot, task, now)
        for task in wanting:
            self.decisions += 1
            self._apply(Answered((FetchAnswer(Located(task, str(self._place(task)), math.inf)),), now))
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
        """Answer a task; the page, if it was one."""
        page = self._pages.get(task.url, -1)
        status = self._status[page] if page >= 0 else OK if task.url in self._robots else _NOT_FOUND
        outcome = self._answer(task, status, page, started_at, now - started_at)
        if self._events is not None:
            self._events.record([FetchEnded(outcome, now)])
        self._apply(Answered((FetchAnswer(outcome),), now))
        return page if task.purpose is Purpose.PAGE else None

    def _apply(self, given: Input) -> list[FetchTask]:
        """Apply an input; the requests to begin."""
        tasks = []
        for effect in self.machine.apply(given):
            if isinstance(effect, Fetch):
                tasks.append(effect.task)
            elif isinstance(effect, Emit) and self._events is not None:
                self._events.record(effect.events)
        return tasks

    def _answer(self, task: FetchTask, status: int, page: int, started_at: float, took: float) -> FetchOutcome:
        if status == NO_ANSWER:
            return Failed(task, "timeout", started_at, took, ip=task.ip)
        if status // 100 == _REDIRECTS and self._starts[page] < self._starts[page + 1]:
            target = self._names[self._web.targets[self._starts[page]]]
            return Redirected(task, status, target, (), started_at, took, task.ip)
        body = b"" if task.purpose is Purpose.PAGE else self._robots.get(task.url, b"")
        return Fetched(task, status, (), body, started_at, took, task.ip)


def politeness_of(network: NetworkSettings) -> PolitenessSettings:
    """The paper's politeness: w seconds between visits of a site, for every site."""
    return PolitenessSettings(
        delay=network.delay, slow_factor=0.0, ip_delay=0.0, pages_per_visit=network.pages_per_visit, lease=FOREVER
    )

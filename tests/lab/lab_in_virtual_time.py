"""The lab as a web of arrays, and the engine on it with time standing still: two ways to the same crawl.

`web_of_world` writes down what the lab would say to a crawler: every URL that pages name, in the order in which they
name it, with its status, and robots.txt as it is. Nothing of it comes from a crawl.

`Lockstep` is the wire of the real engine on a clock that moves only while the engine waits. Requests really go to the
lab and its answers really come back, but each counts as arrived only when its latency is over on that clock. So nothing
that happens on the machine shows in the times, which are those of the simulation to the last bit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from periplus.engine.fetch import CurlWire
from periplus.engine.links import PageReader
from periplus.model import (
    Discovery,
    Fetched,
    FetchOutcome,
    FetchTask,
    Filter,
    Lane,
    Located,
    Purpose,
    Reject,
    Rewrite,
    Source,
    Url,
)
from periplus.urls import canonical, site_of
from periplus_lab import World
from periplus_lab.http import Request
from periplus_lab.simulate.web import Web

Latency = Callable[[str], float]


def latency_of(url: str) -> float:
    """Seconds, by host and by URL, no two alike: from 0.1 to 1.3."""
    host = url.partition("://")[2].partition("/")[0]
    return 0.1 + crc32(host.encode()) % 97 / 97 + crc32(url.encode()) % 999_983 / 999_983 / 5


class WorldWeb(NamedTuple):
    """A web, and the texts of its robots.txt files."""

    web: Web
    robots: dict[Url, bytes]


class _Page(NamedTuple):
    status: int
    ways: list[Url]
    body: bytes


def web_of_world(world: World, seeds: Iterable[str], screen: Filter, latency: Latency = latency_of) -> WorldWeb:
    """All that a crawl from these seeds can meet. Who is refused by the `screen` is named, but says nothing."""
    pages: dict[Url, _Page] = {}
    robots: dict[Url, bytes] = {}
    waiting = deque(Url(seed) for seed in seeds)
    while waiting:
        url = waiting.popleft()
        if url in pages:
            continue
        pages[url] = _ask(world, url, screen)
        waiting.extend(pages[url].ways)
        file = Url(f"http://{site_of(url)}/robots.txt")
        if file not in robots and pages[url].status:
            waiting.append(file)
            robots[file] = _answer(world, file).body
    return WorldWeb(_web(pages, [Url(seed) for seed in seeds], latency), robots)


def _ask(world: World, url: Url, screen: Filter) -> _Page:
    verdict = screen.judge(Discovery(url, Source.LINK, 0.0))
    if isinstance(verdict, Reject):
        return _Page(0, [], b"")
    return _Page(0, [verdict.url], b"") if isinstance(verdict, Rewrite) else _answer(world, url)


def _answer(world: World, url: Url) -> _Page:
    host, _, target = url.removeprefix("http://").partition("/")
    said = world.answer(Request("GET", host, f"/{target}", (("user-agent", "periplus"),), world.epoch))
    body = said.body if isinstance(said.body, bytes) else b"".join(said.body)
    fields = {name.lower(): value for name, value in said.headers}
    if 300 <= said.status < 400:
        target_url = canonical(fields["location"])
        assert target_url is not None
        return _Page(said.status, [target_url], body)
    if said.status != 200 or "html" not in fields["content-type"]:
        return _Page(said.status, [], body)
    reader = PageReader()
    task = FetchTask(url, site_of(url), Purpose.PAGE, Lane.DISCOVERY, 0.0)
    [page] = reader.read([Fetched(task, said.status, said.headers, body, 0.0, 0.0)])
    return _Page(said.status, [found.url for found in reader.links(page, 0, 0.0)], body)


def _web(pages: dict[Url, _Page], seeds: list[Url], latency: Latency) -> Web:
    number = {url: page for page, url in enumerate(pages)}
    sites = {site: place for place, site in enumerate(dict.fromkeys(map(site_of, pages)))}
    starts = np.cumsum([0, *(len(page.ways) for page in pages.values())])
    return Web(
        sites=list(sites),
        site=np.array([sites[site_of(url)] for url in pages], np.int32),
        starts=starts.astype(np.int64),
        targets=np.array([number[way] for page in pages.values() for way in page.ways], np.int32),
        size=np.zeros(len(pages), np.int32),
        status=np.array([page.status for page in pages.values()], np.int16),
        latency=np.zeros(len(sites)),
        bandwidth=np.ones(len(sites)),
        seeds=np.array([number[seed] for seed in seeds], np.int64),
        urls=list(pages),
        took=np.array([latency(url) for url in pages]),
    )


class StandingClock:
    """The time of a crawl in lockstep. It begins with 0, as that of a simulation does."""

    speed = 1.0

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        """When it is."""
        return self.at


class Lockstep(CurlWire):
    """The real wire, whose answers arrive when the clock that stands still says so, and which moves it."""

    def __init__(self, *given: Any, latency: Latency = latency_of, **parts: Any) -> None:
        super().__init__(*given, **parts)
        self._latency = latency
        self._begun: dict[Url, float] = {}
        self._landed: list[tuple[float, FetchOutcome]] = []

    @property
    def under_way(self) -> int:
        """What has landed but is not due is under way still."""
        return super().under_way + len(self._landed)

    def start(self, task: FetchTask) -> None:
        """Begin; the clock says when."""
        self._begun[task.url] = self._clock.now()
        super().start(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Let everything land that is in the air; then go to the moment of the next arrival, or of the timeout."""
        at_once = self._land(super().finished(0.0))
        while super().under_way:
            at_once += self._land(super().finished(1.0))
        clock = self._clock
        assert isinstance(clock, StandingClock)
        if at_once:
            return at_once
        first = min((at for at, _ in self._landed), default=math.inf)
        if first > clock.at + timeout:
            clock.at += timeout
            return []
        clock.at = first
        due = [outcome for at, outcome in self._landed if at == first]
        self._landed = [(at, outcome) for at, outcome in self._landed if at != first]
        return due

    def _land(self, outcomes: list[FetchOutcome]) -> list[FetchOutcome]:
        """Give each its time; those that need none."""
        at_once: list[FetchOutcome] = []
        for outcome in outcomes:
            begun_at = self._begun.pop(outcome.task.url)
            if isinstance(outcome, Located):
                at_once.append(outcome)
                continue
            ends_at = begun_at + self._latency(outcome.task.url)
            timed: Any = replace(outcome, started_at=begun_at, duration=ends_at - begun_at)
            self._landed.append((ends_at, timed))
        return at_once

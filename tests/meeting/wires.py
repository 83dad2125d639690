"""The network and the browser of a crawl in virtual time: answers of a world, each when its time has come."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from tests.faults.web import Broken, Clock
from tests.meeting.traffic import Traffic
from tests.meeting.world import MeetingWorld

from periplus.model import (
    SOFT_404,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Located,
    Purpose,
    Redirected,
    Site,
    Url,
)
from periplus.parts.render.pool import Rendered, RenderJob
from periplus.urls import site_of

_KEYS: Final = count()
_MOMENT: Final = 1e-5
"""Seconds that pass at least: even a wait for nothing takes some time."""


class Outage(Struct, frozen=True):
    """Pages of a site answer with this status, or its server refuses connections, until a time.

    With 200 it shows one page for all URLs, with 302 all of them lead to one.
    """

    site: Site
    until: float
    status: int | None

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        """What the site answers instead."""
        if self.status is None:
            return Failed(task, "connect-refused", now, 0.01, ip=task.ip)
        if self.status == 302:
            return Redirected(task, 302, Url(f"https://{self.site}/login"), (), now, 0.01, task.ip)
        return Fetched(task, self.status, (("Content-Type", "text/html"),), b"Back soon", now, 0.01, task.ip)


class Network:
    """Everything that is under way anywhere: when the next of it ends; and the site that is down, if one is.

    `unnamed`: from when to when the name server fails. `moves_at`: when some sites have moved to other addresses.
    """

    def __init__(self, world: MeetingWorld, traffic: Traffic, chance: Random) -> None:
        self.world, self.traffic, self.chance = world, traffic, chance
        self.parts: list[Callable[[], float]] = []
        self.outage: Outage | None = None
        self.unnamed = (0.0, 0.0)
        self.moves_at = math.inf

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        """What the site of a task answers now."""
        down, at, site = self.outage, self.traffic.true.at, site_of(task.url)
        if task.ip is None and self.unnamed[0] <= at < self.unnamed[1]:
            return Failed(task, "dns-unavailable", now, 0.1)
        if site in self.world.moving and at >= self.moves_at:
            return self._moved(task, self.world.moving[site], now)
        if down is None or task.ip is None or site != down.site or at >= down.until:
            return self.world.answer(task, now)
        return down.answer(task, now) if task.purpose is Purpose.PAGE else self.world.answer(task, now)

    def _moved(self, task: FetchTask, ip: str, now: float) -> FetchOutcome:
        """What a site answers at its new address, and nothing at the old one."""
        if task.ip is not None and task.ip != ip:
            return Failed(task, "connect-refused", now, 0.01, ip=task.ip)
        outcome = self.world.answer(task, now)
        return replace(outcome, ip=ip) if isinstance(outcome, Located) else outcome

    def wait(self, timeout: float, own: float) -> None:
        """Let time pass until something ends, at most for the timeout. `own`: when something of the caller's does.

        What has ended for another process waits for its turn.
        """
        true = self.traffic.true
        others = [at for part in self.parts if (at := part()) > true.at]
        true.at = max(true.at, min(true.at + timeout, own, *others)) + _MOMENT


class VirtualWire:
    """The port to the web of one process."""

    def __init__(self, network: Network, clock: Clock, slots: int, shard: int) -> None:
        self._network, self._clock, self._slots, self._shard = network, clock, slots, shard
        self._pending: dict[int, tuple[float, FetchOutcome]] = {}
        self._cancelled: list[FetchOutcome] = []
        network.parts.append(self._next_at)

    def _next_at(self) -> float:
        return min((at for at, _ in self._pending.values()), default=float("inf"))

    @property
    def free_slots(self) -> int:
        return max(self._slots - len(self._pending), 0)

    @property
    def under_way(self) -> int:
        return len(self._pending)

    def start(self, task: FetchTask) -> None:
        traffic = self._network.traffic
        if task.probe == SOFT_404 and task.url in self._network.world.pages:
            raise Broken(f"{task.url} is a page, and is asked for as one that cannot exist")
        outcome = self._network.answer(task, self._clock.now())
        took, key = getattr(outcome, "duration", 0.01), next(_KEYS)
        traffic.began(self._shard, key, task, took)
        self._pending[key] = traffic.true.at + took, outcome

    def finished(self, timeout: float) -> list[FetchOutcome]:
        cancelled, self._cancelled = self._cancelled, []
        if cancelled:
            return cancelled
        self._network.wait(timeout, self._next_at())
        now = self._network.traffic.true.at
        ended = {key: outcome for key, (at, outcome) in self._pending.items() if at <= now}
        for key in ended:
            del self._pending[key]
            self._network.traffic.ended(self._shard, key)
        outcomes = list(ended.values())
        self._network.chance.shuffle(outcomes)
        return outcomes

    def request_bytes(self, task: FetchTask) -> bytes:
        return f"GET {task.url} HTTP/1.1\r\n\r\n".encode()

    def cancel_all(self) -> None:
        now = self._clock.now()
        self._cancelled += [Failed(outcome.task, "cancelled", now, 0.0) for _, outcome in self._pending.values()]
        for key in self._pending:
            self._network.traffic.ended(self._shard, key)
        self._pending.clear()

    def wake(self) -> None: ...

    def close(self) -> None:
        self._network.parts.remove(self._next_at)


class VirtualBrowser:
    """In the place of a browser pool: shows the documents of the world after some time, and sometimes crashes."""

    tabs = 2

    def __init__(self, network: Network, clock: Clock) -> None:
        self._network, self._clock = network, clock
        self._showing: list[tuple[float, Rendered]] = []
        self.on_done: Callable[[], object] = lambda: None
        network.parts.append(self._next_at)

    def _next_at(self) -> float:
        return min((at for at, _ in self._showing), default=float("inf"))

    def submit(self, job: RenderJob) -> None:
        chance, url = self._network.chance, job.document.url
        seconds = chance.choice((0.2, 1.0, 12.0))
        document: str | None = self._network.world.rendered(url, self._clock.now()).decode()
        reason = ""
        if chance.random() < 0.1:
            document, reason = None, "render-crashed"
        same_site = chance.choice((0, 3, 40))
        rendered = Rendered(job.number, document, reason, same_site, same_site, 1000, seconds)
        self._showing.append((self._network.traffic.true.at + seconds, rendered))

    def done(self) -> list[Rendered]:
        now = self._network.traffic.true.at
        shown = [rendered for at, rendered in self._showing if at <= now]
        self._showing = [entry for entry in self._showing if entry[0] > now]
        return shown

    def close(self) -> None:
        self._network.parts.remove(self._next_at)

"""A crawl as a program runs it: in this process, in a process for each shard, or on a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Protocol

from periplus.model import Discovery, Purpose, Source, Url
from periplus.policy.filters.patterns import compiled
from periplus.store import Inbox
from periplus.urls import site_of

from ..shard import Controls, MakeShard, Question, ShardView, Status
from . import requests
from .messages import GRACE, STATUS_INTERVAL
from .processes import ProcessTeam
from .pushed import PushedUrls
from .requests import Announce, Requests, TeamRequests, answer_alone
from .unreachable import are_unreachable


class Team(requests.Team, Protocol):
    """All shards of a crawl, wherever they run."""

    def start(self, seeds: Sequence[Discovery], /) -> None:
        """Start every shard with the seeds of its own sites."""

    def poll(self, timeout: float, /) -> None:
        """Wait at most `timeout` seconds for messages, and handle them."""

    @property
    def is_finished(self) -> bool:
        """Whether the crawl is finished, with everything that was announced."""

    def statuses(self) -> list[Status]:
        """The last status of each shard that has reported."""

    def stop(self, grace: float, /) -> None:
        """Let every shard end its requests and commit everything."""

    def close(self) -> None:
        """End all workers."""


Gather = Callable[[MakeShard, int, int | None], Team]
"""Makes a team of shards, given their number and how many pages they may fetch together (`None`: any number)."""


class Crawl:
    """A crawl: `run` it, or iterate over its `progress`.

    `limit` is the maximum number of pages of all shards, `max_bytes` of bytes, `seconds` the maximum duration from the
    first request on: the start of workers does not count. `gather` makes the team of shards; by default, processes of
    this machine. `stop` may be called by a signal handler; the crawl then ends its requests and keeps everything.
    `inbox` has URLs that sites pushed: the crawl looks there several times a second, and removes what the shards have
    committed. With `ends_unreachable`, the crawl ends without retries if none of its seeds can be reached
    (`is_unreachable`).
    """

    def __init__(
        self,
        make: MakeShard,
        workers: int,
        *,
        seeds: Sequence[Discovery] = (),
        limit: int | None = None,
        max_bytes: int | None = None,
        seconds: float | None = None,
        gather: Gather | None = None,
        inbox: Inbox | None = None,
        ends_unreachable: bool = False,
    ) -> None:
        self._gather: Gather = gather or ProcessTeam
        self._is_alone = workers == 1 and gather is None
        self._make = make
        self._workers = workers
        self._seeds = list(seeds)
        self._limit = limit
        self._max_bytes = math.inf if max_bytes is None else max_bytes
        self._seconds = seconds
        self._until: float | None = None
        self._requests = Requests()
        self._pushed = PushedUrls(inbox, self.discover)
        self._seed_sites = frozenset(site_of(seed.url) for seed in self._seeds) if ends_unreachable else frozenset()
        self.is_stopping = False
        self.is_interrupted = False
        self.is_unreachable = False

    def stop(self) -> None:
        """Make the crawl end soon, with everything kept."""
        self.is_stopping = self.is_interrupted = True
        self._requests.wake()

    def ping(self, pages: Sequence[Url] = (), sitemaps: Sequence[Url] = ()) -> None:
        """Report URLs as new or changed. Any thread may call this, before the crawl or during it.

        A page counts as discovered by a ping; a sitemap is fetched soon, unless it is queued already. robots.txt and
        the scope apply to both as if a site had named them.
        """
        now = time.time()
        found = [Discovery(url, Source.PING, now, score=1.0) for url in pages]
        self.discover(found + [Discovery(url, Source.PING, now, purpose=Purpose.SITEMAP) for url in sitemaps])

    def discover(self, discoveries: Sequence[Discovery], places: Sequence[Url] = ()) -> Future[None]:
        """Take URLs; the future is done when they are committed. `places` join the scope first.

        Any thread may call this and the two below, before the crawl or during it.
        """
        return self._requests.put(Announce(tuple(discoveries), tuple(places)))

    def control(self, controls: Controls) -> Future[None]:
        """Follow what people ask for; the future is done when every shard does. A bad pattern raises `ConfigError`."""
        for pattern in (*controls.excluded, *controls.preferred):
            compiled(pattern)
        return self._requests.put(controls)

    def ask(self, question: Question) -> Future[list[ShardView]]:
        """Ask every shard; the future has their answers."""
        return self._requests.put(question)

    def run(self) -> list[Status]:
        """Crawl to the end; returns the last status of every shard."""
        last: list[Status] = []
        for statuses in self.progress():
            last = statuses
        return last

    def progress(self) -> Iterator[list[Status]]:
        """Crawl, and yield the status of every shard several times a second."""
        return self._alone() if self._is_alone else self._together()

    def _start_clock(self, statuses: Sequence[Status]) -> None:
        """Start the duration of the crawl with the first request, or when there is none to make yet."""
        if self._seconds is not None and self._until is None and has_begun(statuses, self._workers):
            self._until = time.monotonic() + self._seconds

    def _look_for_servers(self, statuses: Sequence[Status]) -> None:
        """End the crawl if no seed can be reached."""
        if self._is_all_taken and len(statuses) == self._workers and are_unreachable(self._seed_sites, statuses):
            self.is_stopping = self.is_unreachable = True

    @property
    def _is_over(self) -> bool:
        return self.is_stopping or (self._until is not None and time.monotonic() >= self._until)

    @property
    def _is_all_taken(self) -> bool:
        """Whether nothing was asked and nothing was pushed that the shards do not have."""
        return self._requests.is_empty and self._pushed.is_empty

    @property
    def _timeout(self) -> float:
        """How long to wait at a time: no longer than the crawl may last."""
        left = STATUS_INTERVAL if self._until is None else self._until - time.monotonic()
        return min(max(left, 0.0), STATUS_INTERVAL)

    def _alone(self) -> Iterator[list[Status]]:
        shard = self._make(0, 1)
        self._requests.wake = shard.wake
        try:
            shard.set_page_budget(self._limit)
            shard.discover(self._seeds)
            shown_at = 0.0
            while not self._is_over and not (shard.is_idle and self._is_all_taken):
                if shard.downloaded >= self._max_bytes:
                    break
                self._pushed.read()
                answer_alone(shard, self._requests.take())
                shard.step(self._timeout)
                if time.monotonic() >= shown_at + STATUS_INTERVAL:
                    shown_at = time.monotonic()
                    statuses = [shard.status()]
                    self._start_clock(statuses)
                    self._look_for_servers(statuses)
                    yield statuses
            shard.stop(GRACE)
            yield [shard.status()]
        finally:
            self._requests.wake = lambda: None
            self._requests.close()
            self._pushed.close()
            shard.close()

    def _together(self) -> Iterator[list[Status]]:
        team = self._gather(self._make, self._workers, self._limit)
        asked = TeamRequests(team)
        try:
            team.start(self._seeds)
            while not self._is_over and not (team.is_finished and self._is_all_taken):
                self._pushed.read()
                asked.begin(self._requests.take())
                team.poll(self._timeout)
                asked.settle()
                statuses = team.statuses()
                self._start_clock(statuses)
                self._look_for_servers(statuses)
                yield statuses
                if sum(status.crawl.downloaded for status in statuses) >= self._max_bytes:
                    break
            team.stop(GRACE)
            yield team.statuses()
        finally:
            self._requests.close()
            self._pushed.close()
            asked.close()
            team.close()


def has_begun(statuses: Sequence[Status], workers: int) -> bool:
    """Whether a shard has made a request, or no shard has one to make now; workers that start are waited for."""
    parts = [status.frontier for status in statuses]
    if any(part.visited or part.leases for part in parts):
        return True
    return len(parts) == workers and (any(part.resting for part in parts) or not any(part.ready for part in parts))

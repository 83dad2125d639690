"""Runs a crawl to its end: in this process, in a process for each shard, or on a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from typing import Protocol

from msgspec import Struct

from periplus.model import Discovery, Purpose, Site, Source, Url, UsageError
from periplus.policy.filters.patterns import compiled
from periplus.store import MessageInbox, Pushed
from periplus.urls import site_of

from ..frontier.politeness import MAX_SETBACKS, NO_SERVER
from ..overview import FrontierStats
from ..shard import Controls, MakeShard, ShardQuestion, ShardStatus, ShardView
from . import requests
from .messages import GRACE, STATUS_INTERVAL
from .processes import ProcessTeam
from .requests import Announce, Requests, TeamRequests, answer_alone

INBOX_INTERVAL = STATUS_INTERVAL
"""Minimum seconds between two looks at an inbox that was empty."""
MAX_PUSHED = 10_000
"""URLs that are taken from the inbox at a time: one full IndexNow message, and some 50 ms of a shard's time."""

Discover = Callable[[Sequence[Discovery]], Future[None]]
"""Takes URLs into the crawl; the future is done when they are committed."""


class PushedUrls:
    """The inbox as the crawl reads it, a part at a time. Used by the thread that runs the crawl."""

    def __init__(self, inbox: MessageInbox | None, discover: Discover) -> None:
        self._inbox = inbox
        self._discover = discover
        self._taken: tuple[Pushed, Future[None]] | None = None
        self._look_at = 0.0

    def read(self) -> None:
        """Remove what was committed, and take the next part; an empty inbox is looked into four times a second."""
        if self._inbox is None or time.monotonic() < self._look_at:
            return
        if self._taken is not None:
            pushed, future = self._taken
            if not future.done():
                return
            self._taken = None
            if future.exception() is None:
                self._inbox.remove(pushed.through)
        pushed_next = self._inbox.peek(MAX_PUSHED)
        if pushed_next is None:
            self._look_at = time.monotonic() + INBOX_INTERVAL
        else:
            self._taken = pushed_next, self._discover(pushed_next.discoveries)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits and nothing is under way; asked when the shards have nothing to do."""
        return self._inbox is None or (self._taken is None and self._inbox.peek(1) is None)

    def close(self) -> None:
        """Close the inbox; what was not committed stays in it."""
        if self._inbox is not None:
            self._inbox.close()


def are_unreachable(sites: Collection[Site], statuses: Sequence[ShardStatus]) -> bool:
    """Whether the sites of all seeds failed because there is no such server, and nothing else is left to do.

    Then the crawl ends at once instead of waiting for retries. The state of no shard changes: the seeds stay in their
    queues, and the same command tries them again. `statuses` are those of all shards. A collection in which any server
    ever answered is not concerned, unless all that was answered are redirects and robots.txt: then the sites that seeds
    moved to have failed.
    """
    waited_for = [each for status in statuses for each in status.frontier.setbacks if each.retry_at is not None]
    failed = {each.site for each in waited_for if each.reason in NO_SERVER}
    if not sites or len(failed) < len(waited_for) or not all(_only_fails(status.frontier) for status in statuses):
        return False
    answers = {name for status in statuses for name in status.crawl.outcomes if not name.startswith("failed ")}
    if any(name.startswith("redirected ") for name in answers):
        return bool(failed) and all(name.startswith("redirected ") or name == "fetched robots" for name in answers)
    return not answers and failed.issuperset(sites)


def _only_fails(frontier: FrontierStats) -> bool:
    """Whether every site of a shard rests after a failure that is known."""
    return (
        not frontier.ready
        and not frontier.visited
        and not frontier.leases
        and frontier.resting == frontier.backing_off
        and len(frontier.setbacks) < MAX_SETBACKS
    )


class Team(requests.Team, Protocol):
    """All shards of a crawl, wherever they run."""

    def start(self, seeds: Sequence[Discovery], /) -> None:
        """Start every shard with the seeds of its own sites."""

    def poll(self, timeout: float, /) -> None:
        """Wait at most `timeout` seconds for messages, and handle them."""

    def restart(self, python: str, /) -> None:
        """Restart the shards one after the other; on this machine, by this interpreter."""

    @property
    def is_restarting(self) -> bool:
        """Whether a shard is still to be restarted."""

    @property
    def restart_failure(self) -> str:
        """Why the last restart was given up; empty if it was not."""

    @property
    def is_finished(self) -> bool:
        """Whether the crawl is finished, with everything that was announced."""

    def statuses(self) -> list[ShardStatus]:
        """The last status of each shard that has reported."""

    def stop(self, grace: float, /) -> None:
        """Stop every shard: it ends its requests and commits everything."""

    def close(self) -> None:
        """End all workers."""


Gather = Callable[[MakeShard, int, int | None], Team]
"""Makes a team of shards, given their number and how many pages they may fetch together (`None`: any number)."""


class CrawlLimits(Struct, frozen=True):
    """When a crawl ends before everything is fetched: after this many pages or bytes of all shards, or seconds.

    `seconds` count from the first request on: the start of workers does not. `None`: no limit.
    """

    pages: int | None = None
    downloaded: int | None = None
    seconds: float | None = None


UNLIMITED = CrawlLimits()


class ShardedCrawl:
    """A crawl: `run` it, or iterate over its `progress`.

    `gather` makes the team of shards; by default, processes of this machine, whose coordinator divides the visits of
    a watch. `stop` may be called by a signal handler; the crawl then ends its requests and
    keeps everything. `inbox` has URLs that sites pushed: the crawl looks there several times a second, and removes what
    the shards have committed. With `ends_unreachable`, the crawl ends without retries if none of its
    seeds can be reached (`are_unreachable`).
    """

    def __init__(
        self,
        make: MakeShard,
        workers: int,
        *,
        seeds: Sequence[Discovery] = (),
        limits: CrawlLimits = UNLIMITED,
        gather: Gather | None = None,
        inbox: MessageInbox | None = None,
        ends_unreachable: bool = False,
    ) -> None:
        self._gather: Gather = gather or ProcessTeam
        self._is_alone = workers == 1 and gather is None
        self._make = make
        self._workers = workers
        self._seeds = list(seeds)
        self._limits = limits
        self._max_bytes = math.inf if limits.downloaded is None else limits.downloaded
        self._until: float | None = None
        self._requests = Requests()
        self._pushed = PushedUrls(inbox, self.discover)
        self._seed_sites = frozenset(site_of(seed.url) for seed in self._seeds) if ends_unreachable else frozenset()
        self._restart: str | None = None
        self.is_restarting = False
        self.restart_failure = ""
        self.is_stopping = False
        self.is_interrupted = False
        self.is_unreachable = False

    def stop(self) -> None:
        """Make the crawl end soon, with everything kept."""
        self.is_stopping = self.is_interrupted = True
        self._requests.wake()

    def restart(self, python: str) -> None:
        """Restart the shards one after the other while the crawl goes on; `is_restarting` until all were.

        On this machine by the interpreter `python`, which may have an adjacent version. Several shards only. If it
        cannot run one, the others are not restarted (`restart_failure`).
        """
        if self._is_alone:
            raise UsageError("a crawl of one shard cannot be restarted while it runs", hint="stop it and run it again")
        self._restart, self.is_restarting = python, True

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

    def ask(self, question: ShardQuestion) -> Future[list[ShardView]]:
        """Ask every shard; the future has their answers."""
        return self._requests.put(question)

    def run(self) -> list[ShardStatus]:
        """Crawl to the end; returns the last status of every shard."""
        last: list[ShardStatus] = []
        for statuses in self.progress():
            last = statuses
        return last

    def progress(self) -> Iterator[list[ShardStatus]]:
        """Crawl, and yield the status of every shard several times a second."""
        return self._alone() if self._is_alone else self._together()

    def _start_clock(self, statuses: Sequence[ShardStatus]) -> None:
        """Start the duration of the crawl with the first request, or when there is none to make yet."""
        seconds = self._limits.seconds
        if seconds is not None and self._until is None and has_begun(statuses, self._workers):
            self._until = time.monotonic() + seconds

    def _look_for_servers(self, statuses: Sequence[ShardStatus]) -> None:
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

    def _alone(self) -> Iterator[list[ShardStatus]]:
        shard = self._make(0, 1)
        self._requests.wake = shard.wake
        try:
            shard.set_page_budget(self._limits.pages)
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

    def _together(self) -> Iterator[list[ShardStatus]]:
        team = self._gather(self._make, self._workers, self._limits.pages)
        asked = TeamRequests(team)
        try:
            asked.begin(self._requests.take_controls())
            team.start(self._seeds)
            while not self._is_over and not (team.is_finished and self._is_all_taken):
                self._pushed.read()
                asked.begin(self._requests.take())
                if self._restart is not None:
                    team.restart(self._restart)
                    self._restart = None
                team.poll(self._timeout)
                self.is_restarting = self._restart is not None or team.is_restarting
                self.restart_failure = team.restart_failure
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


def has_begun(statuses: Sequence[ShardStatus], workers: int) -> bool:
    """Whether a shard has made a request, or no shard has one to make now; workers that start are waited for."""
    parts = [status.frontier for status in statuses]
    if any(part.visited or part.leases for part in parts):
        return True
    return len(parts) == workers and (any(part.resting for part in parts) or not any(part.ready for part in parts))

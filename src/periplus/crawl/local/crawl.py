"""A crawl, as a program runs it: here, with a process for each shard, or wherever shards are gathered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Protocol

from periplus.model import Discovery, Purpose, Source, Url

from ..shard import Status
from .messages import GRACE, STATUS_EVERY
from .serving import MakeShard
from .team import Team

__all__ = ["Crawl", "Gather", "MakeShard"]


class Together(Protocol):
    """Shards that work together, wherever they are. `start` begins them; `turn` waits a little and sees to them."""

    def start(self, seeds: Sequence[Discovery], /) -> None:
        """Begin every shard."""

    def tell(self, discoveries: Sequence[Discovery], /) -> None:
        """Let each shard know of what is its own."""

    def turn(self, patience: float, /) -> None:
        """Wait no longer than `patience` seconds, and see to everything."""

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing more to do."""

    def statuses(self) -> list[Status]:
        """The last word of each."""

    def stop(self, grace: float, /) -> None:
        """End what is under way, and keep everything."""

    def close(self) -> None:
        """Let go."""


Gather = Callable[[MakeShard, int, int | None], Together]
"""Brings so many shards together, who may fetch so many pages in all."""


class Crawl:
    """A crawl, from this machine: `run` it, or step through `progress`.

    `limit` is how many pages may be fetched in all; `seconds` how long it may take. `gather` brings the shards
    together; by default, as processes of this machine. `stop` may be called by a signal handler; the crawl then ends
    what is under way and keeps everything.
    """

    def __init__(
        self,
        make: MakeShard,
        workers: int,
        *,
        seeds: Sequence[Discovery] = (),
        limit: int | None = None,
        seconds: float | None = None,
        gather: Gather | None = None,
    ) -> None:
        self._gather: Gather = gather or Team
        self._is_alone = workers == 1 and gather is None
        self._make = make
        self._workers = workers
        self._seeds = list(seeds)
        self._limit = limit
        self._until = None if seconds is None else time.monotonic() + seconds
        self._wake: Callable[[], None] = lambda: None
        self._news: SimpleQueue[list[Discovery]] = SimpleQueue()
        self.is_stopping = False
        self.is_interrupted = False

    def stop(self) -> None:
        """Let the crawl end soon, with everything kept."""
        self.is_stopping = self.is_interrupted = True
        self._wake()

    def ping(self, pages: Sequence[Url] = (), sitemaps: Sequence[Url] = ()) -> None:
        """Somebody says that these are new, or have changed. Any thread may call this, before the crawl or during it.

        A page counts as told of by a ping; a sitemap is fetched soon, unless it waits already. Both are as much the
        business of robots.txt and of the scope as if a site had named them.
        """
        now = time.time()
        told = [Discovery(url, Source.PING, now, score=1.0) for url in pages]
        self._news.put(told + [Discovery(url, Source.PING, now, purpose=Purpose.SITEMAP) for url in sitemaps])
        self._wake()

    def _told(self) -> list[Discovery]:
        told: list[Discovery] = []
        while not self._news.empty():
            told += self._news.get()
        return told

    def run(self) -> list[Status]:
        """To the end; how every shard was doing then."""
        last: list[Status] = []
        for statuses in self.progress():
            last = statuses
        return last

    def progress(self) -> Iterator[list[Status]]:
        """How it is going, several times a second, until it is over."""
        return self._alone() if self._is_alone else self._together()

    @property
    def _is_over(self) -> bool:
        return self.is_stopping or (self._until is not None and time.monotonic() >= self._until)

    @property
    def _patience(self) -> float:
        """How long to wait at a time: no longer than there is time."""
        left = STATUS_EVERY if self._until is None else self._until - time.monotonic()
        return min(max(left, 0.0), STATUS_EVERY)

    def _alone(self) -> Iterator[list[Status]]:
        shard = self._make(0, 1)
        self._wake = shard.wake
        try:
            shard.allow(self._limit)
            shard.discover(self._seeds)
            shown_at = 0.0
            while not self._is_over and not (shard.is_idle and self._news.empty()):
                if told := self._told():
                    shard.discover(told)
                shard.step(self._patience)
                if time.monotonic() >= shown_at + STATUS_EVERY:
                    shown_at = time.monotonic()
                    yield [shard.status()]
            shard.stop(GRACE)
            yield [shard.status()]
        finally:
            self._wake = lambda: None
            shard.close()

    def _together(self) -> Iterator[list[Status]]:
        team = self._gather(self._make, self._workers, self._limit)
        try:
            team.start(self._seeds)
            while not self._is_over and not (team.is_finished and self._news.empty()):
                if told := self._told():
                    team.tell(told)
                team.turn(self._patience)
                yield team.statuses()
            team.stop(GRACE)
            yield team.statuses()
        finally:
            team.close()

"""How a crawl is going, in numbers that people ask for: all shards as one, rates over the last seconds, the time left.

Pure: the time of each reading is an argument. How it is shown is in `live`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain

from msgspec import Struct

from periplus.crawl.census import Census
from periplus.crawl.frontier import Freshness, NextVisit
from periplus.crawl.shard import Status
from periplus.crawl.tally import Tally
from periplus.model import Site

WINDOW = 10.0
"""Rates are over so many seconds."""
_SAMPLES = 400
_SURE_AFTER = 3.0
"""Before so many seconds nobody can say how long it will take."""


class Progress(Struct, frozen=True):
    """All shards as one. `rate` is in pages a second; `left` in seconds, `None` where it cannot be told.

    Where no pages are fetched, the rate is of what is (see `Meter`). `waited` is for how many seconds nobody was asked
    anything, because every site that has something rested. `at` is when all this was so. Of a crawl that comes
    back: `freshness`, and `next_visits`, the first first.
    """

    tally: Tally
    known: int = 0
    queued: int = 0
    sites: int = 0
    ready: int = 0
    visited: int = 0
    resting: int = 0
    backing_off: int = 0
    next_site: Site | None = None
    next_in: float | None = None
    rate: float = 0.0
    left: float | None = None
    elapsed: float = 0.0
    waited: float = 0.0
    shards: int = 1
    at: float = 0.0
    freshness: Freshness | None = None
    next_visits: tuple[NextVisit, ...] = ()

    @property
    def errors(self) -> int:
        """Attempts at pages that failed."""
        return sum(self.tally.errors.values())


class Meter:
    """Makes a `Progress` of what the shards say. `limit` is how many pages may be fetched in all; 0: any number.

    `work` is what is counted where it is not pages.
    """

    def __init__(self, began_at: float, *, limit: int = 0, work: Callable[[Tally], int] | None = None) -> None:
        self._began_at = began_at
        self._limit = limit
        self._work = work or (lambda tally: tally.pages)
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)
        self._waited = 0.0

    def read(self, statuses: Sequence[Status], now: float) -> Progress:
        """Everything up to now. `now` is POSIX time, as the shards reckon."""
        total = _together([status.census for status in statuses])
        tally = sum((status.tally for status in statuses), Tally())
        if self._samples and total.resting and not (total.ready or total.visited):
            self._waited += now - self._samples[-1][0]
        self._samples.append((now, self._work(tally)))
        while len(self._samples) > 2 and self._samples[0][0] < now - WINDOW:
            self._samples.popleft()
        rate = self._rate()
        elapsed = now - self._began_at
        return Progress(
            tally=tally,
            known=total.known,
            queued=total.queued,
            sites=total.sites,
            ready=total.ready,
            visited=total.visited,
            resting=total.resting,
            backing_off=total.backing_off,
            next_site=total.next_site,
            next_in=None if total.next_at is None else max(total.next_at - now, 0.0),
            rate=rate,
            left=self._left(total, tally, rate) if elapsed >= _SURE_AFTER else None,
            elapsed=elapsed,
            waited=self._waited,
            shards=len(statuses),
            at=now,
            freshness=_freshness(statuses),
            next_visits=_next_visits(statuses),
        )

    def _rate(self) -> float:
        (then, before), (now, after) = self._samples[0], self._samples[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def _left(self, total: Census, tally: Tally, rate: float) -> float | None:
        """As long as the longest queue takes at its site's pace, or all of them at the pace measured.

        New URLs are found on the way and others turn out to be none, so this is what it takes for what is known now.
        """
        waiting = total.queued
        longest = total.longest
        if self._limit:
            allowed = max(self._limit - tally.pages, 0)
            longest = longest if allowed >= waiting else 0.0
            waiting = min(waiting, allowed)
        if not waiting:
            return 0.0
        return max(waiting / rate, longest) if rate > 0 else longest or None


def _freshness(statuses: Sequence[Status]) -> Freshness | None:
    """Of all shards, as soon as each has said something."""
    parts = [status.freshness for status in statuses if status.freshness is not None]
    if len(parts) < len(statuses):  # of some shards nothing was heard yet
        return None
    return sum(parts[1:], parts[0]) if parts else None


def _next_visits(statuses: Sequence[Status]) -> tuple[NextVisit, ...]:
    """The first of all shards, as many as one of them tells."""
    told = [status.next_visits for status in statuses]
    everyone = sorted(chain(*told), key=lambda visit: (not visit.is_waiting, visit.due_at, visit.url))
    return tuple(everyone[: max(map(len, told), default=0)])


def _together(parts: Sequence[Census]) -> Census:
    """Several shards as one."""
    first = min(
        (part for part in parts if part.next_at is not None), key=lambda part: part.next_at or 0.0, default=None
    )
    return Census(
        known=sum(part.known for part in parts),
        queued=sum(part.queued for part in parts),
        sites=sum(part.sites for part in parts),
        ready=sum(part.ready for part in parts),
        resting=sum(part.resting for part in parts),
        visited=sum(part.visited for part in parts),
        backing_off=sum(part.backing_off for part in parts),
        done=sum(part.done for part in parts),
        next_site=first.next_site if first else None,
        next_at=first.next_at if first else None,
        longest=max((part.longest for part in parts), default=0.0),
    )

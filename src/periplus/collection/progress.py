"""The progress of a crawl in numbers: all shards together, rates over the last seconds, the time left.

Pure: the time of each reading is an argument. It comes from a clock that never runs backwards
(`engine.clock.SystemClock`, which the shards use too), so that elapsed times and rates are right when the machine's
clock is set. `live` shows them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.frontier import CutOff, Setback
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.stats import CrawlStats
from periplus.model import Freshness, NextVisit, Site

WINDOW = 10.0
"""Seconds over which rates are measured: long enough to be steady, short enough to show a change."""
_SAMPLES = 400
"""Maximum number of readings kept: a bound, far above what comes in the window."""
_ESTIMATE_AFTER = 3.0
"""Seconds before the first estimate of the time left: rates of the first seconds are too rough."""


class Progress(Struct, frozen=True):
    """All shards together. `rate` is in pages a second; `left` is in seconds, `None` if it cannot be estimated.

    In a crawl that fetches no pages, the rate counts other work (see `Meter`). `waited` is for how many seconds no
    request was made because every site with queued URLs had to rest. `elapsed` is the seconds since the crawl began,
    `at` the POSIX time of the reading. `setbacks` are the last failures of sites. `has_unread`: sitemaps list URLs that
    are not counted yet; `listed` URLs were read there and are not queued yet. `left` is for the URLs known now, and
    `limit_in` until the limit, if links lead to enough more. Of a watched collection: `freshness`, and `next_visits`,
    the first one first. `leases` requests are out. `known` are URLs of pages; `records` counts sitemaps and feeds as
    well. So does `queued`, of which `queued_files` are such files. The oldest of the last commits of all shards was at
    `committed_at`; the longest took `commit_seconds`. `login_problem` says why no shard could log in; it is empty if
    one could, or none has tried. `cut_off`: no server can be reached. `is_idle`: what is queued, if anything, cannot be
    had: it is at servers that do not exist, or over the limit.
    """

    tally: CrawlStats
    known: int = 0
    records: int = 0
    queued: int = 0
    queued_files: int = 0
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
    limit: int = 0
    """Pages that may be fetched in all; 0 if there is no limit."""
    revisits_before: int = 0
    """Pages that were fetched again before this run."""
    at: float = 0.0
    setbacks: tuple[Setback, ...] = ()
    has_unread: bool = False
    freshness: Freshness | None = None
    next_visits: tuple[NextVisit, ...] = ()
    leases: int = 0
    committed_at: float = 0.0
    commit_seconds: float = 0.0
    login_problem: str = ""
    cut_off: CutOff | None = None
    listed: int = 0
    limit_in: float | None = None
    is_idle: bool = False

    @property
    def queued_pages(self) -> int:
        """URLs of pages in the queue."""
        return max(self.queued - self.queued_files, 0)

    @property
    def limited_pages(self) -> int:
        """Pages that count against the limit."""
        return self.tally.pages - self.revisits_before

    @property
    def allowed(self) -> float:
        """Pages that the limit leaves."""
        return max(self.limit - self.limited_pages, 0) if self.limit else math.inf

    @property
    def is_bounded(self) -> bool:
        """Whether the limit ends the crawl before the URLs that are known now."""
        return self.allowed <= self.queued + self.listed

    @property
    def errors(self) -> int:
        """Requests that failed."""
        return sum(self.tally.errors.values())


class Meter:
    """Makes a `Progress` of the statuses of the shards. `limit` is how many pages may be fetched in all; 0: no limit.

    `before` are the statistics from before this run. `work` counts what the rate measures, by default pages. `began_at`
    is by the same clock as the `now` of `read`.
    """

    def __init__(
        self,
        began_at: float,
        *,
        limit: int = 0,
        before: CrawlStats | None = None,
        work: Callable[[CrawlStats], int] | None = None,
    ) -> None:
        self._began_at = began_at
        self._limit = limit
        self._revisits_before = before.revisits if before else 0
        self._work = work or (lambda tally: tally.pages)
        self._done = self._work(before) if before else 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)
        self._waited = 0.0

    def read(self, statuses: Sequence[ShardStatus], now: float) -> Progress:
        """The progress up to now. `now` is POSIX time by a clock that never runs backwards."""
        total = _together([status.frontier for status in statuses])
        tally = sum((status.crawl for status in statuses), CrawlStats())
        if self._samples and total.resting and not (total.ready or total.visited):
            self._waited += now - self._samples[-1][0]
        self._done = max(self._done, self._work(tally))  # shards report one after the other what they had before
        self._samples.append((now, self._done))
        while len(self._samples) > 2 and self._samples[0][0] < now - WINDOW:
            self._samples.popleft()
        rate = self._rate()
        progress = Progress(
            tally=tally,
            known=tally.known,
            records=total.known,
            queued=total.queued,
            queued_files=total.files,
            sites=total.sites,
            ready=total.ready,
            visited=total.visited,
            resting=total.resting,
            backing_off=total.backing_off,
            next_site=total.next_site,
            next_in=None if total.next_at is None else max(total.next_at - now, 0.0),
            rate=rate,
            elapsed=now - self._began_at,
            waited=self._waited,
            shards=len(statuses),
            limit=self._limit,
            revisits_before=self._revisits_before,
            at=now,
            setbacks=total.setbacks,
            has_unread=total.has_unread,
            freshness=_freshness(statuses),
            next_visits=_next_visits(statuses),
            leases=total.leases,
            committed_at=min((status.committed_at for status in statuses), default=0.0),
            commit_seconds=max((status.commit_seconds for status in statuses), default=0.0),
            login_problem=_login_problem(statuses),
            cut_off=total.cut_off,
            listed=total.listed,
            is_idle=all(status.is_idle for status in statuses),
        )
        if progress.elapsed < _ESTIMATE_AFTER:
            return progress
        left = _left(progress, total.longest)
        finds_more = left and progress.limit and not progress.is_bounded and rate > 0
        return replace(progress, left=left, limit_in=progress.allowed / rate if finds_more else None)

    def _rate(self) -> float:
        (then, before), (now, after) = self._samples[0], self._samples[-1]
        return (after - before) / (now - then) if now > then else 0.0


def _left(progress: Progress, longest: float) -> float | None:
    """Seconds for the `longest` queue at its site's politeness delay, or for all URLs at the measured rate.

    It is an estimate for the URLs known now: new ones are found on the way, and some turn out not to be pages.
    """
    waiting = min(progress.queued + progress.listed, progress.allowed)
    if not waiting:
        return 0.0
    longest = 0.0 if progress.allowed < progress.queued else longest
    if progress.rate > 0:
        return max(waiting / progress.rate, longest)
    return (longest or None) if not progress.setbacks else None


def _freshness(statuses: Sequence[ShardStatus]) -> Freshness | None:
    """The freshness of all shards; `None` until each has reported it."""
    parts = [status.freshness for status in statuses if status.freshness is not None]
    if len(parts) < len(statuses):  # some shards have not reported yet
        return None
    return sum(parts[1:], parts[0]) if parts else None


def _login_problem(statuses: Sequence[ShardStatus]) -> str:
    """Why every login of every shard failed; empty if one succeeded, or there was none."""
    problems = [status.login_problem for status in statuses if status.login_problem is not None]
    return problems[0] if problems and all(problems) else ""


def _next_visits(statuses: Sequence[ShardStatus]) -> tuple[NextVisit, ...]:
    """The first visits of all shards together, as many as one of them reports."""
    upcoming = [status.next_visits for status in statuses]
    everyone = sorted(chain(*upcoming), key=lambda visit: (not visit.is_waiting, visit.due_at, visit.url))
    return tuple(everyone[: max(map(len, upcoming), default=0)])


def _together(parts: Sequence[FrontierStats]) -> FrontierStats:
    """The numbers of several shards as one."""
    first = min(
        (part for part in parts if part.next_at is not None), key=lambda part: part.next_at or 0.0, default=None
    )
    return FrontierStats(
        known=sum(part.known for part in parts),
        queued=sum(part.queued for part in parts),
        files=sum(part.files for part in parts),
        sites=sum(part.sites for part in parts),
        ready=sum(part.ready for part in parts),
        resting=sum(part.resting for part in parts),
        visited=sum(part.visited for part in parts),
        backing_off=sum(part.backing_off for part in parts),
        done=sum(part.done for part in parts),
        next_site=first.next_site if first else None,
        next_at=first.next_at if first else None,
        longest=max((part.longest for part in parts), default=0.0),
        setbacks=tuple(chain.from_iterable(part.setbacks for part in parts)),
        has_unread=any(part.has_unread for part in parts),
        listed=sum(part.listed for part in parts),
        leases=sum(part.leases for part in parts),
        cut_off=next((part.cut_off for part in parts if part.cut_off is not None), None),
    )

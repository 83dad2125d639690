"""What servers see of a crawl, in true time: every request is checked when it begins.

A *visit* of a site is one or more requests that begin at the same moment, at most `max_parallel`; the next one begins
when all of them have ended and the site has rested. `pages_per_visit` requests may follow each other without a rest.
Requests to one address begin `ip_delay` apart, but for those of one visit.

A URL is asked again only for a reason: its answer was a failure that is tried again, its process died before it had
the answer, or it is a revisit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from tests.faults.web import CRAWL_DELAY, Broken, TrueTime

from periplus.engine.frontier import PolitenessSettings, is_temporary
from periplus.engine.frontier.politeness import MAX_DELAY, reason_of
from periplus.engine.router import owner_of
from periplus.model import BROWSER_PROBE, SOFT_404, Fetched, FetchOutcome, FetchTask, Lane, Purpose, Site, Url
from periplus.parts.cloaking.part import CRAWLER_PROBE
from periplus.urls import site_of

_TOLERANCE: Final = 1e-3
"""Seconds by which clocks of floating-point numbers may differ after jumps of years."""
_COMPARED: Final = 3
"""Copies of a page on each side of a comparison."""
Asked = tuple[Url, Purpose, str]
"""A request: URL, purpose, and the kind of a probe."""


class Request(Struct):
    """A request that has begun."""

    task: FetchTask
    began_at: float
    took: float


class _Site(Struct):
    """What one shard asks of a site."""

    under_way: dict[int, Request]
    began_at: float = -1e9
    """When the last visit began..."""
    size: int = 0
    """...and how many requests it has."""
    rested_at: float = -1e9
    """When the site has rested from the last visit."""
    unrested: int = 0
    """Requests since the site last rested."""


class Traffic:
    """The log of all servers, and its checks. `attempts`: of a URL, at most."""

    def __init__(self, true: TrueTime, politeness: PolitenessSettings, *, attempts: int, is_sharded: bool) -> None:
        self.true, self._politeness, self._attempts, self.is_sharded = true, politeness, attempts, is_sharded
        self.shards = 1
        """Among how many the sites are divided now."""
        self.requests = 0
        self.made_up: dict[Site, set[Url]] = {}
        self.last_at = true.at
        self.is_paused = False
        self.forbidden: dict[str, Callable[[str], object]] = {}
        """Patterns that people have excluded, and the crawl follows."""
        self.max_absent: int | None = None
        """URLs of a site that may be made up to see how it answers."""
        self.life = self.sleeps = 0
        self.answered: dict[Url, str] = {}
        """Why the last attempt of a page failed, as the crawl knows; empty: it did not."""
        self._life_of: dict[Url, int] = {}
        self._counts: Counter[tuple[Asked, int]] = Counter()
        self._sites: dict[tuple[int, Site], _Site] = {}
        self._addresses: dict[tuple[int, str], float] = {}
        self._slow: dict[Site, None] = {}
        self._excused: set[Url] = set()
        self._unanswered: set[Url] = set()

    # a request

    def began(self, shard: int, key: int, task: FetchTask, took: float) -> None:
        """Check a request that begins now."""
        now = self.true.at
        self.last_at = now
        if owner_of(site_of(task.url), self.shards) != shard:
            raise Broken(f"{task.url} is asked for by shard {shard}, which does not have its site")
        if task.ip is None:
            return
        if self.is_paused:
            raise Broken(f"{task.url} is asked for although the crawl is paused")
        self.requests += 1
        self._end_all()
        if task.purpose in (Purpose.PAGE, Purpose.PROBE):
            for pattern, matches in self.forbidden.items():
                if matches(task.url):
                    raise Broken(f"{task.url} is asked for, and people have excluded {pattern}")
        self._check_reason(shard, task)
        self._check_site(shard, key, task, took)

    def _check_reason(self, shard: int, task: FetchTask) -> None:
        asked = (task.url, task.purpose, task.probe)
        for (asking, _), site in self._sites.items():
            for request in site.under_way.values():
                other = request.task
                is_same = (other.url, other.purpose, other.probe, other.site) == (*asked, task.site)
                if is_same and asking == shard:
                    raise Broken(f"{task.url} is asked for twice at once ({task.purpose.value} {task.probe})")
        self._counts[asked, self.life] += 1
        if task.purpose is Purpose.PROBE:
            self._check_probe(asked)
        elif task.purpose is Purpose.PAGE:
            self._check_page(task, asked)

    def _check_page(self, task: FetchTask, asked: Asked) -> None:
        self._unanswered.add(task.url)
        if task.lane is not Lane.REFRESH:
            reason = self.answered.get(task.url)
            if reason is not None and not is_temporary(reason) and task.url not in self._excused:
                raise Broken(f"{task.url} is asked for again, and was answered: {reason or 'a page'}")
            if self._counts[asked, self.life] > self._attempts:
                raise Broken(f"{task.url} is asked for {self._counts[asked, self.life]} times")

    def _check_probe(self, asked: Asked) -> None:
        if asked[2] == SOFT_404 and self.max_absent is not None:
            made_up = self.made_up.setdefault(site_of(asked[0]), set())
            made_up.add(asked[0])
            if len(made_up) > self.max_absent:
                raise Broken(f"{len(made_up)} URLs of {site_of(asked[0])} were made up")
        allowed = self._attempts
        if asked[2] in (BROWSER_PROBE, CRAWLER_PROBE):  # of each visit, and of one before this life
            allowed *= _COMPARED * (1 + self._counts[(asked[0], Purpose.PAGE, ""), self.life])
        if self._counts[asked, self.life] > allowed:
            raise Broken(f"{asked[0]} is probed {self._counts[asked, self.life]} times ({asked[2]})")

    def _check_site(self, shard: int, key: int, task: FetchTask, took: float) -> None:
        now, politeness = self.true.at, self._politeness
        name = site_of(task.url)
        site = self._sites.setdefault((shard, name), _Site({}))
        if now == site.began_at and site.size:
            site.size += 1
            if site.size > politeness.max_parallel:
                raise Broken(f"{name} is asked for {site.size} pages at once")
        else:
            if site.under_way:
                other = next(iter(site.under_way.values())).task.url
                raise Broken(f"{name} is asked for {task.url} while {other} is under way")
            self._check_rest(site, name, task)
            self._check_address(shard, task)
            site.began_at, site.size, site.rested_at = now, 1, -1e9
        site.unrested += 1
        site.under_way[key] = Request(task, now, took)

    def _check_rest(self, site: _Site, name: Site, task: FetchTask) -> None:
        politeness = self._politeness
        if self.true.at >= site.rested_at - _TOLERANCE:
            site.unrested = 0
        elif name in self._slow or site.unrested >= politeness.pages_per_visit - 1 + politeness.max_parallel:
            missing = site.rested_at - self.true.at
            raise Broken(f"{name} rests {missing:.3f} s too short before {task.url}")
        elif politeness.pages_per_visit == 1:
            raise Broken(f"{name} does not rest before {task.url}: {site.rested_at - self.true.at:.3f} s are missing")

    def _check_address(self, shard: int, task: FetchTask) -> None:
        assert task.ip is not None
        gap = self.true.at - self._addresses.get((shard, task.ip), -1e9)
        least = self._politeness.between_requests_to_an_address
        if gap < least - _TOLERANCE:
            raise Broken(f"{task.ip} is asked again after {gap:.3f} s, not {least}: {task.url}")
        self._addresses[shard, task.ip] = self.true.at

    def _end_all(self) -> None:
        """End requests that have ended at their servers, be it that their process slept meanwhile."""
        for (_, name), site in self._sites.items():
            for key in [key for key, each in site.under_way.items() if each.began_at + each.took <= self.true.at]:
                self._end(name, site, site.under_way.pop(key))

    def ended(self, shard: int, key: int) -> None:
        """A request has ended, or was cancelled."""
        for (asking, name), site in self._sites.items():
            request = site.under_way.pop(key, None) if asking == shard else None
            if request is not None:
                self._end(name, site, request)

    def _end(self, name: Site, site: _Site, request: Request) -> None:
        ends_at = min(request.began_at + request.took, self.true.at)
        rested_at = ends_at + self._delay(name, request.took)
        if self._politeness.pages_per_visit > 1 and site.rested_at > -1e9:  # any of them may be the last of a visit
            site.rested_at = min(site.rested_at, rested_at)
        else:
            site.rested_at = max(site.rested_at, rested_at)

    def _delay(self, name: Site, took: float) -> float:
        politeness = self._politeness
        asked = CRAWL_DELAY if name in self._slow else 0.0
        slow = politeness.slow_factor * took if politeness.pages_per_visit == 1 else 0.0  # of a visit's last page
        return max(politeness.delay, asked, min(slow, MAX_DELAY))

    # what the crawl knows

    def learnt(self, outcome: FetchOutcome) -> None:
        """The crawl has applied an answer."""
        task = outcome.task
        if task.purpose is Purpose.ROBOTS and isinstance(outcome, Fetched) and b"Crawl-delay" in outcome.body:
            self._slow[task.site] = None
        if task.purpose is Purpose.PAGE and task.ip is not None:
            self._unanswered.discard(task.url)
            reason = reason_of(outcome)
            if reason != "cancelled":
                self.answered[task.url] = reason

    def slept(self, seconds: float) -> None:
        """The machine was suspended: what was under way may be taken for lost, and asked for again."""
        self.true.at += seconds
        self.sleeps += 1
        self._excused |= self._unanswered

    def disconnected(self, shard: int | None = None) -> None:
        """Processes have died: their requests end now, and another life begins."""
        for (asking, _), site in self._sites.items():
            if shard in (None, asking):
                site.under_way.clear()
                site.rested_at = min(site.rested_at, self.true.at + self._politeness.delay)
                site.began_at, site.size = -1e9, 0
        self.life += 1

"""A crawl of a simulated web that checks every request when it begins.

`Crawl` drives a frontier as an engine would, minus the waiting, and fails at the first request that should not have
begun: too many at once, too soon after the last to its site or its address, before robots.txt is known or against it,
or of a URL that has ended. `check_end` then checks that every URL has.

Inputs since the last commit are logged. A process that is killed loses what was not committed; the next one applies
the logged inputs again, and must come to the same tasks, events and numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from copy import deepcopy
from heapq import heapify, heappop, heappush
from random import Random

from msgspec import Struct
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier
from tests.properties.simulated_web import World
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier, PolitenessSettings, RetrySettings, is_temporary, reason_of, retry_for
from periplus.engine.overview import frontier_stats
from periplus.formats.robots import parse
from periplus.model import (
    BodyReading,
    Digests,
    Discovery,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
)
from periplus.store import MemoryState, State
from periplus.urls import site_of

AGENT = "Periplus"
START = 1_000_000.0
REBOOT = 60.0
"""Seconds until a machine that lost power runs again."""


class Trouble(Struct, frozen=True):
    """What happens to tasks: the shares of those that are lost and cancelled; and how many may be under way."""

    lost: float = 0.0
    cancelled: float = 0.0
    slots: int = 8


class Start(Struct, frozen=True):
    """A request that began."""

    at: float
    site: Site
    task: FetchTask


class Taken(Struct, frozen=True):
    """An input: a `take`, and what it granted."""

    limit: int
    at: float
    tasks: list[FetchTask]


class Reported(Struct, frozen=True):
    """An input: an outcome."""

    outcome: FetchOutcome
    at: float


class Found(Struct, frozen=True):
    """An input: discoveries."""

    discoveries: list[Discovery]
    at: float


class Counted(Struct, frozen=True):
    """What was counted when a commit was made."""

    events: int = 0
    finals: Counter[Url] = Counter()
    attempts: Counter[Url] = Counter()


class Crawl:
    """A crawl of a world from its first URLs, every request of which is checked."""

    def __init__(
        self,
        world: World,
        *,
        state: State | None = None,
        politeness: PolitenessSettings | None = None,
        retries: RetrySettings | None = None,
        capacity: int = 50_000,
        page_budget: int | None = None,
        trouble: Trouble | None = None,
        seed: int = 0,
    ) -> None:
        self.world = world
        self.state: State = state or MemoryState()
        self.politeness = politeness or PolitenessSettings()
        self.retries = retries or RetrySettings()
        self._trouble = trouble or Trouble()
        self._chance = Random(f"trouble {seed}")
        self.now = START
        self.events = MemoryEventSink()
        self.starts: list[Start] = []
        self.reported: list[FetchOutcome] = []
        self.takes = 0
        self.vain_takes = 0
        self._is_woken = False
        self.crashes = self.restarts = 0
        self._order = 0
        self.under_way: list[tuple[float, int, FetchTask, FetchOutcome | None]] = []
        self.finals: Counter[Url] = Counter()
        self._attempts: Counter[Url] = Counter()
        self._visits: dict[Site, list[tuple[float, float, float]]] = defaultdict(list)
        self._flying: Counter[Site] = Counter()
        self._last_at_ip: dict[str, tuple[float, Site]] = {}
        self._options = FrontierOptions(
            events=self.events, politeness=self.politeness, retries=self.retries, max_sites=capacity, seed=seed
        )
        self._log: list[Taken | Reported | Found] = []
        self._opened = OpenedFrontier(self.state, self._options)
        self.frontier.page_budget = page_budget
        self.commit()

    @property
    def frontier(self) -> Frontier:
        """The frontier of this process."""
        return self._opened.frontier

    def seed(self, urls: list[Url] | None = None) -> None:
        """Begin with these, or with the first page of each site."""
        firsts = {site_of(url): url for url in reversed(self.world.urls)}
        chosen = list(firsts.values()) if urls is None else urls
        self.discover([Discovery(url, Source.SEED, self.now) for url in chosen])

    # inputs

    def discover(self, discoveries: list[Discovery]) -> None:
        """Discover these now."""
        self._log.append(Found(discoveries, self.now))
        self.frontier.discover(discoveries, self.now)
        self.frontier.check_invariants()

    def _take(self, limit: int, at: float) -> list[FetchTask]:
        tasks = self.frontier.take(limit, at)
        self._log.append(Taken(limit, at, tasks))
        assert len(tasks) <= limit
        self.frontier.check_invariants()
        return tasks

    def _report(self, outcome: FetchOutcome) -> None:
        self._log.append(Reported(outcome, self.now))
        self.frontier.report(outcome, self.now, _reading(outcome))
        self.frontier.check_invariants()

    # running

    def run(self, steps: int = 1_000_000) -> None:
        """Until nothing is left to do, or at most this many steps."""
        while steps and not self.frontier.is_idle:
            self.step()
            steps -= 1

    def step(self) -> None:
        """Begin what may begin now, or go on to when something can happen; report what has ended by then."""
        before = len(self.events.events)
        tasks = self._take(self._trouble.slots - len(self.under_way), self.now)
        self.takes += 1
        for task in tasks:
            self._begin(task)
        is_stuck = self.frontier.next_at is None and not self.under_way and not self.frontier.is_idle
        assert not is_stuck, "nothing is under way, nothing will ever be ready, and yet the crawl is not idle"
        is_fruitful = bool(tasks) or len(self.events.events) > before
        self.vain_takes += self._is_woken and not is_fruitful
        self._is_woken = False
        if is_fruitful or self.frontier.is_idle:
            return
        ended = self._wait()
        self._is_woken = not ended
        for outcome in ended:
            self.finish(outcome)

    def _wait(self) -> list[FetchOutcome]:
        """Go on to the next moment in which something can happen, and return what has ended by then."""
        ends = [entry[0] for entry in self.under_way if entry[3] is not None]
        next_at = self.frontier.next_at if len(self.under_way) < self._trouble.slots else None
        if next_at is None and len(self.under_way) >= self._trouble.slots and not ends:
            next_at = min(entry[0] for entry in self.under_way)
        times = [*ends, *(() if next_at is None else (next_at,))]
        assert times, "nothing is under way, nothing will ever be ready, and yet the crawl is not idle"
        at = max(min(times), self.now)
        self._try_early(at)
        self.now = at
        ended: list[FetchOutcome] = []
        while self.under_way and self.under_way[0][0] <= self.now:
            _, _, task, outcome = heappop(self.under_way)
            if outcome is None:
                self._flying[site_of(task.url)] -= task.ip is not None
            else:
                ended.append(outcome)
        return ended

    def _try_early(self, at: float) -> None:
        """Nothing is granted before `next_at`."""
        slots = self._trouble.slots - len(self.under_way)
        if at - self.now > 0.002 and slots > 0:
            early = self.now + (at - self.now) * 0.999
            assert self._take(slots, early) == [], f"a task was granted at {early}, before {at}"
            self.now = early

    def _begin(self, task: FetchTask) -> None:
        self._check(task)
        fate = self._chance.random()
        outcome: FetchOutcome | None = self.world.answer(task, self.now)
        took = getattr(outcome, "duration", 0.0)
        if fate < self._trouble.lost:
            outcome, took = None, task.lease_ends_at - self.now
            if task.ip is not None:
                self._visits[site_of(task.url)].append((self.now, task.lease_ends_at, 0.0))
        elif fate < self._trouble.lost + self._trouble.cancelled:
            outcome = Failed(task, "cancelled", self.now, took)
        if task.ip is not None and outcome is not None:
            self._visits[site_of(task.url)].append((self.now, self.now + took, took))
        self._order += 1
        heappush(self.under_way, (self.now + took, self._order, task, outcome))

    def begin(self, limit: int) -> None:
        """Take some tasks, and begin them."""
        for task in self._take(limit, self.now):
            self._begin(task)

    def end(self, number: int) -> None:
        """One of the tasks under way ends, at its time or later."""
        at, _, task, outcome = self.under_way.pop(number)
        heapify(self.under_way)
        self.now = max(self.now, at)
        self._flying[site_of(task.url)] -= outcome is None and task.ip is not None
        if outcome is not None:
            self.finish(outcome)

    def lose(self, number: int) -> FetchOutcome | None:
        """No outcome of a task arrives before its lease is over; the one that would have."""
        _, order, task, outcome = self.under_way.pop(number)
        self.under_way.append((task.lease_ends_at, order, task, None))
        heapify(self.under_way)
        visits = self._visits[site_of(task.url)]
        if task.ip is not None:
            began_at = task.lease_ends_at - self.politeness.lease
            place = next(i for i, visit in enumerate(visits) if visit[0] == began_at)
            visits[place] = (began_at, task.lease_ends_at, 0.0)
        return outcome

    def wait(self, seconds: float) -> None:
        """Time passes; leases end that are over."""
        self.now += seconds
        while self.under_way and self.under_way[0][3] is None and self.under_way[0][0] <= self.now:
            self.end(0)

    def finish(self, outcome: FetchOutcome) -> None:
        """As an engine does: first the report, then the links."""
        if outcome.task.ip is not None:
            self._flying[site_of(outcome.task.url)] -= 1
        self._note(outcome)
        self._report(outcome)
        task, found = outcome.task, self.world.found(outcome)
        source = Source.REDIRECT if isinstance(outcome, Redirected) else Source.LINK
        self.discover([Discovery(url, source, self.now, task.depth + 1, task.url) for url in found])

    # processes end

    def commit(self) -> None:
        """Make everything durable."""
        self._committed = self._opened.commit()
        self.state.commit()
        self._copy: MemoryState | None = deepcopy(self.state) if isinstance(self.state, MemoryState) else None
        self._log.clear()
        self._counted = Counted(len(self.events.events), self.finals.copy(), self._attempts.copy())

    def crash(self, reopen: Callable[[], State] | None = None) -> None:
        """The process is killed: the next one applies the log to the last commit, and fetches again what was under way.

        `reopen` opens a state on disk again.
        """
        before = self._numbers()
        self._stop()
        self._open(reopen)
        for each in self._log:
            match each:
                case Taken(limit=limit, at=at, tasks=tasks):
                    assert self.frontier.take(limit, at) == tasks
                case Reported(outcome=outcome, at=at):
                    self.frontier.report(outcome, at, _reading(outcome))
                case Found(discoveries=discoveries, at=at):
                    self.frontier.discover(discoveries, at)
        assert self._numbers() == before
        self._restart()

    def _numbers(self) -> tuple[object, ...]:
        frontier = self.frontier
        return frontier_stats(self.state, frontier), frontier.next_at, list(frontier._leases), self.events.events[:]

    def lose_power(self, reopen: Callable[[], State] | None = None) -> None:
        """The machine stops: the log is lost as well, and what was done since the commit is done again."""
        self._stop()
        self._open(reopen)
        self.now += REBOOT
        for visits in self._visits.values():  # how long answers took since the commit is forgotten
            visits[:] = [(began_at, ended_at, 0.0) for began_at, ended_at, _ in visits]
        self.finals, self._attempts = self._counted.finals.copy(), self._counted.attempts.copy()
        self._restart()

    def set_clock(self, now: float) -> None:
        """The process ends, the clock is set, and the next process begins. Requests that were made just ended."""
        self.commit()
        self._stop()
        self._open(None)
        self.now = now
        for visits in self._visits.values():
            visits[:] = [(now, now, 0.0)] * len(visits)
        self._last_at_ip = {ip: (now, site) for ip, (_, site) in self._last_at_ip.items()}
        self._restart()

    def _stop(self) -> None:
        """Requests under way end now."""
        self.crashes += 1
        for _, _, task, _ in self.under_way:
            if task.ip is not None:
                began_at, _, _ = self._visits[site_of(task.url)].pop()
                self._visits[site_of(task.url)].append((began_at, self.now, 0.0))
        self.under_way.clear()
        self._flying.clear()

    def _open(self, reopen: Callable[[], State] | None) -> None:
        """Open what is committed; nothing since then is there."""
        if reopen is not None:
            self.state = reopen()
        else:
            assert self._copy is not None, "a state on disk has to be opened again"
            self.state = deepcopy(self._copy)
        del self.events.events[self._counted.events :]
        self._opened = OpenedFrontier(self.state, self._options, self._committed)
        self.frontier.check_invariants()

    def _restart(self) -> None:
        self.restarts += 1
        self.frontier.restart(self.now)
        self.frontier.check_invariants()
        assert not self.frontier._leases
        self.commit()

    # checking

    def _check(self, task: FetchTask) -> None:
        """Every rule of politeness, at the moment a request begins."""
        if task.purpose is Purpose.PAGE:
            self._check_page(task)
        if task.ip is None:
            return
        site = site_of(task.url)
        self.starts.append(Start(self.now, site, task))
        self._flying[site] += 1
        assert self._flying[site] <= self.politeness.max_parallel, f"{site} is asked twice at once"
        self._check_rest(site)
        last_at, last_site = self._last_at_ip.get(task.ip, (0.0, site))
        is_together = self.politeness.max_parallel > 1 and last_site == site and last_at == self.now
        gap = self.politeness.between_requests_to_an_address
        assert is_together or self.now - last_at >= gap - 1e-6, f"{task.ip} is asked again after {self.now - last_at} s"
        self._last_at_ip[task.ip] = (self.now, site)

    def _check_page(self, task: FetchTask) -> None:
        assert task.ip is not None, "a page is fetched from an unknown address"
        assert self.finals[task.url] == 0, f"{task.url} is fetched again"
        self._attempts[task.url] += 1
        file = self.state.robots.get(task.site)
        assert file is not None, f"{task.url} is fetched before robots.txt was"
        assert file.expires_at > self.now
        assert file.access != "none"
        assert file.access == "all" or parse(file.body).access(AGENT).allows(task.url)

    def _check_rest(self, site: Site) -> None:
        visits = self._visits[site]
        k = self.politeness.pages_per_visit
        if self.politeness.max_parallel > 1 or len(visits) < k:
            return
        asked = self._asked_for(site)
        several = 1 if asked else k
        starts = [at for at, _, _ in visits[-several:]] + [self.now]
        pauses = [starts[i + 1] - visits[-several:][i][1] for i in range(several)]
        rests = [
            max(self.politeness.delay, asked, self.politeness.slow_factor * took) for _, _, took in visits[-several:]
        ]
        assert any(pause >= rest - 1e-6 for pause, rest in zip(pauses, rests, strict=True)), (
            f"{site} rested {pauses} s instead of {rests}"
        )

    def _asked_for(self, site: Site) -> float:
        file = self.state.robots.get(site)
        known = None if file is None or file.access != "rules" else parse(file.body).access(AGENT).crawl_delay
        return known or 0.0

    def _note(self, outcome: FetchOutcome) -> None:
        self.reported.append(outcome)
        reason = reason_of(outcome)
        if outcome.task.purpose is not Purpose.PAGE or reason == "cancelled":
            return
        if not retry_for(reason).again or outcome.task.attempt >= self.retries.max_attempts:
            self.finals[outcome.task.url] += 1

    def check_end(self) -> None:
        """Every URL that was accepted has ended once, and its record says how."""
        assert self.frontier.is_idle
        assert not self.under_way
        assert len(self.state.queues) == 0
        for event in self.events.events:
            if isinstance(event, FetchEnded) and event.outcome.task.purpose is Purpose.PAGE:
                outcome = event.outcome
                is_last = isinstance(outcome, Failed) and outcome.task.attempt >= self.retries.max_attempts
                self.finals[outcome.task.url] += isinstance(outcome, Excluded) or is_last
        known = {record.url: record for site in self.world.sites for record in self.state.records.of_site(site)}
        assert len(known) == len(self.state.records)
        for url, record in known.items():
            is_asked_again = self.restarts > 0 and is_temporary(record.reason)  # by a process that finds its site down
            assert self.finals[url] == 1 or is_asked_again, f"{url} ended {self.finals[url]} times: {record}"
            assert (record.visits > 0) or record.reason, f"{url} was forgotten: {record}"
        assert set(self.finals) <= set(known)
        most = self.retries.max_attempts + self.crashes
        cancelled = Counter(o.task.url for o in self.reported if reason_of(o) == "cancelled")
        assert all(count <= most + cancelled[url] for url, count in self._attempts.items())


def _reading(outcome: FetchOutcome) -> BodyReading | None:
    return BodyReading(Digests(1, 1, 1, 1)) if isinstance(outcome, Fetched) else None

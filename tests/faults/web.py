"""The web of a faulty run, in true time: what is asked, whether that was polite, and when answers are delivered.

True time is what servers see. The clock of a process is true time plus an offset that is another one in each process,
as after the clock of a machine was set.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

from msgspec import Struct
from tests.properties.replayed_world import START, RichWorld
from tests.properties.simulated_web import PAGES

from periplus.engine.frontier import PolitenessSettings
from periplus.engine.router import owner_of
from periplus.model import Fetched, FetchOutcome, FetchTask, Purpose, Site, Url
from periplus.urls import site_of

CRAWL_DELAY: Final = 7.0
"""Seconds that sites of the kind `slow` ask for."""
_TOLERANCE: Final = 1e-4
"""Seconds by which two clocks of floating-point numbers may differ after jumps of years."""
Key = tuple[Url, int]
"""An answer: its URL, and when its request began by the clock of its process, in microseconds."""


class Broken(AssertionError):  # noqa: N818 - reads as what is the case
    """An invariant does not hold."""


class FaultyWorld(RichWorld):
    """A web whose pages end the same way in whichever order they are asked for."""

    def __init__(self, seed: int) -> None:
        chance = Random(f"world {seed}")
        super().__init__(seed, chance.randint(2, 5), chance.randint(2, 6), listed=4)
        kinds = [kind for kind in PAGES if kind != "private"]  # one such page ends its site
        self.kinds = {url: chance.choice(kinds) if self.kinds[url] != "ok" else "ok" for url in self.kinds}

    def _page(self, task: FetchTask, now: float) -> FetchOutcome:
        """Pages that are asked for only to see how the site says that there is none are not there."""
        if task.url not in self.kinds:
            return self._fetched(task, now, 404, b"")
        return super()._page(task, now)


class Clock:
    """The clock of a process; `true` is shared by all of them."""

    speed = 1.0

    def __init__(self, true: TrueTime, offset: float) -> None:
        self.true, self.offset = true, offset

    def now(self) -> float:
        return self.true.at + self.offset


class TrueTime:
    """What time it is."""

    def __init__(self) -> None:
        self.at = START


class _Visit(Struct):
    """The last request to a site. `took` is 0 where the crawler does not know how long it took."""

    ended_at: float
    took: float


class Servers:
    """Sees every request of every process, and what was delivered. `finished`: pages that need not be asked again."""

    def __init__(self, world: FaultyWorld, politeness: PolitenessSettings, *, shards: int = 1) -> None:
        """Several shards divide the rate of an address among them, not its pauses. Each asks its own sites only."""
        self.world, self._politeness, self._shards = world, politeness, shards
        self.delivered: Counter[Key] = Counter()
        self.requests = 0
        self.finished: set[Url] = set()
        self._visits: dict[tuple[int, Site], _Visit] = {}
        self._asked_at: dict[str, float] = {}
        self._slow: set[Site] = set()
        self.crawl_delay = CRAWL_DELAY

    def asked(self, task: FetchTask, took: float, now: float, shard: int = 0) -> None:
        """A request begins: is it one that may?"""
        if task.purpose is Purpose.PAGE and task.url in self.finished:
            raise Broken(f"{task.url} is asked for again, and its answer is durable")
        if owner_of(site_of(task.url), self._shards) != shard:
            raise Broken(f"{task.url} is asked for by shard {shard}, which does not have its site")
        if task.ip is None:
            return
        self.requests += 1
        site = site_of(task.url)
        if (visit := self._visits.get((shard, site))) is not None:
            rest = max(self._politeness.delay, self._politeness.response_times_between_visits * visit.took)
            if site in self._slow:
                rest = max(rest, self.crawl_delay)
            if now < visit.ended_at + rest - _TOLERANCE:
                raise Broken(f"{site} rested {now - visit.ended_at:.3f} s, not {rest}: {task.url}")
        gap = now - self._asked_at.get(task.ip, 0.0)
        if self._shards == 1 and gap < self._politeness.between_requests_to_an_address - _TOLERANCE:
            raise Broken(f"{task.ip} is asked again after {gap:.3f} s: {task.url}")
        self._asked_at[task.ip] = now
        self._visits[shard, site] = _Visit(now + took, took)

    def answered(self, outcome: FetchOutcome) -> None:
        """The crawler gets an answer."""
        if (key := key_of(outcome)) is not None:
            self.delivered[key] += 1

    def learnt(self, outcome: FetchOutcome) -> None:
        """The crawler knows an answer: a delay that robots.txt asks for holds from now on."""
        if outcome.task.purpose is Purpose.ROBOTS and isinstance(outcome, Fetched) and b"Crawl-delay" in outcome.body:
            self._slow.add(site_of(outcome.task.url))

    def disconnected(self, now: float, *, is_all_known: bool, shard: int | None = None) -> None:
        """A process is gone, or all: its requests end now. The next one may not know what it had learnt."""
        for (asking, _), visit in self._visits.items():
            if shard in (None, asking):
                visit.ended_at = min(visit.ended_at, now)
                visit.took = 0.0
        if not is_all_known:
            self._slow.clear()


class Mishaps(Struct, frozen=True):
    """Shares of the answers that are late (some beyond their lease) and that are delivered twice."""

    late: float = 0.0
    twice: float = 0.0


class FaultyWire:
    """The port to the web. Answers come in another order than they ended, some late, some twice."""

    def __init__(
        self, servers: Servers, clock: Clock, chance: Random, mishaps: Mishaps, slots: int, shard: int = 0
    ) -> None:
        self._shard = shard
        self._servers, self._clock, self._chance, self._mishaps, self._slots = servers, clock, chance, mishaps, slots
        self._pending: list[tuple[float, FetchOutcome]] = []
        self._delayed: set[Url] = set()

    @property
    def free_slots(self) -> int:
        return max(self._slots - len(self._pending), 0)

    @property
    def under_way(self) -> int:
        return len(self._pending)

    def start(self, task: FetchTask) -> None:
        outcome = self._servers.world.answer(task, self._clock.now())
        took = getattr(outcome, "duration", 0.01)
        self._servers.asked(task, took, self._clock.true.at, self._shard)
        arrives_at = self._clock.true.at + took
        if self._chance.random() < self._mishaps.late and task.url not in self._delayed:
            self._delayed.add(task.url)
            arrives_at += self._chance.choice((1.0, 20.0, 400.0))
        self._pending.append((arrives_at, outcome))
        if self._chance.random() < self._mishaps.twice:
            self._pending.append((arrives_at + self._chance.choice((0.0, 3.0)), outcome))

    def finished(self, timeout: float) -> list[FetchOutcome]:
        true = self._clock.true
        true.at = min([true.at + timeout, *(max(at, true.at) for at, _ in self._pending)])
        ended = [outcome for at, outcome in self._pending if at <= true.at]
        self._pending = [entry for entry in self._pending if entry[0] > true.at]
        self._chance.shuffle(ended)
        for outcome in ended:
            self._servers.answered(outcome)
        return ended

    def request_bytes(self, task: FetchTask) -> bytes:
        return f"GET {task.url} HTTP/1.1\r\n\r\n".encode()

    def cancel_all(self) -> None:
        self._pending.clear()

    def wake(self) -> None: ...

    def close(self) -> None: ...


def key_of(outcome: FetchOutcome) -> Key | None:
    """Which answer this is, if a request was made for it."""
    started_at = getattr(outcome, "started_at", None)
    return None if started_at is None or outcome.task.ip is None else (outcome.task.url, round(started_at * 1e6))

"""A web whose pages change, in true time, and servers that judge every request of a watch.

A page has a version, which is another one after each of its periods. `served` has the body of every answer, so that
what the crawler stored of a visit can be compared with what it was given.
"""

from __future__ import annotations

from random import Random
from string import ascii_lowercase
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from tests.faults.web import Broken, Clock, FaultyWorld, Key, Servers, TrueTime, key_of
from tests.properties.replayed_world import START

from periplus.engine.frontier import PolitenessSettings
from periplus.engine.revisit.evidence import DAY
from periplus.model import Fetched, FetchOutcome, FetchTask, NotModified, Purpose, Site, Url
from periplus.store.warc.records import sha1_base32
from periplus.urls import site_of

PERIODS: Final = (1_200.0, 7_200.0, 21_600.0, DAY, 1e9)
"""Seconds between two changes of a page."""
ROBOTS_AGE: Final = DAY
"""Seconds that a robots.txt without cache headers may be used."""
_WORDS: Final = 60
_TOLERANCE: Final = 1e-3
_RULED: Final = frozenset({"rules", "slow", "moved"})
"""Kinds of robots.txt that forbid what is below `/private/`."""
_PLAIN: Final = frozenset({"open", "rules", "slow", "missing"})
"""Kinds of robots.txt that answer at once."""


_REACHABLE: Final = frozenset({"ok", "once", "short", "long"})
"""Kinds of names that have an address in the end."""


class ChangingWorld(FaultyWorld):
    """Pages change, each with a period of its own, and some are gone one day. Some sites send no validators."""

    def __init__(self, seed: int, true: TrueTime) -> None:
        super().__init__(seed)
        self.true = true
        chance = Random(f"changes {seed}")
        self.names = {site: kind if kind in _REACHABLE else "ok" for site, kind in self.names.items()}
        self.robots = {site: kind if chance.random() < 0.4 else "rules" for site, kind in self.robots.items()}
        self.kinds = {url: kind if chance.random() < 0.5 else "ok" for url, kind in self.kinds.items()}
        self.periods = {url: chance.choice(PERIODS) for url in self.kinds}
        self.phases = {url: chance.random() for url in self.kinds}
        self.gone_at = {url: START + DAY * chance.choice((0.3, 1.0, 9e9, 9e9, 9e9, 9e9)) for url in self.kinds}
        self.validating = {site for site in self.sites if chance.random() < 0.7}
        self.served: dict[Key, str] = {}

    def version(self, url: Url) -> int:
        """What a page shows now."""
        return int((self.true.at - START) / self.periods[url] + self.phases[url])

    def _page(self, task: FetchTask, now: float) -> FetchOutcome:
        if self.true.at >= self.gone_at.get(task.url, 0.0) and self.kinds.get(task.url) == "ok":
            return self._fetched(task, now, 404, b"")
        return super()._page(task, now)

    def _html(self, url: Url, now: float) -> bytes:
        words = Random(f"{self.texts[url]} {self.version(url)}")
        text = " ".join("".join(words.choices(ascii_lowercase, k=6)) for _ in range(_WORDS))
        links = "".join(f'<a href="{link}">to {link}</a> ' for link in self.links[url])
        return f"<html><head><title>{url}</title></head><body><p>{text}</p>{links}</body></html>".encode()

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        outcome = super().answer(task, now)
        if task.purpose is not Purpose.PAGE:
            return outcome
        if isinstance(outcome, Fetched) and outcome.status == 200 and site_of(task.url) not in self.validating:
            outcome = replace(outcome, headers=(("Content-Type", "text/html"),))
        if isinstance(outcome, Fetched | NotModified) and (key := key_of(outcome)) is not None:
            self.served[key] = f"sha1:{sha1_base32(outcome.body)}" if isinstance(outcome, Fetched) else ""
        return outcome


class Rules(Struct, frozen=True):
    """What a watch promises besides the delays of hosts and addresses.

    `visits_a_day` is its budget; no page is visited three times within `shortest` seconds. `lease`: an answer that is
    later than this is not known any more.
    """

    visits_a_day: float
    shortest: float
    lease: float


class WatchedServers(Servers):
    """Also judges Retry-After, the rules and the age of robots.txt, the budget, and how often a page is visited."""

    world: ChangingWorld

    def __init__(self, world: ChangingWorld, politeness: PolitenessSettings, rules: Rules) -> None:
        super().__init__(world, politeness)
        self._rules = rules
        self._clock: Clock | None = None
        self._began_at, self._charged = 0.0, 0
        self._robots_at: dict[Site, float] = {}
        self._retry_at: dict[Site, float] = {}
        self._pages_at: dict[Url, list[float]] = {}
        self._known: set[Key] = set()
        self.are_pages_timed = True

    def begun(self, clock: Clock) -> None:
        """Another process asks from now on, whose clock may have jumped."""
        is_same = self._clock is not None and self._clock.offset == clock.offset
        self._clock, self._began_at, self._charged = clock, clock.true.at, 0
        self._pages_at.clear()
        if not is_same:
            self._retry_at.clear()
            self._robots_at = dict.fromkeys(self._robots_at, clock.true.at)

    def asked(self, task: FetchTask, took: float, now: float, shard: int = 0) -> None:
        self.finished = set()
        super().asked(task, took, now, shard)
        if task.ip is None:
            return
        site = site_of(task.url)
        if now < self._retry_at.get(site, 0.0) - _TOLERANCE:
            raise Broken(f"{site} is asked {self._retry_at[site] - now:.1f} s before its Retry-After: {task.url}")
        if task.purpose is not Purpose.ROBOTS and self._clock is not None:
            self._check_budget(task, now)
        if task.purpose is Purpose.PAGE:
            self._check_robots(task.url, now)
            self._check_times(task.url, now)

    def _check_budget(self, task: FetchTask, now: float) -> None:
        self._charged += 1
        allowed = self._rules.visits_a_day * (now - self._began_at) / DAY + 1
        if self._charged > allowed + _TOLERANCE:
            raise Broken(f"{self._charged} requests are charged to a budget of {allowed:.1f}: {task.url}")

    def _check_robots(self, url: Url, now: float) -> None:
        site = site_of(url)
        kind = self.world.robots.get(site)
        if "/private/" in url and kind in _RULED:
            raise Broken(f"{url} is forbidden")
        if kind in _PLAIN:
            self._check_age(url, now)

    def _check_age(self, url: Url, now: float) -> None:
        age = now - self._robots_at.get(site_of(url), 0.0)
        if age > ROBOTS_AGE + _TOLERANCE:
            raise Broken(f"{url} is asked for with a robots.txt that is {age:.0f} s old")

    def _check_times(self, url: Url, now: float) -> None:
        if self.world.kinds.get(url) != "ok" or not self.are_pages_timed or self._clock is None:
            return
        times = self._pages_at.setdefault(url, [])
        if len(times) > 1 and now < times[-2] + self._rules.shortest - _TOLERANCE:
            raise Broken(f"{url} is visited three times within {now - times[-2]:.0f} s")
        times.append(now)

    def learnt(self, outcome: FetchOutcome) -> None:
        super().learnt(outcome)
        key = key_of(outcome)
        if key is None or key in self._known:
            return
        self._known.add(key)
        now, site = self.world.true.at, site_of(outcome.task.url)
        if outcome.task.purpose is Purpose.ROBOTS:
            self._robots_at[site] = now
        is_late = self._clock is not None and self._clock.now() > key[1] / 1e6 + self._rules.lease
        if isinstance(outcome, Fetched) and not is_late:
            wait = next((value for name, value in outcome.headers if name == "Retry-After"), None)
            self._retry_at[site] = now + float(wait) if wait is not None else 0.0

    def disconnected(self, now: float, *, is_all_known: bool, shard: int | None = None) -> None:
        super().disconnected(now, is_all_known=is_all_known, shard=shard)
        if not is_all_known:
            self._retry_at.clear()

"""A small random web in virtual time, made from a seed: what the tests of the frontier crawl.

Sites share addresses, pages link and redirect, robots files are of all kinds, and so are failures.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from periplus.model import Excluded, Failed, Fetched, FetchOutcome, FetchTask, Located, Purpose, Redirected, Site, Url
from periplus.urls import site_of

HTML = b"<!doctype html><html><head><title>Welcome</title></head><body>Welcome</body></html>"

ROBOTS = (
    "open", "rules", "slow", "missing", "broken", "once-broken", "silent", "page", "moved", "away", "dead", "loop",
    "private", "busy", "odd",
)  # fmt: skip
PAGES = (
    "ok", "ok", "ok", "ok", "ok", "ok", "404", "500", "once-500", "503", "429", "timeout", "once-timeout", "refused",
    "redirect", "type", "private",
)  # fmt: skip
NAMES = ("ok", "ok", "ok", "ok", "ok", "ok", "not-found", "once", "private", "short", "long")


class World:
    """A web. What a URL answers depends on the URL, the seed, and how often it was asked."""

    def __init__(self, seed: int, sites: int, pages: int, *, addresses: int = 3) -> None:
        self._seed = seed
        chance = Random(seed)
        self.sites = [Site(f"{'' if chance.random() < 0.7 else 'www.'}s{number}.test") for number in range(sites)]
        self.robots = {site: chance.choice(ROBOTS) for site in self.sites}
        self.names = {site: chance.choice(NAMES) for site in self.sites}
        self.ips = {site: f"192.0.2.{chance.randrange(addresses)}" for site in self.sites}
        self.urls = [
            Url(f"https://{site}/{chance.choice(('', 'private/'))}{number}")
            for site in self.sites
            for number in range(chance.randint(1, pages))
        ]
        self.kinds = {url: chance.choice(PAGES) for url in self.urls}
        self.links = {url: chance.sample(self.urls, min(len(self.urls), chance.randint(0, 4))) for url in self.urls}
        self.asked: Counter[tuple[Url, bool]] = Counter()

    @classmethod
    def plain(cls, sites: int, pages: int) -> World:
        """One in which nothing goes wrong, and every site has its own address."""
        world = cls(0, 0, 1)
        world.sites = [Site(f"s{number}.test") for number in range(sites)]
        world.robots = dict.fromkeys(world.sites, "missing")
        world.names = dict.fromkeys(world.sites, "ok")
        world.ips = {site: f"192.0.2.{number}" for number, site in enumerate(world.sites)}
        world.urls = [Url(f"https://{site}/{page}") for site in world.sites for page in range(pages)]
        world.kinds = dict.fromkeys(world.urls, "ok")
        world.links = {url: [] for url in world.urls}
        return world

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        """What a task comes to, when it is begun now."""
        self.asked[task.url, task.ip is None] += 1
        if task.ip is None:
            return self._locate(task, now)
        if task.purpose is Purpose.ROBOTS:
            return self._robots(task, now)
        return self._page(task, now)

    def _duration(self, url: Url) -> float:
        return Random(f"{self._seed}/{url}/{self.asked[url, False]}").choice((0.0, 0.05, 0.3, 2.0))

    def _locate(self, task: FetchTask, now: float) -> FetchOutcome:
        site = site_of(task.url)
        kind = self.names.get(site, "not-found")
        if kind == "not-found" or (kind == "once" and self.asked[task.url, True] == 1):
            return Failed(task, "dns-not-found", now, 0.1)
        if kind == "private":
            return Excluded(task, "private-address", "10.0.0.1")
        lifetime = {"short": 0.0, "long": 30 * 86_400.0}.get(kind, 3600.0)
        return Located(task, self.ips[site], now + lifetime)

    def _robots(self, task: FetchTask, now: float) -> FetchOutcome:  # noqa: C901 - a table
        site, took, count = site_of(task.url), self._duration(task.url), self.asked[task.url, False]
        if not task.url.endswith("/robots.txt"):
            return self._fetched(task, now, 200, b"User-agent: *\nDisallow: /private/\n")
        match self.robots.get(site, "missing"):
            case "open":
                return self._fetched(task, now, 200, b"User-agent: *\nAllow: /\n")
            case "rules":
                return self._fetched(task, now, 200, b"User-agent: *\nDisallow: /private/\n")
            case "slow":
                return self._fetched(task, now, 200, b"User-agent: *\nCrawl-delay: 7\nDisallow: /private/\n")
            case "broken":
                return self._fetched(task, now, 500, b"")
            case "busy":
                return self._fetched(task, now, 429, b"", (("Retry-After", "120"),))
            case "once-broken" if count == 1:
                return self._fetched(task, now, 503, b"")
            case "silent":
                return Failed(task, "timeout", now, 30.0, ip=task.ip)
            case "page":
                return self._fetched(task, now, 200, HTML)
            case "moved":
                return Redirected(task, 301, Url(f"https://{site}/rules.txt"), (), now, took, task.ip)
            case "away":
                other = self.sites[(self.sites.index(site) + 1) % len(self.sites)]
                return Redirected(task, 302, Url(f"https://{other}/robots.txt"), (), now, took, task.ip)
            case "dead":
                return Redirected(task, 302, Url("https://dead.test/robots.txt"), (), now, took, task.ip)
            case "loop":
                return Redirected(task, 302, task.url, (), now, took, task.ip)
            case "private":
                return Excluded(task, "private-address", "10.0.0.1")
            case "odd":
                return Failed(task, "bad-response", now, took, ip=task.ip)
            case _:
                return self._fetched(task, now, 404, b"")

    def _page(self, task: FetchTask, now: float) -> FetchOutcome:
        kind, took = self.kinds[task.url], self._duration(task.url)
        is_first = self.asked[task.url, False] == 1
        match kind:
            case "404" | "500" | "bare-503":
                return self._fetched(task, now, int(kind[-3:]), b"")
            case "503" | "429":
                return self._fetched(task, now, int(kind), b"", (("Retry-After", "30"),))
            case "once-500" if is_first:
                return self._fetched(task, now, 500, b"")
            case "timeout":
                return Failed(task, "timeout", now, 30.0, ip=task.ip)
            case "once-timeout" if is_first:
                return Failed(task, "timeout", now, 30.0, ip=task.ip)
            case "refused":
                return Failed(task, "connect-refused", now, 0.01, ip=task.ip)
            case "type":
                return Failed(task, "unwanted-type", now, took, 200, "image/png", task.ip)
            case "private":
                return Excluded(task, "private-address", "10.0.0.1")
            case "redirect":
                return Redirected(task, 301, self.urls[0], (), now, took, task.ip)
            case _:
                return self._fetched(task, now, 200, b"text")

    def _fetched(
        self, task: FetchTask, now: float, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()
    ) -> Fetched:
        return Fetched(task, status, headers, body, now, self._duration(task.url), task.ip)

    def found(self, outcome: FetchOutcome) -> list[Url]:
        """Where an outcome leads."""
        if outcome.task.purpose is not Purpose.PAGE:
            return []
        if isinstance(outcome, Redirected):
            return [outcome.target]
        return self.links[outcome.task.url] if isinstance(outcome, Fetched) and outcome.status < 300 else []


RobotsReply = int | str | tuple[int, tuple[tuple[str, str], ...], bytes]
"""A status; the target of a redirect or a body; or a status, headers and a body."""


class ScriptedRobots(World):
    """A web whose robots.txt files give these answers, one after another."""

    def __init__(self, sites: int, pages: int, answers: dict[str, list[RobotsReply]]) -> None:
        plain = World.plain(sites, pages)
        self.__dict__.update(plain.__dict__)
        self._answers = answers

    def _robots(self, task: FetchTask, now: float) -> FetchOutcome:
        answers = self._answers.get(task.url, [404])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, int):
            return Fetched(task, answer, (), b"", now, 0.1, task.ip)
        if isinstance(answer, tuple):
            return Fetched(task, answer[0], answer[1], answer[2], now, 0.1, task.ip)
        if answer.startswith("https:"):
            return Redirected(task, 302, Url(answer), (), now, 0.1, task.ip)
        return Fetched(task, 200, (), answer.encode(), now, 0.1, task.ip)

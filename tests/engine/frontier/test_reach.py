"""Crawls whose name server or network fails for a while: the fault is ours, and no site is charged for it.

Each crawl runs in virtual time, and every request of it is checked for politeness when it begins (`watched_crawl`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import START, Crawl

from periplus.engine.frontier.reach import MAX_FAILED, Before, Reach
from periplus.engine.overview import frontier_stats
from periplus.model import Failed, FetchOutcome, FetchTask, Site, Url
from periplus.urls import site_of

HOUR = 3600.0
Fails = Callable[[FetchTask, float], str]
"""The reason for which a request that begins then fails; empty if it does not."""


class FailingWorld(World):
    """A web in which all is well, seen through a network that is not. Addresses are valid for half a minute."""

    fails: Fails

    @classmethod
    def seen(cls, fails: Fails, sites: int = 6, pages: int = 20) -> FailingWorld:
        world = cls.__new__(cls)
        world.__dict__.update(World.plain(sites, pages).__dict__)
        world._seed, world.fails = 0, fails
        world.names = dict.fromkeys(world.sites, "short")
        return world

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        reason = self.fails(task, now)
        return super().answer(task, now) if not reason else Failed(task, reason, now, 0.5, ip=task.ip)


def between(begin: float, end: float, lookup: str = "dns-unavailable", request: str = "connect-failed") -> Fails:
    """Everything fails from then to then, in seconds from the start."""

    def fails(task: FetchTask, now: float) -> str:
        return (lookup if task.ip is None else request) if START + begin <= now < START + end else ""

    return fails


def crawled(world: World) -> Crawl:
    crawl = Crawl(world)
    crawl.seed(world.urls)
    crawl.run(steps=10_000)
    assert crawl.frontier.is_idle
    return crawl


def fetched(crawl: Crawl) -> set[Url]:
    return {outcome.task.url for outcome in crawl.reported if getattr(outcome, "status", 0) == 200}


def retired(crawl: Crawl) -> dict[Site, str]:
    return {site: reason for site in crawl.world.sites if (reason := crawl.frontier._records.get(site).retired)}


@pytest.mark.proof
@pytest.mark.parametrize(
    "fails",
    [
        between(40, 2 * HOUR),
        between(40, 2 * HOUR, lookup=""),
        between(40, 9 * HOUR, "dns-timeout", "timeout"),
        between(40, 2 * HOUR, request=""),
        between(3, 2 * HOUR, request=""),
        lambda task, now: between(40, 3 * HOUR)(task, now) if (now - START) % 600 > 5 else "",
    ],
    ids=["network", "proxy", "silence", "name server", "name server, at once", "a link that comes and goes"],
)
def test_an_outage_of_ours_costs_no_site_anything(fails: Fails) -> None:
    """Every page is fetched, no site is given up, and meanwhile hardly anything is asked."""
    world = FailingWorld.seen(fails)
    crawl = crawled(world)
    assert fetched(crawl) == set(world.urls)
    assert not retired(crawl)
    ours = [outcome for outcome in crawl.reported if isinstance(outcome, Failed)]
    seconds = max(outcome.started_at for outcome in ours) - START
    assert len(ours) < 60 + 2 * seconds / 60


def test_it_is_said_while_it_lasts() -> None:
    """Since when, for which reason and of how many sites; nothing before and after. No failure counts."""
    crawl = Crawl(FailingWorld.seen(between(40, HOUR)))
    crawl.seed(crawl.world.urls)
    shown = {}
    while not crawl.frontier.is_idle:
        crawl.step()
        shown[crawl.now - START] = cut_off = frontier_stats(crawl.state, crawl.frontier).cut_off
        charged = [each.lookups + each.record.failures + each.record.robots_tries for each in crawl.frontier.schedule]
        assert cut_off is None or not any(charged)
    times = [at for at, cut_off in shown.items() if cut_off is not None]
    assert 40 <= min(times) < 90
    assert HOUR - 60 <= max(times) < HOUR + 60
    last = shown[max(times)]
    assert last is not None
    assert (last.sites, last.reason) == (6, "connect-failed")
    assert START + min(times) - 60 < last.since <= START + min(times)


def test_it_outlives_processes() -> None:
    """One that is killed is followed by one that decides as it did; the next one asks at once."""
    crawl = Crawl(FailingWorld.seen(between(40, 2 * HOUR)))
    crawl.seed(crawl.world.urls)
    while not crawl.frontier.is_idle:
        crawl.run(steps=23)
        crawl.crash()
        crawl.run(steps=11)
        crawl.commit()
    assert fetched(crawl) == set(crawl.world.urls)
    assert not retired(crawl)


def test_sites_that_fail_together_are_given_up_though_nothing_else_is_left() -> None:
    """No other site is to be asked any more. So one that has answered is, and then they are to blame."""
    failing = [Site(f"s{number}.test") for number in range(5)]

    def fails(task: FetchTask, now: float) -> str:
        return "connect-timeout" if task.ip is not None and site_of(task.url) in failing and now > START + 40 else ""

    world = FailingWorld.seen(fails, sites=7)
    world.urls = [url for url in world.urls if site_of(url) in failing or url.endswith(("/0", "/1"))]
    crawl = crawled(world)
    assert retired(crawl) == dict.fromkeys(failing, "connect-timeout")
    asked = Counter(start.site for start in crawl.starts if start.at > START + 40)
    assert 1 <= asked[Site("s5.test")] + asked[Site("s6.test")] < sum(asked[site] for site in failing) / 4


@pytest.mark.parametrize(("begin", "sites"), [(0, 6), (40, 2)])
def test_without_an_answer_or_a_third_site_nothing_is_known(begin: float, sites: int) -> None:
    """A crawl whose seeds are mistyped ends, and so does one of two sites that fail."""
    crawl = crawled(FailingWorld.seen(between(begin, 50 * HOUR), sites))
    assert len(retired(crawl)) == sites


def failure(server: str, *, is_lookup: bool = False) -> Before:
    return Before(Url(f"https://{server}/"), server, is_lookup)


def test_sites_of_one_server_count_once() -> None:
    """However many: it may be the server that has failed."""
    reach = Reach()
    reach.answered(Site("z.test"), Url("https://z.test/"), 1.0)
    for number in range(2 * MAX_FAILED):
        reach.not_reached(Site(f"s{number}.test"), failure("192.0.2.1"), "timeout", 2.0)
    assert (reach.is_in_doubt, len(reach.failed)) == (False, MAX_FAILED)
    reach.not_reached(Site("b.test"), failure("192.0.2.2"), "timeout", 2.0)
    reach.not_reached(Site("c.test"), failure("192.0.2.3"), "timeout", 2.0)
    assert reach.is_in_doubt


def test_an_answer_says_nothing_about_the_name_server() -> None:
    """While addresses are known that were looked up before, servers answer though no name can be looked up."""
    reach = Reach()
    reach.answered(Site("z.test"), Url("https://z.test/"), 1.0)
    for name in "abc":
        reach.not_reached(Site(f"{name}.test"), failure(f"{name}.test", is_lookup=True), "dns-timeout", 2.0)
        reach.answered(Site("z.test"), Url("https://z.test/"), 3.0)
    assert reach.is_in_doubt
    assert reach.candidate[0] == "a.test"
    reach.looked_up(Site("a.test"), 4.0)
    assert not reach.is_in_doubt

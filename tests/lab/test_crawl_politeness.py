"""Politeness over whole crawls of an ordinary web, from the server's side: by one process, by two, and page by page.

What the server measures can only flatter us where it says so here. It notes the end of an answer before its last byte
leaves, and the beginning of a request after it has come in. So the rest that it sees between two requests of a host is
never shorter than the one that was kept, and is asserted without any tolerance. The distance between two beginnings is
the one kept, and what the second was late, less what the first was: there some milliseconds are allowed for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.crawling import by_address, crawl, place, rows, standing

from periplus.engine.fetch import CrawlerIdentity
from periplus.engine.router import owner_of
from periplus.model import Url
from periplus.urls import site_of
from periplus_lab import World
from periplus_lab.log import Visit
from periplus_lab.server import RunningLab

DELAY, IP_DELAY, PATIENCE = 0.05, 0.02, 2.0
CONTACT = "https://example.org/bot"
NO_TIME = 0.0005
"""What two readings of the machine's clocks may differ by: one of them is adjusted to the time of the world."""


class Way(NamedTuple):
    """How the web is crawled."""

    workers: int = 1
    pages_per_visit: int = 1


class Crawled(NamedTuple):
    """A crawl and what the server saw of it."""

    way: Way
    lab: RunningLab
    folder: Path
    by_host: dict[str, list[Visit]]


WAYS = {"alone": Way(), "two-workers": Way(workers=2), "five-pages-a-visit": Way(pages_per_visit=5)}


@pytest.fixture(scope="module")
def world() -> World:
    """Fifteen sites, seven of them on two machines; robots files of eight kinds, none of which asks for a delay."""
    return World(28, 15, pages=70)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("alone", marks=pytest.mark.slow),
        "two-workers",
        pytest.param("five-pages-a-visit", marks=pytest.mark.proof),
    ],
)
def crawled(
    request: pytest.FixtureRequest, world: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Crawled]:
    way = WAYS[request.param]
    folder = tmp_path_factory.mktemp("polite")
    with standing(world) as lab:
        options = by_address(lab) | {
            "crawl.contact": CONTACT,
            "politeness.delay": DELAY,
            "politeness.ip_delay": IP_DELAY,
            "politeness.slow_factor": PATIENCE,
            "politeness.pages_per_visit": way.pages_per_visit,
            "retries.backoff": 0.1,
        }
        crawl(folder, [lab.url(site.host) for site in world.sites()], options, way.workers)
        visits = sorted(lab.log.visits(), key=lambda visit: visit.real_started_at)
        by_host = {host: [visit for visit in visits if visit.host == host] for host in lab.log.hosts()}
        yield Crawled(way, lab, folder, by_host)


def rests(visits: Sequence[Visit]) -> list[float]:
    """From the end of each answer to the beginning of the next request."""
    return [later.real_started_at - earlier.real_ended_at for earlier, later in pairwise(visits)]


def test_every_site_was_crawled_to_its_end(crawled: Crawled, world: World) -> None:
    """Without which the rest of this file says little."""
    assert set(crawled.by_host) == {site.host for site in world.sites()}
    assert sum(map(len, crawled.by_host.values())) > 200
    assert min(map(len, crawled.by_host.values())) > 3


def test_robots_is_asked_for_first(crawled: Crawled) -> None:
    """Before anything else at every host, and once."""
    for visits in crawled.by_host.values():
        targets = [visit.target for visit in visits]
        assert (targets[0], targets.count("/robots.txt")) == ("/robots.txt", 1)


def test_nothing_forbidden_is_asked_for(crawled: Crawled, world: World) -> None:
    """By what the world knows of its robots files; and there was something to refuse."""
    visits = [visit for visits in crawled.by_host.values() for visit in visits]
    assert [visit.url for visit in visits if not world.allowed("periplus", visit.url)] == []
    refused = rows(crawled.folder, "select url, rule from fetches where outcome = 'excluded' and reason = 'robots'")
    assert len(refused) > 10
    assert all(row["rule"] and not world.allowed("periplus", row["url"]) for row in refused)


def test_everybody_is_told_who_we_are(crawled: Crawled) -> None:
    """The same honest name on every request, with where to complain."""
    agents = {visit.agent for visits in crawled.by_host.values() for visit in visits}
    assert agents == {CrawlerIdentity(contact=CONTACT).agent}
    assert CONTACT in agents.pop()


def test_no_request_is_made_behind_our_back(crawled: Crawled) -> None:
    """What the server saw is what the collection says was asked: libcurl repeats nothing on a connection that died."""
    seen = Counter((visit.host, visit.target) for visits in crawled.by_host.values() for visit in visits)
    asked = rows(crawled.folder, "select url from fetches where outcome <> 'excluded'")
    assert seen == Counter(place(row["url"]) for row in asked)


def test_a_host_has_one_request_at_a_time(crawled: Crawled) -> None:
    """None begins before the last has ended."""
    assert all(rest >= 0 for visits in crawled.by_host.values() for rest in rests(visits))


def test_a_host_rests_between_visits(crawled: Crawled) -> None:
    """As long as we were told, and as its own pace suggests. Beginnings are then at least as far apart."""
    for visits in crawled.by_host.values():
        took = [visit.real_ended_at - visit.real_started_at for visit in visits]
        between = [k for k, rest in enumerate(rests(visits)) if rest >= max(DELAY, PATIENCE * took[k]) - NO_TIME]
        ends = [-1, *between, len(visits) - 1]
        taken = [later - earlier for earlier, later in pairwise(ends)]
        assert max(taken) <= crawled.way.pages_per_visit


def test_the_pages_of_a_visit_share_a_connection(crawled: Crawled) -> None:
    """Castillo et al.: k pages on one connection, then a pause."""
    if crawled.way.pages_per_visit == 1:
        pytest.skip("one page a visit")
    together = [
        earlier.connection == later.connection
        for visits in crawled.by_host.values()
        for earlier, later in pairwise(visits)
        if later.real_started_at - earlier.real_ended_at < DELAY - NO_TIME
    ]
    assert together  # the busier the machine, the fewer visits it keeps together
    assert all(together)


def test_an_address_is_not_asked_too_often(crawled: Crawled, world: World) -> None:
    """Requests to one machine are let go `ip_delay` apart, whichever of its sites they are for.

    From then until one begins a few milliseconds pass, which are not made up for, and do not add up: five in a row take
    as long as they should, less what the first was late. So do as many times five of several processes that share the
    rate, though two of them may ask at once. On a machine that stalls, the first of a few fives is later than that.
    """
    gaps: list[tuple[float, float]] = []
    machines: dict[str, list[float]] = {}
    owners: dict[str, set[int]] = {}
    for host, visits in crawled.by_host.items():
        machine = world.address(host)
        owners.setdefault(machine, set()).add(owner_of(site_of(Url(crawled.lab.url(host))), crawled.way.workers))
        machines.setdefault(machine, []).extend(visit.real_started_at for visit in visits)
    assert len(machines) < len(crawled.by_host)
    for machine, times in machines.items():
        times.sort()
        count = len(owners[machine])
        least = (5 * count - (2 * count - 1)) * IP_DELAY
        gaps += ((later - earlier, least) for earlier, later in zip(times, times[5 * count :], strict=False))
    assert len(gaps) > 50
    assert sum(gap < least for gap, least in gaps) <= len(gaps) / 20


@pytest.mark.proof
def test_what_a_site_asks_for_is_obeyed(tmp_path: Path) -> None:
    """Crawl-delay: two seconds between any two requests, also where others are asked every few milliseconds."""
    world = World(30, 15, pages=150)
    [slow] = [site.host for site in world.sites() if site.robots == "delay"]
    with standing(world) as lab:
        options = by_address(lab) | {
            "politeness.delay": 0.01, "politeness.ip_delay": 0.0, "politeness.pages_per_visit": 5, "crawl.limit": 2,
        }  # fmt: skip
        crawl(tmp_path, [lab.url(slow)], options)
        gaps = lab.log.gaps(slow)
    assert len(gaps) == 2
    assert min(gaps) >= 2.0 - NO_TIME

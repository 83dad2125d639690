"""The rules of `bench.politeness` find what breaks them in a server's log."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.politeness import CRAWL_DELAY, DELAY, RETRY_AFTER, ROBOTS_AGE, RULES, Seen, read_log

from periplus.lab.web import World
from periplus.lab.web.log import RequestLog, Visit

WORLD = World(30, 15, pages=150)
[SLOW] = [site.host for site in WORLD.sites() if site.robots == "delay"]
HOST = next(site.host for site in WORLD.sites() if site.robots == "open")
ROBOTS = Seen(0.0, 0.01, 200, "/robots.txt")


def seen(at: float, target: str = "/", status: int = 200, took: float = 0.01) -> Seen:
    return Seen(at, at + took, status, target)


GOOD = {HOST: [ROBOTS, seen(1.0), seen(2.0, status=503), seen(9.0)], SLOW: [ROBOTS, seen(3.0), seen(6.0)]}
BROKEN = {
    "robots.txt comes first": {HOST: [seen(0.0), seen(1.0, "/robots.txt")]},
    "robots.txt is read again when it expires": {HOST: [ROBOTS, seen(2 * ROBOTS_AGE)]},
    "nothing forbidden is requested": {SLOW: [ROBOTS, seen(9.0, "/print/1")]},
    "one request at a time a host": {HOST: [ROBOTS, seen(1.0, took=5.0), seen(3.0)]},
    "delays of hosts, Crawl-delay included": {SLOW: [ROBOTS, seen(9.0), seen(9.0 + (DELAY + CRAWL_DELAY) / 2)]},
    "Retry-After": {HOST: [ROBOTS, seen(1.0, status=503), seen(1.0 + RETRY_AFTER / 2)]},
    "delays of addresses": {HOST: [seen(place / 1000) for place in range(20)]},
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_what_breaks_it(rule: str) -> None:
    """And nothing in a log in which all are kept."""
    assert list(RULES[rule](WORLD, GOOD)) == []
    assert list(RULES[rule](WORLD, BROKEN[rule])) != []


def test_the_log_of_a_server_is_read_by_host(tmp_path: Path) -> None:
    """In the order in which requests began: they are noted when they end."""
    log = RequestLog(1, tmp_path / "log")
    for started_at, ended_at in ((2.0, 3.0), (1.0, 4.0)):
        log.note(Visit(1, "127.0.0.1", "GET", HOST, "/", "a", 200, 9, 0.0, 0.0, started_at, ended_at))
    log.close()
    assert [visit.started_at for visit in read_log(tmp_path / "log")[HOST]] == [1.0, 2.0]

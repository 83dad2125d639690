"""The rules of `bench.politeness` find what breaks them in a server's log."""

from __future__ import annotations

from bench.politeness import BusyWorld
from bench.politeness_rules import ADDRESSES, ROBOTS, ROBOTS_AGE, RULES, Judge, Seen, Terms
from tests.each_case import each_case

from periplus.apps.lab import Request
from periplus.apps.lab.log import Visit

HOST, SLOW = "a.lab.test", "slow.lab.test"
TERMS = Terms(
    delay=1.0,
    ip_delay=0.2,
    slow_factor=5.0,
    crawl_delay=2.0,
    retry_after=3.0,
    workers=2,
    slow_hosts=frozenset({SLOW}),
    address={HOST: "127.0.0.2", SLOW: "127.0.0.2"}.__getitem__,
    allows=lambda _host, target: not target.startswith("/print/"),
)


def seen(at: float, target: str = "/", status: int = 200, took: float = 0.01, host: str = HOST) -> Seen:
    return Seen(at, at + took, host, target, status)


START = [seen(0.0, ROBOTS), seen(0.5, ROBOTS, host=SLOW)]
GOOD = [
    *START, seen(3.0), seen(3.5, host=SLOW), seen(5.0, took=2.0), seen(6.0, host=SLOW), seen(17.1, status=503),
    seen(20.2), seen(ROBOTS_AGE, ROBOTS), seen(ROBOTS_AGE + 10),
]  # fmt: skip
BROKEN = {
    "robots.txt comes first": [seen(0.0), seen(3.0, ROBOTS)],
    "robots.txt is read again when it expires": [*START, seen(2 * ROBOTS_AGE)],
    "nothing forbidden is requested": [*START, seen(9.0, "/print/1")],
    "one request at a time a host": [*START, seen(3.0, took=5.0), seen(7.0)],
    "delays of hosts, Crawl-delay included": [*START, seen(9.0, host=SLOW), seen(10.5, host=SLOW)],
    "Retry-After": [*START, seen(3.0, status=503), seen(5.0)],
    ADDRESSES: [seen(place / 10, host=HOST if place % 2 else SLOW) for place in range(11)],
}


def violations(visits: list[Seen]) -> set[str]:
    """The broken rules, of visits that are logged in order of their end."""
    judge = Judge(TERMS)
    for one in sorted(visits, key=lambda visit: visit.ended_at):
        times = (one.started_at, one.ended_at)
        judge.note(Visit(1, "127.0.0.1", "GET", one.host, one.target, "a", one.status, 9, 0.0, 0.0, *times))
    judge.end()
    assert judge.requests == len(visits)
    return set(judge.violations)


def test_a_log_in_which_all_rules_are_kept_has_no_violation() -> None:
    """Requests to the two hosts of an address overlap, and those of a host do not."""
    assert violations(GOOD) == set()


@each_case("rule", [*RULES, ADDRESSES])
def test_each_rule_finds_what_breaks_it(rule: str) -> None:
    """Also if the visits were logged in another order than they began."""
    assert rule in violations(BROKEN[rule])


def test_a_rest_after_a_slow_answer_is_longer() -> None:
    """After two seconds a host rests for ten."""
    assert violations([*START, seen(3.0, took=2.0), seen(14.9)]) == {"delays of hosts, Crawl-delay included"}


def test_the_judge_does_not_keep_visits() -> None:
    """It judges those that began before any answer could still be under way."""
    judge = Judge(TERMS)
    for place in range(100):
        at = 10.0 * place
        judge.note(Visit(1, "127.0.0.1", "GET", HOST, ROBOTS, "a", 200, 9, 0.0, 0.0, at, at))
    assert judge.requests == 96


def test_every_page_of_a_site_is_linked_and_forbidden_ones_are_among_them() -> None:
    """Without them the rules about robots.txt would test nothing."""
    world = BusyWorld(40, 30, 2.0)
    for site in world.sites():
        home = world.answer(Request("GET", site.host, "/", (), 0.0))
        assert isinstance(home.body, bytes)
        assert b"/1.html" in home.body
        assert b"/print/0.html" in home.body
    refused = [site for site in world.sites() if not world.allows(site.host, "/print/0.html")]
    assert 10 < len(refused) < 40
    [slow, *_] = [site for site in world.sites() if site.robots == "delay"]
    robots = world.answer(Request("GET", slow.host, ROBOTS, (), 0.0)).body
    assert isinstance(robots, bytes)
    assert b"Crawl-delay: 4.000\n" in robots

"""The rules of `bench.politeness` find what breaks them in a server's log."""

from __future__ import annotations

import socket
from pathlib import Path

from bench.politeness import BusyWorld, JudgedLog, drain
from bench.politeness_rules import ADDRESSES, ROBOTS, ROBOTS_AGE, RULES, Judge, Seen, Terms
from tests.each_case import each_case

from periplus_lab import Request
from periplus_lab.log import Visit
from periplus_lab.server import RunningLab, Server, SteppedClock

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
    *START, seen(3.0), seen(3.5, host=SLOW), seen(5.0, "/1", took=2.0), seen(6.0, "/1", host=SLOW),
    seen(17.1, "/2", status=503), seen(20.2, "/2"), seen(ROBOTS_AGE, ROBOTS), seen(ROBOTS_AGE + 10, "/last"),
]  # fmt: skip
BROKEN = {
    "robots.txt comes first": [seen(0.0), seen(3.0, ROBOTS)],
    "robots.txt is read again when it expires": [*START, seen(2 * ROBOTS_AGE)],
    "nothing forbidden is requested": [*START, seen(9.0, "/print/1")],
    "one request at a time a host": [*START, seen(3.0, took=5.0), seen(7.0)],
    "delays of hosts, Crawl-delay included": [*START, seen(9.0, host=SLOW), seen(10.5, host=SLOW)],
    "Retry-After": [*START, seen(3.0, status=503), seen(5.0)],
    "no page is fetched twice": [*START, seen(3.0), seen(9.0)],
    ADDRESSES: [seen(place / 10, host=HOST if place % 2 else SLOW) for place in range(11)],
}


def logged(one: Seen) -> Visit:
    """What the server logs."""
    times = (one.started_at, one.ended_at)
    return Visit(1, "127.0.0.1", "GET", one.host, one.target, "a", one.status, 9, 0.0, 0.0, *times)


def violations(visits: list[Seen], kill: float = 0.0, lost: tuple[Seen, ...] = ()) -> set[str]:
    """The broken rules, of visits that are logged in order of their end; some answers are lost by a kill."""
    judge = Judge(TERMS)
    for one in sorted(visits, key=lambda visit: visit.ended_at):
        if kill and one.ended_at > kill:
            judge.killed(kill, [each.answered for each in lost])
            kill = 0.0
        judge.note(one)
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
    assert violations([*START, seen(3.0, took=2.0), seen(14.9, "/1")]) == {"delays of hosts, Crawl-delay included"}


def test_a_kill_excuses_only_what_depends_on_an_answer_that_was_lost() -> None:
    """However long before the kill it was sent. A host rests all the same, and what was kept is known."""
    slow, busy = seen(3.0, took=2.0), seen(3.0, status=503)
    assert violations([*START, slow, seen(6.1)], 5.5) == {
        "delays of hosts, Crawl-delay included",
        "no page is fetched twice",
    }
    assert violations([*START, slow, seen(6.1)], 5.5, (slow,)) == set()
    assert violations([*START, seen(3.0), seen(90.0)], 80.0, (seen(3.0),)) == set()
    assert violations([*START, seen(3.0), seen(90.0)], 80.0, (seen(3.0, "/1"),)) == {"no page is fetched twice"}
    assert violations([*START, seen(3.0, "/1"), seen(3.8)], 3.5, (seen(3.0, "/1"),)) == {
        "delays of hosts, Crawl-delay included"
    }
    assert violations([*START, busy, seen(5.0)], 4.0) == {"Retry-After"}
    assert violations([*START, busy, seen(5.0)], 4.0, (busy,)) == set()


def test_an_answer_that_was_lost_may_be_asked_for_once_more() -> None:
    """Not twice, and not before the kill; but again if that answer is lost as well."""
    twice = [*START, seen(3.0), seen(9.0)]
    assert violations(twice, 20.0, (seen(9.0),)) == {"no page is fetched twice"}
    assert violations([*twice, seen(30.0)], 5.0, (seen(3.0),)) == {"no page is fetched twice"}
    judge = Judge(TERMS)
    entries: list[Seen | float] = [*START, seen(3.0), 5.0, seen(9.0), 15.0, seen(30.0), seen(50.0, "/1")]
    for one in entries:
        if isinstance(one, float):
            judge.killed(one, [seen(3.0).answered])
        else:
            judge.note(one)
    judge.end()
    assert not judge.violations
    assert (judge.kills, judge.unknown) == (2, 2)


def test_requests_that_a_stalled_server_read_late_are_judged_by_the_delay_alone() -> None:
    """The crawler may have given up the first before it was read."""
    judge = Judge(TERMS)
    judge.stalled(20.0, 24.0)
    for one in [*START, seen(25.0, took=2.0), seen(29.0), seen(40.0, "/1"), seen(40.5, "/2")]:
        judge.note(one)
    judge.end()
    assert judge.violations == {"delays of hosts, Crawl-delay included": 1}
    assert (judge.stalls, judge.unknown) == (1, 2)


def test_another_run_judges_by_what_earlier_ones_logged(tmp_path: Path) -> None:
    """Also which answers were lost. A line that was being written when the machine died is left out."""
    path = tmp_path / "visits.jsonl"
    for before, run in ((0.0, [*START, seen(3.0)]), (3.01, [seen(40.0), seen(60.0, "/print/1"), seen(80.0)])):
        judge = Judge(TERMS)
        log = JudgedLog(judge, path, tmp_path / "an archive without answers")
        assert log.ended == before
        for one in run:
            log.note(logged(one))
        if not before:
            log.killed(20.0)
            log.stalled(21.0, 22.0)
        log.close()
        with path.open("ab") as file:
            file.write(b"[80.1, 80.")
    judge.end()
    assert judge.violations == {"no page is fetched twice": 1, "nothing forbidden is requested": 1}
    assert (judge.requests, judge.kills, judge.stalls, judge.unknown) == (6, 1, 1, 3)


def test_requests_of_hosts_that_are_not_of_the_web_are_not_judged(tmp_path: Path) -> None:
    """The bench itself asks the server, to wait until it has read everything."""
    judge = Judge(TERMS)
    log = JudgedLog(judge, tmp_path / "visits.jsonl", tmp_path)
    log.note(logged(seen(1.0, host="127.0.0.1")))
    log.close()
    judge.end()
    assert (log.total, judge.requests) == (0, 0)


def test_the_server_is_drained_when_all_that_was_sent_is_logged(tmp_path: Path) -> None:
    """Also requests whose clients have gone before they were read, and whose answers take long."""
    world = BusyWorld(10, 30, 2.0)
    log = JudgedLog(Judge(TERMS), tmp_path / "visits.jsonl", tmp_path)
    server = Server(world, SteppedClock(world.epoch), log, latency=lambda _request: 0.3)
    with RunningLab(server) as lab:
        host = world.sites()[0].host
        for number in range(50):
            with socket.create_connection(("127.0.0.1", lab.port)) as client:
                client.sendall(f"GET /{number} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        drain(lab, world, log)
        assert log.total == 50
    log.close()


def test_the_judge_keeps_no_visits() -> None:
    """It judges those that began before any answer could still be under way."""
    judge = Judge(TERMS)
    for place in range(100):
        judge.note(seen(10.0 * place, ROBOTS, took=0.0))
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

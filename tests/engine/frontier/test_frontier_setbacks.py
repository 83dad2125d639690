"""What a crawl waits for after failures, and that a URL of two sources is counted and refused once."""

from __future__ import annotations

from tests.each_case import each_case
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier, open_frontier
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier
from periplus.engine.frontier.politeness import MAX_SETBACKS, NO_CONNECTION
from periplus.engine.overview import frontier_stats
from periplus.model import Discovery, Excluded, Failed, Fetched, FetchEnded, FetchTask, Located, Source, Url
from periplus.store import MemoryState

PAGE = Url("http://a.test/page")


def seeded(urls: list[Url]) -> Frontier:
    frontier = open_frontier(MemoryState())
    frontier.discover([Discovery(url, Source.SEED, 0.0) for url in urls], 0.0)
    return frontier


def located(frontier: Frontier, now: float) -> float:
    """Answer the lookup and the robots.txt of one site; the time after it has rested."""
    lookup = frontier.take(1, now)[0]
    frontier.report(Located(lookup, "192.0.2.1", now + 1e6), now)
    robots = frontier.take(1, now)[0]
    frontier.report(Fetched(robots, 404, (), b"", now, 0.1, "192.0.2.1"), now)
    return now + 10.0


def taken(frontier: Frontier, now: float) -> FetchTask:
    return frontier.take(1, now)[0]


def test_a_failed_lookup_is_reported_with_its_next_attempt() -> None:
    """At once; the time is the one at which the site is asked again. When it is given up, there is none."""
    frontier = seeded([PAGE])
    now = 0.0
    for _ in range(2):
        frontier.report(Failed(taken(frontier, now), "dns-not-found", now, 0.0, detail="no such name"), now)
        (setback,) = frontier.setbacks
        assert (setback.site, setback.reason, setback.detail) == ("a.test", "dns-not-found", "no such name")
        assert setback.retry_at is not None
        assert setback.retry_at > now + 5
        assert not frontier.take(1, setback.retry_at - 0.1)
        now = setback.retry_at
    frontier.report(Failed(taken(frontier, now), "dns-not-found", now, 0.0), now)
    (setback,) = frontier.setbacks
    assert setback.retry_at is None


def test_a_server_error_is_reported_until_an_answer_comes() -> None:
    """A postponed URL is in no queue, but what is waited for is known."""
    frontier = seeded([PAGE])
    now = located(frontier, 0.0)
    frontier.report(Fetched(taken(frontier, now), 500, (), b"", now, 0.1, "192.0.2.1"), now)
    (setback,) = frontier.setbacks
    assert (setback.url, setback.reason) == (PAGE, "http-500")
    assert setback.retry_at is not None
    now = setback.retry_at + 0.001
    frontier.report(Fetched(taken(frontier, now), 200, (), b"", now, 0.1, "192.0.2.1"), now)
    assert not list(frontier.setbacks)


@each_case("purpose", ["robots", "page"])
def test_request_moves_to_another_address_without_a_failed_attempt(purpose: str) -> None:
    """At once, for robots.txt and for pages: no request was made at the first address."""
    frontier = seeded([PAGE])
    now = located(frontier, 0.0) if purpose == "page" else 0.0
    first = taken(frontier, now)
    if purpose == "robots":
        frontier.report(Located(first, "192.0.2.1", now + 1e6), now)
        first = taken(frontier, now)
    frontier.report(Located(first, "192.0.2.2", now + 1e6), now)
    frontier.check_invariants()
    again = taken(frontier, now)
    assert (again.url, again.purpose, again.ip, again.attempt) == (first.url, first.purpose, "192.0.2.2", 1)
    assert not list(frontier.setbacks)


@each_case(("reason", "is_looked_up"), [(reason, True) for reason in sorted(NO_CONNECTION)] + [("reset", False)])
def test_address_is_looked_up_again_after_a_failed_connection(reason: str, is_looked_up: bool) -> None:
    """It may have moved. Until a request succeeds, the failure is what the site waits for."""
    frontier = seeded([PAGE])
    now = located(frontier, 0.0)
    frontier.report(Failed(taken(frontier, now), reason, now, 0.1, ip="192.0.2.1"), now)
    (setback,) = frontier.setbacks
    assert setback.retry_at is not None
    now = setback.retry_at + 0.001
    task = taken(frontier, now)
    assert (task.ip is None) == is_looked_up
    if is_looked_up:
        frontier.report(Located(task, "192.0.2.2", now + 1e6), now)
        assert list(frontier.setbacks) == [setback]
        task = taken(frontier, now)
        assert (task.url, task.ip, task.attempt) == (PAGE, "192.0.2.2", 2)


def test_a_missing_robots_file_is_not_a_failure() -> None:
    """Most sites have none."""
    frontier = seeded([PAGE])
    located(frontier, 0.0)
    assert not list(frontier.setbacks)


def test_failures_are_bounded() -> None:
    """The latest are kept."""
    frontier = seeded([Url(f"http://{number}.test/") for number in range(MAX_SETBACKS + 5)])
    for task in frontier.take(100, 0.0):
        frontier.report(Failed(task, "dns-not-found", 0.0, 0.0), 0.0)
    assert len(list(frontier.setbacks)) == MAX_SETBACKS


def both_sources() -> list[Discovery]:
    return [Discovery(PAGE, Source.LINK, 0.0), Discovery(PAGE, Source.SITEMAP, 0.0, score=0.5)]


def test_a_url_of_two_sources_is_counted_once() -> None:
    """While it waits in both lanes, after a restart, and after the visit, when one entry is left over."""
    state = MemoryState()
    opened = OpenedFrontier(state, FrontierOptions(events=MemoryEventSink()))
    for discovery in both_sources():
        opened.frontier.discover([discovery], 0.0)
    assert len(state.queues) == 2
    assert frontier_stats(state, opened.frontier).queued == 1
    opened = OpenedFrontier(state, FrontierOptions(events=MemoryEventSink()), opened.commit())
    frontier = opened.frontier
    frontier.restart(0.0)
    stats = frontier_stats(state, frontier)
    assert stats.queued == 1 <= stats.known
    now = located(frontier, 100.0)
    frontier.report(Fetched(taken(frontier, now), 200, (), b"", now, 0.1, "192.0.2.1"), now)
    while frontier.take(1, now := now + 10.0):
        raise AssertionError("it was fetched twice")
    assert (len(state.queues), frontier_stats(state, frontier).queued) == (0, 0)


def test_a_url_of_two_sources_is_refused_once() -> None:
    """When its site is given up: one row, not one for each lane."""
    events = MemoryEventSink()
    frontier = OpenedFrontier(MemoryState(), FrontierOptions(events=events)).frontier
    for discovery in both_sources():
        frontier.discover([discovery], 0.0)
    now = 0.0
    while tasks := frontier.take(1, now):
        frontier.report(Failed(tasks[0], "dns-not-found", now, 0.0), now)
        now += 1000.0
    frontier.take(1, now + 10.0)
    ended = [event.outcome for event in events.events if isinstance(event, FetchEnded)]
    assert [outcome.task.url for outcome in ended if isinstance(outcome, Excluded)] == [PAGE]


@each_case(
    ("reason", "lane", "ends"),
    [("dns-not-found", Source.SITEMAP, True), ("reset", Source.SITEMAP, False), ("dns-not-found", Source.LINK, False)],
)
def test_sitemaps_at_servers_that_do_not_exist_are_not_waited_for(reason: str, lane: Source, ends: bool) -> None:
    """Once pages were fetched and nothing else waits. A page there is, and so is a server that may answer yet."""
    frontier = seeded([PAGE])
    now = located(frontier, 0.0)
    other = Url("http://gone.test/sitemap.xml")
    if lane is Source.SITEMAP:
        frontier.queue_files([other], now)
    else:
        frontier.discover([Discovery(other, lane, now)], now)
    lookup = next(task for task in frontier.take(2, now) if task.site == "gone.test")
    frontier.report(Failed(lookup, reason, now, 0.0), now)
    assert not frontier.awaits_missing_servers
    page = next(lease.task for lease in frontier.leases if lease.task.url == PAGE)
    frontier.report(Fetched(page, 200, (), b"", now, 0.1, "192.0.2.1"), now)
    frontier.take(2, now + 5.0)
    assert frontier.awaits_missing_servers is ends
    assert not frontier.is_idle


def test_a_sitemap_at_a_server_that_fails_is_no_unread_list() -> None:
    """It is not said for minutes that sitemaps are being read because one cannot be had."""
    frontier = seeded([])
    frontier.queue_files([Url("http://gone.test/sitemap.xml")], 0.0)
    assert frontier_stats(MemoryState(), frontier).has_unread
    frontier.report(Failed(taken(frontier, 0.0), "dns-not-found", 0.0, 0.0), 0.0)
    assert not frontier_stats(MemoryState(), frontier).has_unread

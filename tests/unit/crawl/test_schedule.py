"""Which site may be asked when: by its own time, by that of its address, and by what the ordering wants."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from periplus.crawl.frontier import ActiveSite, Move, Schedule, SiteRecords, Stage
from periplus.crawl.frontier.politeness import MAX_DELAY
from periplus.model import Discovery, InvariantError, Lane, Queued, Site, SiteState, Url
from periplus.store import MemoryState

IP = "192.0.2.1"


class ByLevel:
    """Sites by level, then by the time at which they were ready."""

    def score(self, discovery: Discovery) -> float:
        return -float(discovery.depth)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:
        return float(level) if waiting else 1000.0, ready_at


class Bench:
    """A schedule on a state."""

    def __init__(self, ip_delay: float = 0.5, capacity: int = 10_000, shards: int = 1) -> None:
        self.state = MemoryState()
        self._options = {"ip_delay": ip_delay, "capacity": capacity, "shards": shards}
        self.open()

    def open(self) -> None:
        """A schedule on the state as it was flushed."""
        self.records = SiteRecords(self.state.sites)
        self.schedule = Schedule(self.state, self.records, ByLevel(), max_wait=900.0, **self._options)  # type: ignore[arg-type]

    def reopen(self) -> None:
        """Another process continues."""
        self.schedule.flush()
        self.records.flush()
        self.open()

    def put(self, name: str, ip: str | None = None, ready_at: float = 0.0, level: int = 0) -> ActiveSite:
        """A site of which a URL waits."""
        site = Site(name)
        if self.state.sites.get([site]) == [None]:
            self.state.sites.put([SiteState(site, ip, ready_at=ready_at)])
        entry = Queued(Url(f"https://{site}/"), site, Lane.DISCOVERY, level)
        self.state.queues.push([entry])
        self.schedule.queued([entry], 0.0)
        active = self.schedule.get(site)
        assert active is not None
        return active

    def grant(self, active: ActiveSite, now: float) -> None:
        """A request to a site begins."""
        self.schedule.grant(active, active.record.ip, now)

    def end(self, active: ActiveSite, until: float) -> None:
        """The request ends, and the site rests."""
        active.under_way -= 1
        self.schedule.place(active, until)

    def empty(self, active: ActiveSite, now: float) -> None:
        """The request ends, and nothing more waits at the site."""
        active.under_way -= 1
        self.state.queues.remove(self.state.queues.heads(active.site, Lane.DISCOVERY, 9))
        active.count(Lane.DISCOVERY, -1)
        self.schedule.place(active, now)


def names(sites: Iterable[ActiveSite]) -> set[str]:
    return {active.site for active in sites}


def test_site_rests_until_its_time() -> None:
    """It is not ready early, and `next_at` is its time."""
    bench = Bench()
    active = bench.put("a", ready_at=10.0)
    assert bench.schedule.pop_ready(9.9) is None
    assert bench.schedule.next_at == 10.0
    assert bench.schedule.pop_ready(10.0) is active


def test_most_wanted_ready_site_is_first() -> None:
    """The ordering decides among ready sites, not the time at which they woke."""
    bench = Bench()
    bench.put("late", ready_at=1.0, level=5)
    wanted = bench.put("wanted", ready_at=2.0, level=1)
    assert bench.schedule.pop_ready(3.0) is wanted


def test_begun_visit_goes_on_first() -> None:
    """Its connection is open: it comes before any other site, however much that is wanted."""
    bench = Bench()
    begun = bench.put("begun", level=9)
    bench.put("wanted", level=0)
    begun.taken = 1
    assert bench.schedule.pop_ready(1.0) is begun


def test_one_site_at_a_time_is_ready_at_an_address() -> None:
    """A ready site that waits for a free slot keeps the others at its address waiting: no two are asked at once."""
    bench = Bench(ip_delay=0.5)
    first, second = bench.put("a", IP), bench.put("b", IP)
    assert bench.schedule.pop_ready(0.0) is first
    assert bench.schedule.pop_ready(100.0) is None
    bench.grant(first, 100.0)
    assert bench.schedule.pop_ready(100.4) is None
    assert bench.schedule.next_at == 100.5
    assert bench.schedule.pop_ready(100.5) is second


def test_site_that_was_ready_and_not_asked_lets_the_next_go() -> None:
    """Only a request counts against an address."""
    bench = Bench(ip_delay=0.5)
    first, second = bench.put("a", IP), bench.put("b", IP)
    assert bench.schedule.pop_ready(0.0) is first
    bench.schedule.place(first, 7.0)
    assert bench.schedule.pop_ready(0.0) is second


def test_dns_lookup_is_not_a_request() -> None:
    """A question to the name server leaves the address alone."""
    bench = Bench(ip_delay=0.5)
    first, second = bench.put("a", IP), bench.put("b", IP)
    assert bench.schedule.pop_ready(0.0) is first
    bench.schedule.grant(first, None, 0.0)
    assert bench.schedule.pop_ready(0.0) is second


def test_without_ip_delay_all_sites_of_an_address_are_ready_at_once() -> None:
    """`ip_delay` 0: sites at one address do not wait for each other."""
    bench = Bench(ip_delay=0.0)
    for name in "abc":
        bench.put(name, IP)
    assert [bench.schedule.pop_ready(0.0) is not None for _ in range(4)] == [True, True, True, False]


def test_held_site_is_never_ready() -> None:
    """Until the answer that it awaits is there."""
    bench = Bench()
    active = bench.put("a", IP)
    active.awaits_robots = True
    bench.schedule.place(active, 0.0)
    assert active.stage is Stage.HELD
    assert bench.schedule.pop_ready(1e9) is None
    assert bench.schedule.next_at is None
    active.awaits_robots = False
    bench.schedule.place(active, 5.0)
    assert bench.schedule.pop_ready(5.0) is active


def test_site_with_requests_under_way_stays_busy() -> None:
    """The longest of the rests that parallel requests ask for holds when the last has ended."""
    bench = Bench(ip_delay=0.0)
    active = bench.put("a", IP)
    assert bench.schedule.pop_ready(0.0) is active
    bench.grant(active, 0.0)
    bench.grant(active, 0.0)
    bench.end(active, 50.0)
    assert active.stage is Stage.BUSY
    bench.end(active, 10.0)
    assert active.stage is Stage.RESTING
    assert bench.schedule.next_at == 50.0


def test_pause_of_an_address_holds_for_sites_that_come_later() -> None:
    """A site that is parked leaves the time of the last request behind."""
    bench = Bench(ip_delay=10.0)
    active = bench.put("a", IP)
    assert bench.schedule.pop_ready(0.0) is active
    bench.grant(active, 0.0)
    bench.empty(active, 0.0)
    assert bench.schedule.get(Site("a")) is None
    other = bench.put("b", IP)
    assert bench.schedule.pop_ready(9.9) is None
    assert bench.schedule.pop_ready(10.0) is other


def test_summoned_sites_go_beyond_the_capacity() -> None:
    """Other sites' robots.txt lie there; the room is then negative, and the summoned site is a guest."""
    bench = Bench(capacity=1)
    bench.put("a")
    guest = bench.schedule.summon(Site("b"), 0.0)
    assert bench.schedule.room == -1
    assert guest.is_guest
    bench.schedule.place(guest, 0.0)
    assert bench.schedule.room == 0


def test_sites_beyond_the_capacity_wait_until_there_is_room() -> None:
    """They stay in their queues on disk, and are admitted from there."""
    bench = Bench(capacity=2)
    entries = [Queued(Url(f"https://{name}/"), Site(name), Lane.DISCOVERY, 0) for name in "abc"]
    bench.state.queues.push(entries)
    bench.schedule.queued(entries, 0.0)
    assert (names(bench.schedule), bench.schedule.is_crowded) == ({"a", "b"}, True)
    assert not bench.schedule.has_room
    active = bench.schedule.pop_ready(0.0)
    assert active is not None
    bench.grant(active, 0.0)
    bench.empty(active, 0.0)
    assert bench.schedule.has_room
    bench.schedule.admit_waiting(1.0)
    assert (names(bench.schedule), bench.schedule.is_crowded) == ({"b", "c"}, False)


def test_time_too_far_ahead_is_not_waited_for() -> None:
    """A record that says so was written by a clock that ran fast."""
    bench = Bench()
    active = bench.put("a", ready_at=MAX_DELAY + 1.0)
    assert bench.schedule.pop_ready(0.0) is active


@pytest.mark.parametrize("addresses", [2, 50])
def test_visits_take_no_memory(addresses: int) -> None:
    """Memory grows with active sites, not with visits; some rest for an hour, and could leave stale entries."""
    bench, chance, now = Bench(ip_delay=0.001), Random(2), 0.0
    for number in range(100):
        bench.put(f"s{number}", f"192.0.2.{number % addresses}")
    for _ in range(50_000):
        active = bench.schedule.pop_ready(now)
        if active is None:
            now = bench.schedule.next_at or now
            continue
        bench.grant(active, now)
        bench.end(active, now + chance.choice((0.0, 0.1, 3600.0)) * chance.random())
        if chance.random() < 0.1:
            bench.schedule.rest(active, now + 3600.0)
            bench.schedule.rest(active, now + 0.1)
    bench.schedule.check_invariants()
    assert bench.schedule.weight < 1000


def test_addresses_without_sites_are_forgotten() -> None:
    """A review keeps those that must be left alone."""
    bench, now = Bench(ip_delay=1.0), 0.0
    for number in range(3_000):
        now += 1.0
        active = bench.put(f"s{number}", f"2001:db8::{number:x}")
        assert bench.schedule.pop_ready(now) is active
        bench.grant(active, now)
        bench.empty(active, now)
    bench.schedule.review_addresses(now)
    assert 0 < bench.schedule.weight < 100
    bench.reopen()
    assert len(list(bench.state.addresses)) == 1
    bench.schedule.review_addresses(now + 1.0)
    bench.reopen()
    assert not list(bench.state.addresses)


def test_opened_schedule_continues_where_the_other_was() -> None:
    """Stages, times and turns are those that were flushed, at any moment of a random run."""
    chance, now = Random(7), 0.0
    benches = Bench(ip_delay=0.3), Bench(ip_delay=0.3)
    for bench in benches:
        for number in range(12):
            bench.put(f"s{number:02}", f"192.0.2.{number % 4}", level=number % 3)
    for _ in range(400):
        seconds, rest = chance.random() * 0.2, chance.random()
        now += seconds
        ready = [bench.schedule.pop_ready(now) for bench in benches]
        assert [active and active.site for active in ready] == [ready[0] and ready[0].site] * 2
        for bench, active in zip(benches, ready, strict=True):
            if active is not None:
                bench.grant(active, now)
                bench.end(active, now + rest)
        if chance.random() < 0.3:
            benches[1].reopen()
            benches[1].schedule.check_invariants()
        assert benches[0].schedule.next_at == benches[1].schedule.next_at


def test_invariants_can_fail() -> None:
    """A site that is not where its stage says, a wrong count, or a URL that was not counted."""
    bench = Bench()
    bench.put("a").move(Move.HOLD)
    with pytest.raises(InvariantError):
        bench.schedule.check_invariants()
    bench = Bench()
    bench.put("a").under_way = 1
    with pytest.raises(InvariantError):
        bench.schedule.check_invariants()
    bench = Bench()
    bench.put("a").count(Lane.SITEMAPS, 1)
    with pytest.raises(InvariantError):
        bench.schedule.check_invariants()

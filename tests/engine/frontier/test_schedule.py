"""Which site may be asked when: by its own time, by that of its address, and by what the ordering wants."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from tests.engine.frontier.scheduled_sites import DELAY, ScheduledSites

from periplus.engine.frontier import ActiveSite, Move, SiteStage
from periplus.engine.frontier.politeness import MAX_DELAY
from periplus.model import InvariantError, Lane, Queued, Site, Url

IP = "192.0.2.1"


def names(active: Iterable[ActiveSite]) -> set[str]:
    return {each.site for each in active}


def test_site_rests_until_its_time() -> None:
    """It is not ready early, and `next_at` is its time."""
    sites = ScheduledSites()
    active = sites.put("a", ready_at=10.0)
    assert sites.schedule.pop_ready(9.9) is None
    assert sites.schedule.next_at == 10.0
    assert sites.schedule.pop_ready(10.0) is active


def test_a_site_that_waited_in_its_queue_rests_after_a_restart() -> None:
    """The clock may have been set ahead of the time at which it may be visited: it may just have been."""
    sites = ScheduledSites(ip_delay=0.25)
    sites.schedule.restart(1000.0)
    sites.put("visited", ready_at=10.0)
    assert sites.schedule.next_at == 1000.0 + DELAY
    sites.put("new")
    assert sites.schedule.next_at == 1000.25


def test_an_active_site_rests_after_a_restart() -> None:
    """A request of the last process may just have arrived there."""
    sites = ScheduledSites()
    sites.put("active", ready_at=10.0)
    sites.schedule.restart(1000.0)
    assert sites.schedule.next_at == 1000.0 + DELAY


def test_most_wanted_ready_site_is_first() -> None:
    """The ordering decides among ready sites, not the time at which they woke."""
    sites = ScheduledSites()
    sites.put("late", ready_at=1.0, level=5)
    wanted = sites.put("wanted", ready_at=2.0, level=1)
    assert sites.schedule.pop_ready(3.0) is wanted


def test_begun_visit_goes_on_first() -> None:
    """Its connection is open: it comes before any other site, however much that is wanted."""
    sites = ScheduledSites()
    begun = sites.put("begun", level=9)
    sites.put("wanted", level=0)
    begun.taken = 1
    assert sites.schedule.pop_ready(1.0) is begun


def test_one_site_at_a_time_is_ready_at_an_address() -> None:
    """A ready site that waits for a free slot keeps the others at its address waiting: no two are asked at once."""
    sites = ScheduledSites(ip_delay=0.5)
    first, second = sites.put("a", IP), sites.put("b", IP)
    assert sites.schedule.pop_ready(0.0) is first
    assert sites.schedule.pop_ready(100.0) is None
    sites.grant(first, 100.0)
    assert sites.schedule.pop_ready(100.5) is None  # the first answer has not come
    sites.end(first, 101.4)
    assert sites.schedule.pop_ready(100.4) is None
    assert sites.schedule.next_at == 100.5
    assert sites.schedule.pop_ready(100.5) is second


def test_site_that_was_ready_and_not_asked_lets_the_next_go() -> None:
    """Only a request counts against an address."""
    sites = ScheduledSites(ip_delay=0.5)
    first, second = sites.put("a", IP), sites.put("b", IP)
    assert sites.schedule.pop_ready(0.0) is first
    sites.schedule.place(first, 7.0)
    assert sites.schedule.pop_ready(0.0) is second


def test_dns_lookup_is_not_a_request() -> None:
    """A question to the name server leaves the address alone."""
    sites = ScheduledSites(ip_delay=0.5)
    first, second = sites.put("a", IP), sites.put("b", IP)
    assert sites.schedule.pop_ready(0.0) is first
    sites.schedule.grant(first, None, 0.0)
    assert sites.schedule.pop_ready(0.0) is second


def test_without_ip_delay_all_sites_of_an_address_are_ready_at_once() -> None:
    """`ip_delay` 0: sites at one address do not wait for each other."""
    sites = ScheduledSites(ip_delay=0.0)
    for name in "abc":
        sites.put(name, IP)
    assert [sites.schedule.pop_ready(0.0) is not None for _ in range(4)] == [True, True, True, False]


def test_held_site_is_never_ready() -> None:
    """Until the answer that it awaits is there."""
    sites = ScheduledSites()
    active = sites.put("a", IP)
    active.awaits_robots = True
    sites.schedule.place(active, 0.0)
    assert active.stage is SiteStage.HELD
    assert sites.schedule.pop_ready(1e9) is None
    assert sites.schedule.next_at is None
    active.awaits_robots = False
    sites.schedule.place(active, 5.0)
    assert sites.schedule.pop_ready(5.0) is active


def test_site_with_requests_under_way_stays_busy() -> None:
    """The longest of the rests that parallel requests ask for holds when the last has ended."""
    sites = ScheduledSites(ip_delay=0.0)
    active = sites.put("a", IP)
    assert sites.schedule.pop_ready(0.0) is active
    sites.grant(active, 0.0)
    sites.grant(active, 0.0)
    stages = []
    for until in (50.0, 10.0):
        sites.end(active, until)
        stages.append(active.stage)
    assert stages == [SiteStage.BUSY, SiteStage.RESTING]
    assert sites.schedule.next_at == 50.0


def test_pause_of_an_address_holds_for_sites_that_come_later() -> None:
    """A site that is parked leaves the time of the last request behind."""
    sites = ScheduledSites(ip_delay=10.0)
    active = sites.put("a", IP)
    assert sites.schedule.pop_ready(0.0) is active
    sites.grant(active, 0.0)
    sites.empty(active, 0.0)
    assert sites.schedule.get(Site("a")) is None
    other = sites.put("b", IP)
    assert sites.schedule.pop_ready(9.9) is None
    assert sites.schedule.pop_ready(10.0) is other


def test_summoned_sites_go_beyond_the_capacity() -> None:
    """Other sites' robots.txt lie there; the room is then negative, and the summoned site is a guest."""
    sites = ScheduledSites(capacity=1)
    sites.put("a")
    guest = sites.schedule.summon(Site("b"), 0.0)
    assert sites.schedule.room == -1
    assert guest.is_guest
    sites.schedule.place(guest, 0.0)
    assert sites.schedule.room == 0


def test_sites_beyond_the_capacity_wait_until_there_is_room() -> None:
    """They stay in their queues on disk, and are admitted from there."""
    sites = ScheduledSites(capacity=2)
    entries = [Queued(Url(f"https://{name}/"), Site(name), Lane.DISCOVERY, 0) for name in "abc"]
    sites.state.queues.push(entries)
    sites.schedule.queued(entries, 0.0)
    assert (names(sites.schedule), sites.schedule.is_crowded) == ({"a", "b"}, True)
    assert sites.schedule.room == 0
    active = sites.schedule.pop_ready(0.0)
    assert active is not None
    sites.grant(active, 0.0)
    sites.empty(active, 0.0)
    assert sites.schedule.has_room
    sites.schedule.admit_waiting(1.0)
    assert (names(sites.schedule), sites.schedule.is_crowded) == ({"b", "c"}, False)


def test_time_too_far_ahead_is_not_waited_for() -> None:
    """A record that says so was written by a clock that ran fast, maybe a moment ago: the site rests its delay."""
    sites = ScheduledSites()
    active = sites.put("a", ready_at=MAX_DELAY + 1.0)
    assert sites.schedule.next_at == DELAY
    assert sites.schedule.pop_ready(DELAY) is active


@pytest.mark.parametrize("addresses", [2, 50])
def test_visits_take_no_memory(addresses: int) -> None:
    """Memory grows with active sites, not with visits; some rest for an hour, and could leave stale entries."""
    sites, chance, now = ScheduledSites(ip_delay=0.001), Random(2), 0.0
    for number in range(100):
        sites.put(f"s{number}", f"192.0.2.{number % addresses}")
    for _ in range(8_000):
        active = sites.schedule.pop_ready(now)
        if active is None:
            now = sites.schedule.next_at or now
            continue
        sites.grant(active, now)
        sites.end(active, now + chance.choice((0.0, 0.1, 3600.0)) * chance.random())
        if chance.random() < 0.1:
            sites.schedule.rest(active, now + 3600.0)
            sites.schedule.rest(active, now + 0.1)
    sites.schedule.check_invariants()
    assert sites.schedule.weight < 1000


def test_addresses_without_sites_are_forgotten() -> None:
    """A review keeps those that must be left alone."""
    sites, now = ScheduledSites(ip_delay=1.0), 0.0
    for number in range(1_500):
        now += 1.0
        active = sites.put(f"s{number}", f"2001:db8::{number:x}")
        assert sites.schedule.pop_ready(now) is active
        sites.grant(active, now)
        sites.empty(active, now)
    sites.schedule.addresses.review(now)
    assert 0 < sites.schedule.weight < 100
    sites.reopen()
    assert len(list(sites.state.addresses)) == 1
    sites.schedule.addresses.review(now + 1.0)
    sites.reopen()
    assert not list(sites.state.addresses)


def test_opened_schedule_continues_where_the_other_was() -> None:
    """Stages, times and turns are those that were flushed, at any moment of a random run."""
    chance, now = Random(7), 0.0
    pair = ScheduledSites(ip_delay=0.3), ScheduledSites(ip_delay=0.3)
    for sites in pair:
        for number in range(12):
            sites.put(f"s{number:02}", f"192.0.2.{number % 4}", level=number % 3)
    for _ in range(400):
        seconds, rest = chance.random() * 0.2, chance.random()
        now += seconds
        ready = [sites.schedule.pop_ready(now) for sites in pair]
        assert [active and active.site for active in ready] == [ready[0] and ready[0].site] * 2
        for sites, active in zip(pair, ready, strict=True):
            if active is not None:
                sites.grant(active, now)
                sites.end(active, now + rest)
        if chance.random() < 0.3:
            pair[1].reopen()
            pair[1].schedule.check_invariants()
        assert pair[0].schedule.next_at == pair[1].schedule.next_at


def test_invariants_can_fail() -> None:
    """A site that is not where its stage says, a wrong count, or a URL that was not counted."""
    sites = ScheduledSites()
    sites.put("a").move(Move.HOLD)
    with pytest.raises(InvariantError):
        sites.schedule.check_invariants()
    sites = ScheduledSites()
    sites.under_way[sites.put("a").site] = 1
    with pytest.raises(InvariantError):
        sites.schedule.check_invariants()
    sites = ScheduledSites()
    sites.put("a").count(Lane.SITEMAPS, 1)
    with pytest.raises(InvariantError):
        sites.schedule.check_invariants()

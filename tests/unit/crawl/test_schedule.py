"""Sites at rest, ready and visited: whose turn it is, by the site's own time and by that of its address."""

from __future__ import annotations

from random import Random

import pytest

from periplus.crawl.frontier import ActiveSite, Place, Workbench
from periplus.model import InvariantError, Site, SiteState


def bench(ip_delay: float = 0.5, capacity: int = 10_000) -> Workbench:
    return Workbench(ip_delay, capacity=capacity, key=lambda active: (float(active.level), active.ready_at))


def put(there: Workbench, name: str, ip: str | None, ready_at: float = 0.0, level: int = 0) -> ActiveSite:
    return there.admit(SiteState(Site(name), ip, ready_at=ready_at), level)


def visit(there: Workbench, active: ActiveSite, now: float) -> None:
    active.flying += 1
    there.visit(active, active.state.ip, now)


def rest(there: Workbench, active: ActiveSite, until: float) -> None:
    active.flying -= 1
    there.rest(active, until)


def test_a_site_rests_until_its_time() -> None:
    """Nobody is ready early, and `next_at` says when."""
    there = bench()
    active = put(there, "a", None, ready_at=10.0)
    assert there.pop_ready(9.9) is None
    assert there.next_at == 10.0
    assert there.pop_ready(10.0) is active


def test_the_most_wanted_of_those_that_are_ready() -> None:
    """The ordering decides among ready sites, not who woke first."""
    there = bench()
    put(there, "late", None, ready_at=1.0, level=5)
    wanted = put(there, "wanted", None, ready_at=2.0, level=1)
    assert there.pop_ready(3.0) is wanted


def test_one_address_is_asked_by_one_site_at_a_time() -> None:
    """A ready site that waits for a hand keeps the others of its address waiting: together they would ask at once."""
    there = bench(ip_delay=0.5)
    first, second = put(there, "a", "192.0.2.1"), put(there, "b", "192.0.2.1")
    assert there.pop_ready(0.0) is first
    assert there.pop_ready(100.0) is None
    visit(there, first, 100.0)
    assert there.pop_ready(100.4) is None
    assert there.next_at == 100.5
    assert there.pop_ready(100.5) is second


def test_a_site_that_was_ready_and_asked_nothing_lets_the_next_go() -> None:
    """Only a request counts against an address."""
    there = bench(ip_delay=0.5)
    first, second = put(there, "a", "192.0.2.1"), put(there, "b", "192.0.2.1")
    assert there.pop_ready(0.0) is first
    there.rest(first, 7.0)
    assert there.pop_ready(0.0) is second


def test_looking_a_site_up_is_no_request() -> None:
    """A question to the name server leaves the address alone."""
    there = bench(ip_delay=0.5)
    first, second = put(there, "a", "192.0.2.1"), put(there, "b", "192.0.2.1")
    assert there.pop_ready(0.0) is first
    first.flying = 1
    there.visit(first, None, 0.0)
    assert there.pop_ready(0.0) is second


def test_without_a_delay_for_addresses_all_are_ready_at_once() -> None:
    """`ip_delay` 0 means that sites of one address do not wait for each other."""
    there = bench(ip_delay=0.0)
    for name in "abc":
        put(there, name, "192.0.2.1")
    assert [there.pop_ready(0.0) is not None for _ in range(4)] == [True, True, True, False]


def test_a_held_site_is_nobodys_turn() -> None:
    """Until it is put to rest again."""
    there = bench()
    active = put(there, "a", "192.0.2.1")
    there.hold(active)
    assert there.pop_ready(1e9) is None
    assert there.next_at is None
    there.rest(active, 5.0)
    assert there.pop_ready(5.0) is active


def test_an_address_is_left_alone_also_by_those_who_come_later() -> None:
    """Sites that leave take the memory of the last request not with them."""
    there = bench(ip_delay=10.0)
    active = put(there, "a", "192.0.2.1")
    assert there.pop_ready(0.0) is active
    visit(there, active, 0.0)
    active.flying = 0
    there.leave(active)
    other = put(there, "b", "192.0.2.1")
    assert there.pop_ready(9.9) is None
    assert there.pop_ready(10.0) is other


def test_room_may_be_exceeded_but_is_counted() -> None:
    """Errands go beyond the capacity; the room is then negative."""
    there = bench(capacity=1)
    put(there, "a", None)
    put(there, "b", None)
    assert there.room == -1


@pytest.mark.parametrize("addresses", [2, 50])
def test_visits_take_no_room(addresses: int) -> None:
    """Memory grows with sites at hand, not with visits; some rest for an hour, and would leave old entries behind."""
    there, chance, now = bench(ip_delay=0.001), Random(2), 0.0
    for number in range(100):
        put(there, f"s{number}", f"192.0.2.{number % addresses}")
    for _ in range(50_000):
        active = there.pop_ready(now)
        if active is None:
            now = there.next_at or now
            continue
        visit(there, active, now)
        rest(there, active, now + chance.choice((0.0, 0.1, 3600.0)) * chance.random())
        if chance.random() < 0.1:
            there.rest(active, now + 3600.0)
            there.rest(active, now + 0.1)
    there.check_invariants()
    assert there.weight < 1000


def test_addresses_of_sites_long_gone_are_forgotten() -> None:
    """A crawl that meets a million addresses remembers those that it must leave alone."""
    there, now = bench(ip_delay=1.0), 0.0
    for number in range(10_000):
        now += 1.0
        active = put(there, f"s{number}", f"2001:db8::{number:x}")
        assert there.pop_ready(now) is active
        visit(there, active, now)
        active.flying = 0
        there.leave(active)
    assert there.weight < 3000


def test_what_is_out_of_place_is_found_out() -> None:
    """The invariants can fail."""
    there = bench()
    active = put(there, "a", None)
    active.place = Place.HELD
    with pytest.raises(InvariantError):
        there.check_invariants()

"""What every `Queues` promises."""

from __future__ import annotations

import pytest

from periplus.model import InvariantError, Lane, Queued, Queues, Site, Url
from periplus.store import State

SITE = Site("a.test")
OTHER = Site("b.test")


@pytest.fixture
def queues(state: State) -> Queues:
    return state.queues


def entry(name: str, level: int = 0, lane: Lane = Lane.DISCOVERY, site: Site = SITE) -> Queued:
    return Queued(Url(f"https://{site}/{name}"), site, lane, level)


def entries(queues: Queues, limit: int = 100, lane: Lane = Lane.DISCOVERY, site: Site = SITE) -> list[Queued]:
    return [ticket.entry for ticket in queues.heads(site, lane, limit)]


def test_the_lowest_level_goes_first_and_then_who_came_first(queues: Queues) -> None:
    """Order is by level, and within a level that of arrival."""
    late, early, second, last = entry("9", 9), entry("0", 0), entry("00", 0), entry("255", 255)
    queues.push([late, last, early])
    queues.push([second])
    assert entries(queues) == [early, second, late, last]
    assert entries(queues, limit=2) == [early, second]
    assert entries(queues, limit=0) == []


def test_sites_and_lanes_wait_apart(queues: Queues) -> None:
    """A queue holds what was pushed for its site and lane, and nothing of its neighbours."""
    mine, lane, site = entry("1"), entry("1", lane=Lane.REFRESH), entry("1", site=OTHER)
    queues.push([mine, lane, site])
    assert entries(queues) == [mine]
    assert entries(queues, lane=Lane.REFRESH) == [lane]
    assert entries(queues, site=OTHER) == [site]
    assert entries(queues, lane=Lane.SITEMAPS) == []
    assert entries(queues, site=Site("nobody.test")) == []


def test_a_url_may_wait_at_another_site(queues: Queues) -> None:
    """The queue is that of the entry's site, whatever host its URL names."""
    strange = Queued(Url("http://elsewhere.test/1"), SITE, Lane.SITEMAPS, 3)
    queues.push([strange])
    assert entries(queues, lane=Lane.SITEMAPS) == [strange]


def test_a_url_may_wait_twice(queues: Queues) -> None:
    """Each push is a place of its own; removing one leaves the other."""
    queues.push([entry("1"), entry("1")])
    first, second = queues.heads(SITE, Lane.DISCOVERY, 9)
    queues.remove([first])
    assert queues.heads(SITE, Lane.DISCOVERY, 9) == [second]


def test_heads_stay_until_they_are_removed(queues: Queues) -> None:
    """Looking takes nothing away; removing takes what the ticket names, wherever it stands, once."""
    queues.push([entry(str(number), level=number % 2) for number in range(6)])
    tickets = queues.heads(SITE, Lane.DISCOVERY, 9)
    assert queues.heads(SITE, Lane.DISCOVERY, 9) == tickets
    queues.remove([tickets[4], tickets[0]])
    queues.remove([tickets[0]])
    assert queues.heads(SITE, Lane.DISCOVERY, 9) == [tickets[index] for index in (1, 2, 3, 5)]
    assert queues.length(SITE, Lane.DISCOVERY) == len(queues) == 4


def test_what_comes_after_a_removal_comes_last(queues: Queues) -> None:
    """A place is never given twice: an old ticket does not remove what came later."""
    queues.push([entry("1")])
    tickets = queues.heads(SITE, Lane.DISCOVERY, 1)
    queues.remove(tickets)
    queues.push([entry("2")])
    queues.remove(tickets)
    assert entries(queues) == [entry("2")]


def test_lengths_follow(queues: Queues) -> None:
    """Lengths count what waits, by site and lane; the whole counts the postponed as well."""
    assert len(queues) == queues.length(SITE, Lane.DISCOVERY) == 0
    queues.push([entry("1"), entry("2"), entry("3", lane=Lane.REFRESH), entry("4", site=OTHER)])
    queues.postpone([(5.0, entry("5"))])
    assert queues.length(SITE, Lane.DISCOVERY) == 2
    assert queues.length(SITE, Lane.REFRESH) == queues.length(OTHER, Lane.DISCOVERY) == 1
    assert queues.length(OTHER, Lane.REFRESH) == 0
    assert len(queues) == 5


def test_waiting_names_every_queue_with_its_lowest_level(queues: Queues) -> None:
    """Each site and lane once, with the level of its head; empty ones are not named."""
    queues.push([entry("1", 7), entry("2", 3), entry("3", 9, Lane.REFRESH), entry("4", 255, site=OTHER)])
    queues.push([entry("5", site=Site("gone.test"))])
    queues.remove(queues.heads(Site("gone.test"), Lane.DISCOVERY, 1))
    queues.postpone([(1.0, entry("6", site=Site("later.test")))])
    assert set(queues.waiting()) == {
        (SITE, Lane.DISCOVERY, 3),
        (SITE, Lane.REFRESH, 9),
        (OTHER, Lane.DISCOVERY, 255),
    }


def test_queues_may_change_while_they_are_named(queues: Queues) -> None:
    """What waits may be removed while it is iterated."""
    queues.push([entry("1", site=Site(f"s{number}.test")) for number in range(1500)])
    named = []
    for site, lane, _ in queues.waiting():
        named.append(site)
        queues.remove(queues.heads(site, lane, 1))
    assert len(named) == len(set(named)) == 1500
    assert len(queues) == 0


def released(queues: Queues, now: float, limit: int) -> list[Queued]:
    """What is released; each has a ticket that takes it out again."""
    return [ticket.entry for ticket in queues.release(now, limit)]


def test_a_push_gives_tickets(queues: Queues) -> None:
    """An entry that was pushed can be removed, wherever it stands in its queue."""
    tickets = queues.push([entry(str(number), level=number % 3) for number in range(60)])
    queues.remove(tickets[10:50])
    kept = sorted([*tickets[:10], *tickets[50:]], key=lambda ticket: (ticket.entry.level, ticket.place))
    assert queues.heads(SITE, Lane.DISCOVERY, 99) == kept
    queues.remove(tickets[10:50])
    assert len(queues) == queues.length(SITE, Lane.DISCOVERY) == 20
    queues.remove(kept)
    assert list(queues.waiting()) == []


def test_the_postponed_are_released_when_due(queues: Queues) -> None:
    """Earliest first, at most as many as asked for; before its time nothing moves."""
    queues.postpone([(30.0, entry("30", 1)), (10.0, entry("10", 5)), (20.0, entry("20", 0)), (10.0, entry("10b", 5))])
    assert queues.next_release() == 10.0
    assert queues.release(9.99, 9) == []
    assert released(queues, 20.0, 2) == [entry("10", 5), entry("10b", 5)]
    assert queues.next_release() == 20.0
    assert released(queues, 25.0, 9) == [entry("20", 0)]
    assert entries(queues) == [entry("20", 0), entry("10", 5), entry("10b", 5)]
    assert len(queues) == 4
    assert released(queues, 1e12, 9) == [entry("30", 1)]
    assert queues.next_release() is None


def test_any_number_is_a_time(queues: Queues) -> None:
    """Times before 1970, of both zeros and without end are in their order."""
    times = [float("inf"), 0.0, -1.5, -1e300, 1e-9, -0.0, 2.0]
    queues.postpone([(at, entry(str(index))) for index, at in enumerate(times)])
    assert [found.url[-1] for found in released(queues, 2.0, 9)] == ["3", "2", "1", "5", "4", "6"]
    assert queues.next_release() == float("inf")


@pytest.mark.parametrize("level", [-1, 256])
def test_levels_fit_in_a_byte(queues: Queues, level: int) -> None:
    """A level out of bounds is our mistake, said at once, and nothing of the batch is kept."""
    with pytest.raises(InvariantError):
        queues.push([entry("1"), entry("2", level)])
    with pytest.raises(InvariantError):
        queues.postpone([(1.0, entry("1")), (2.0, entry("2", level))])
    assert len(queues) == 0
    assert entries(queues) == []


def test_a_time_is_a_number(queues: Queues) -> None:
    """What is not a number never comes due: our mistake."""
    with pytest.raises(InvariantError):
        queues.postpone([(1.0, entry("1")), (float("nan"), entry("2"))])
    assert len(queues) == 0


def test_a_level_can_be_taken_by_itself(queues: Queues) -> None:
    """The levels in use are known, and each gives its URLs in the order in which they came."""
    first, second, other, last = entry("1", 7), entry("2", 7), entry("3", 9), entry("4", 255)
    queues.push([other, first, last, second, entry("5", 7, lane=Lane.REFRESH), entry("6", 7, site=OTHER)])
    assert queues.levels(SITE, Lane.DISCOVERY) == [7, 9, 255]
    assert queues.levels(Site("nobody.test"), Lane.DISCOVERY) == queues.levels(SITE, Lane.SITEMAPS) == []
    heads = queues.heads_of_level(SITE, Lane.DISCOVERY, 7, 9)
    assert [head.entry for head in heads] == [first, second]
    assert [head.entry for head in queues.heads_of_level(SITE, Lane.DISCOVERY, 255, 1)] == [last]
    assert queues.heads_of_level(SITE, Lane.DISCOVERY, 8, 9) == queues.heads_of_level(SITE, Lane.DISCOVERY, 7, 0) == []
    queues.remove([heads[0], *queues.heads_of_level(SITE, Lane.DISCOVERY, 9, 9)])
    assert queues.levels(SITE, Lane.DISCOVERY) == [7, 255]
    assert [head.entry for head in queues.heads_of_level(SITE, Lane.DISCOVERY, 7, 9)] == [second]

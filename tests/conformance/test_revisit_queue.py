"""What every implementation of `RevisitQueue` promises."""

from __future__ import annotations

import random

import pytest

from periplus.model import InvariantError, RevisitQueue, Url
from periplus.store import State

A, B, C = Url("https://a.test/"), Url("https://b.test/"), Url("http://c.test/x?y=z")


@pytest.fixture
def calendar(state: State) -> RevisitQueue:
    return state.calendar


def test_those_are_due_whose_time_has_come(calendar: RevisitQueue) -> None:
    """The earliest first, at most `limit`; and they stay until they are moved."""
    assert calendar.next_due() is None
    calendar.move([(A, None, 30.0), (B, None, 10.0), (C, None, 20.5)])
    assert (calendar.next_due(), len(calendar)) == (10.0, 3)
    assert calendar.due(5.0, 10) == []
    for _ in range(2):
        assert calendar.due(20.5, 10) == [(B, 10.0), (C, 20.5)]
        assert calendar.due(99.0, 1) == [(B, 10.0)]


def test_one_may_be_drawn(calendar: RevisitQueue) -> None:
    """The first at a time or later."""
    assert calendar.after(0.0) is None
    calendar.move([(A, None, 30.0), (B, None, 10.0)])
    assert (calendar.after(0.0), calendar.after(10.0), calendar.after(10.5)) == ((B, 10.0), (B, 10.0), (A, 30.0))
    assert calendar.after(31.0) is None
    assert list(calendar) == [B, A]


def test_a_url_is_there_once(calendar: RevisitQueue) -> None:
    """At the time that it was given last, or not at all; moved there and back as well."""
    calendar.move([(A, None, 10.0), (B, None, 20.0)])
    calendar.move([(A, 10.0, 30.0)])
    assert calendar.due(99.0, 10) == [(B, 20.0), (A, 30.0)]
    calendar.move([(A, 30.0, 10.0)])
    calendar.move([(B, 20.0, None)])
    assert calendar.due(99.0, 10) == [(A, 10.0)]
    calendar.move([(A, 10.0, 10.0)])
    assert (calendar.due(99.0, 10), len(calendar)) == ([(A, 10.0)], 1)


def test_a_time_must_be_one(calendar: RevisitQueue) -> None:
    """Or the order of all of them would be lost."""
    with pytest.raises(InvariantError):
        calendar.move([(A, None, float("nan"))])


def test_many_moves_leave_what_a_dictionary_would_hold(calendar: RevisitQueue) -> None:
    """Whatever their order."""
    chance = random.Random(5)
    times: dict[Url, float] = {}
    for _ in range(2000):
        url = Url(f"https://s{chance.randrange(50)}.test/")
        after = chance.choice([None, round(chance.uniform(0, 100), 1)])
        calendar.move([(url, times.get(url), after)])
        if after is None:
            times.pop(url, None)
        else:
            times[url] = after
    assert len(calendar) == len(times)
    assert sorted(calendar.due(1000.0, 1000)) == sorted(times.items())
    assert calendar.next_due() == min(times.values())

"""A rate over all shards: never more requests in any second, and not many fewer than there may be."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.engine.clock import RateLimiter, TokenBucket

DURATION = 40.0
"""Seconds of virtual time in which most of a rate is used."""


def begun(rate: float, shards: int, chance: Random, slowest: float, duration: float = DURATION) -> list[float]:
    """When requests begin, if every shard always has some, and looks as often as the engine would."""
    times = []
    for shard in range(shards):
        now = 1e9 + chance.random() * 3
        end = now + duration
        limiter = RateLimiter(rate, now, shard, shards)
        while now < end:
            for _ in range(min(limiter.room(now), 1000)):
                limiter.begin(now)
                times.append(now)
            wake_at = now + 0.25 if limiter.room(now) else min(limiter.next_at(now), now + 0.25)
            now = max(wake_at, now + 0.0005) + chance.random() * slowest
    return sorted(times)


@given(
    st.one_of(st.floats(0.2, 12.0), st.integers(1, 40).map(float)), st.integers(1, 4), st.randoms(use_true_random=False)
)
def test_no_second_has_more_than_the_rate(rate: float, shards: int, chance: Random) -> None:
    """Of any second, wherever it begins; for a rate below one, of any such time as one request is due in."""
    times = begun(rate, shards, chance, slowest=0.02, duration=12.0)
    most, window = (int(rate), 1.0) if rate >= 1 else (1, 1 / rate)
    for first, last in zip(times, times[most:], strict=False):
        assert last - first >= window


@each_case(("rate", "shards"), [(0.5, 1), (1.0, 2), (2.0, 3), (5.0, 1), (10.0, 2), (50.0, 2)])
def test_most_of_the_rate_is_used(rate: float, shards: int) -> None:
    """At least two thirds of it."""
    times = begun(rate, shards, Random(1), slowest=0.01)
    assert len(times) > rate * DURATION * 2 / 3


def test_a_rate_of_zero_sets_no_bound() -> None:
    """Zero: as many as there are slots."""
    limiter = RateLimiter(0.0, 0.0)
    limiter.begin(0.0)
    assert limiter.room(0.0) >= 100_000


@given(st.lists(st.tuples(st.floats(0.001, 20.0), st.floats(0.1, 400.0)), min_size=1, max_size=6), st.randoms())
def test_a_budget_is_not_overspent_when_it_changes(periods: list[tuple[float, float]], chance: Random) -> None:
    """From whenever to whenever: no more begin than the rates of that time allow, and as many as can be saved up.

    And most of them do begin, if there is always somebody who looks when there is room.
    """
    now, due = 1e9, 0.0
    bucket = TokenBucket(periods[0][0], now)
    spent: list[tuple[float, float]] = []  # what was due before each that began, and what could be saved up then
    for rate, seconds in periods:
        bucket.change(rate, now)
        end = now + seconds
        while now < end and len(spent) < 300:
            for _ in range(bucket.room(now)):
                bucket.begin(now)
                spent.append((due, max(1.0, rate)))
            after = min(max(bucket.next_at(now), now + 0.001) + chance.random() * 0.01, end)
            due += (after - now) * rate
            now = after
    for first, (before, _) in enumerate(spent):
        saved = 0.0
        for last in range(first, min(first + 20, len(spent))):
            saved = max(saved, spent[last][1])
            assert last - first + 1 <= spent[last][0] - before + saved + 0.001
    if len(spent) < 300:
        assert len(spent) >= 0.9 * (due - max(1.0, periods[0][0])) - 1 - len(periods)


def test_a_new_bucket_is_empty() -> None:
    """A process that is killed and started again all the time makes no more requests than one that lives."""
    begun = 0
    for start in range(100):
        bucket = TokenBucket(10.0, float(start))
        for moment in range(10):
            room = bucket.room(start + moment / 10)
            begun += room
            for _ in range(room):
                bucket.begin(start + moment / 10)
    assert begun == 0

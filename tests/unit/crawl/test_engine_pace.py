"""A rate over all shards: never more requests in any second, and not many fewer than there may be."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.crawl.clock import Pace, SystemClock

DURATION = 40.0


def begun(rate: float, shards: int, chance: Random, slowest: float) -> list[float]:
    """When requests begin, if every shard always has some, and looks as often as the engine would."""
    times = []
    for shard in range(shards):
        now = 1e9 + chance.random() * 3
        end = now + DURATION
        pace = Pace(rate, now, shard, shards)
        while now < end:
            for _ in range(min(pace.room(now), 1000)):
                pace.begin(now)
                times.append(now)
            wake_at = now + 0.25 if pace.room(now) else min(pace.next_at(now), now + 0.25)
            now = max(wake_at, now + 0.0005) + chance.random() * slowest
    return sorted(times)


@given(
    st.one_of(st.floats(0.2, 12.0), st.integers(1, 40).map(float)), st.integers(1, 4), st.randoms(use_true_random=False)
)
def test_no_second_has_more_than_the_rate(rate: float, shards: int, chance: Random) -> None:
    """Of any second, wherever it begins; for a rate below one, of any such time as one request is due in."""
    times = begun(rate, shards, chance, slowest=0.02)
    most, window = (int(rate), 1.0) if rate >= 1 else (1, 1 / rate)
    for first, last in zip(times, times[most:], strict=False):
        assert last - first >= window


@pytest.mark.parametrize(("rate", "shards"), [(0.5, 1), (1.0, 2), (2.0, 3), (5.0, 1), (10.0, 2), (50.0, 2)])
def test_most_of_the_rate_is_used(rate: float, shards: int) -> None:
    """At least two thirds of it."""
    times = begun(rate, shards, Random(1), slowest=0.01)
    assert len(times) > rate * DURATION * 2 / 3


def test_no_rate_is_no_bound() -> None:
    """Zero: as many as there are slots."""
    pace = Pace(0.0, 0.0)
    pace.begin(0.0)
    assert pace.room(0.0) >= 100_000


def test_the_clock_never_runs_backwards() -> None:
    """Politeness is reckoned in it."""
    clock = SystemClock()
    times = [clock.now() for _ in range(1000)]
    assert times == sorted(times)

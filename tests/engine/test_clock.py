"""The clock of the crawl: what it says when the machine's clock is set while it runs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.engine.clock import RateLimiter, SystemClock, Timescale, TokenBucket

HOUR = 3600.0


class Machine:
    """The two clocks of a machine: `monotonic` counts on whatever happens, `wall` can be set."""

    def __init__(self, wall: float) -> None:
        self._wall = wall
        self._passed = 5000.0

    def wall(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._passed

    def run(self, seconds: float) -> None:
        self._wall += seconds
        self._passed += seconds

    def set(self, seconds: float) -> None:
        """Move the wall clock by `seconds`."""
        self._wall += seconds

    def clock(self, scale: Timescale | None = None) -> SystemClock:
        return SystemClock(scale, wall=self.wall, monotonic=self.monotonic)


def test_the_system_clock_is_posix_time_that_never_runs_backwards() -> None:
    """With the real clocks of this machine."""
    clock = SystemClock()
    before = time.time()
    times = [clock.now() for _ in range(1000)]
    assert times == sorted(times)
    assert before - 1.0 < times[0] < before + 1.0


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_durations_are_right_when_the_machines_clock_jumps(jump: float) -> None:
    """The process keeps the time that it started with; only a new one reads the clock again."""
    machine = Machine(1_700_000_000.0)
    clock = machine.clock()
    began_at = clock.now()
    machine.run(10.0)
    machine.set(jump)
    assert clock.now() - began_at == 10.0
    machine.run(5.0)
    assert clock.now() - began_at == 15.0
    assert clock.now() == 1_700_000_015.0
    assert machine.clock().now() == 1_700_000_015.0 + jump


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(-1e6, 1e6)), max_size=20))
def test_no_sequence_of_jumps_makes_time_run_backwards(steps: list[tuple[float, float]]) -> None:
    """However often the clock is set: readings never decrease, and their differences are what has passed."""
    machine = Machine(1_700_000_000.0)
    clock, passed = machine.clock(), 0.0
    times = [clock.now()]
    for seconds, jump in steps:
        machine.run(seconds)
        machine.set(jump)
        passed += seconds
        times.append(clock.now())
    assert times == sorted(times)
    assert times[-1] - times[0] == pytest.approx(passed, abs=1e-5)


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_virtual_time_does_not_jump_either(jump: float) -> None:
    """A lab at a hundred times the speed."""
    machine = Machine(1_700_000_000.0)
    clock = machine.clock(Timescale(real=1_700_000_000.0, virtual=50.0, speed=100.0))
    assert clock.now() == 50.0
    machine.set(jump)
    machine.run(2.0)
    assert clock.now() == 250.0


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_limits_hold_when_the_machines_clock_jumps(jump: float) -> None:
    """Neither a burst of requests nor an hour without any."""
    machine = Machine(1_700_000_000.0)
    clock = machine.clock()
    limits: list[RateLimiter | TokenBucket] = [RateLimiter(10.0, clock.now()), TokenBucket(10.0, clock.now())]
    started = [0, 0]
    for tick in range(100):
        machine.run(0.1)
        if tick == 50:
            machine.set(jump)
        for number, limit in enumerate(limits):
            room = limit.room(clock.now())
            started[number] += room
            for _ in range(room):
                limit.begin(clock.now())
    assert 80 <= started[0] <= 100
    assert 80 <= started[1] <= 100

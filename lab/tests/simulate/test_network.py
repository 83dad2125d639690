"""The network of the simulator: what a line carries, how it is shared, and that it equals a plain simulation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.hypothesis_depth import examples

from periplus_lab.simulate.network import FreeLine, NetworkSettings, SharedLine, line_of


class Fetch(Struct, frozen=True):
    """A fetch that begins at a time of its own, whatever others do."""

    at: float
    latency: float
    size: float
    speed: float


times = st.floats(0.0, 20.0, allow_nan=False).map(lambda value: round(value, 3))
fetches = st.lists(
    st.builds(
        Fetch,
        at=times,
        latency=st.floats(0.0, 5.0).map(lambda value: round(value, 3)),
        size=st.integers(1, 100_000).map(float),
        speed=st.integers(100, 50_000).map(float),
    ),
    min_size=1,
    max_size=12,
)


def ends(line: FreeLine | SharedLine, wanted: list[Fetch]) -> list[float]:
    """When each fetch ends on a line, if a crawler begins each in its time."""
    ended = [math.nan] * len(wanted)
    coming = sorted(range(len(wanted)), key=lambda number: wanted[number].at, reverse=True)
    under_way = 0
    while coming or under_way:
        begins_at = wanted[coming[-1]].at if coming else math.inf
        now = line.next_at
        if begins_at <= now:
            number = coming.pop()
            each = wanted[number]
            line.begin(number, each.at, each.latency, each.size, each.speed)
            under_way += 1
            continue
        slot = line.end()
        if slot is not None:
            ended[slot] = now
            under_way -= 1
    return ended


def shared(bandwidth: float, speeds: list[float]) -> list[float]:
    """Max-min fair rates by raising all of them together, until each or the line is at its end."""
    rates = [0.0] * len(speeds)
    open_to_more = set(range(len(speeds)))
    left = bandwidth
    while open_to_more and left > 1e-9 * bandwidth:
        step = min(left / len(open_to_more), *(speeds[number] - rates[number] for number in open_to_more))
        for number in open_to_more:
            rates[number] += step
        left -= step * len(open_to_more)
        open_to_more = {number for number in open_to_more if speeds[number] - rates[number] > 1e-9 * speeds[number]}
    return rates


def plainly(bandwidth: float, wanted: list[Fetch]) -> list[float]:
    """The same from first principles: from event to event, everyone's bytes at everyone's rate."""
    ended = [math.nan] * len(wanted)
    left = [each.size for each in wanted]
    now = 0.0
    while any(math.isnan(end) for end in ended):
        flowing = [
            number for number, each in enumerate(wanted) if math.isnan(ended[number]) and each.at + each.latency <= now
        ]
        rates = shared(bandwidth, [wanted[number].speed for number in flowing])
        starts = [each.at + each.latency for each in wanted if each.at + each.latency > now]
        finishes = [now + left[number] / rate for number, rate in zip(flowing, rates, strict=True)]
        until = min(starts + finishes)
        for number, rate, finish in zip(flowing, rates, finishes, strict=True):
            left[number] -= rate * (until - now)
            if finish <= until:
                ended[number] = finish
        now = until
    return ended


@given(fetches, st.integers(100, 200_000).map(float))
def test_a_shared_line_equals_a_plain_simulation(wanted: list[Fetch], bandwidth: float) -> None:
    """Every fetch ends when a fluid simulation from first principles says."""
    got = ends(SharedLine(bandwidth, len(wanted)), wanted)
    assert got == pytest.approx(plainly(bandwidth, wanted), rel=1e-6, abs=1e-6)


@given(fetches)
def test_a_line_that_is_never_full_is_not_a_line(wanted: list[Fetch]) -> None:
    """A shared line that carries all there is equals a free one: latency and size over the site's speed."""
    alone = [each.at + each.latency + each.size / each.speed for each in wanted]
    assert ends(FreeLine(), wanted) == pytest.approx(alone)
    assert ends(SharedLine(1e9, len(wanted)), wanted) == pytest.approx(alone)


@given(fetches, st.integers(100, 50_000).map(float))
def test_no_byte_is_lost_or_made(wanted: list[Fetch], bandwidth: float) -> None:
    """All bytes take at least their sum over the bandwidth, and no fetch takes less than it would alone."""
    got = ends(SharedLine(bandwidth, len(wanted)), wanted)
    first = min(each.at + each.latency for each in wanted)
    assert max(got) - first >= sum(each.size for each in wanted) / bandwidth * (1 - 1e-9)
    for each, end in zip(wanted, got, strict=True):
        assert end >= each.at + each.latency + each.size / min(each.speed, bandwidth) - 1e-6


@given(st.lists(st.tuples(st.integers(1, 100_000), st.integers(100, 50_000)), min_size=1, max_size=20))
def test_a_full_line_stays_full(pages: list[tuple[int, int]]) -> None:
    """While there is enough to send, the line is used whole: the last fetch ends with the last byte."""
    wanted = [Fetch(0.0, 0.0, float(size), 1e6) for size, _ in pages]
    got = ends(SharedLine(1000.0, len(wanted)), wanted)
    assert max(got) == pytest.approx(sum(size for size, _ in pages) / 1000.0)


@settings(max_examples=examples(15))
@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 100_000), st.integers(100, 50_000)), min_size=1, max_size=20))
def test_one_after_the_other_takes_the_sum(pages: list[tuple[float, int, int]]) -> None:
    """With one connection nothing is shared: the time of all is the sum of the times of each."""
    line, now = SharedLine(20_000.0, 1), 0.0
    for latency, size, speed in pages:
        line.begin(0, now, latency, float(size), float(speed))
        slot = None
        while slot is None:
            now = line.next_at
            slot = line.end()
    expected = sum(latency + size / min(speed, 20_000.0) for latency, size, speed in pages)
    assert now == pytest.approx(expected)


def test_who_cannot_use_his_part_leaves_it_to_others() -> None:
    """Max-min fairness: 1,000 bytes a second among speeds of 100, 10,000 and 10,000 are 100, 450 and 450."""
    wanted = [Fetch(0.0, 0.0, 1000.0, 100.0), Fetch(0.0, 0.0, 4500.0, 10_000.0), Fetch(0.0, 0.0, 4500.0, 10_000.0)]
    assert ends(SharedLine(1000.0, 3), wanted) == pytest.approx([10.0, 10.0, 10.0])


def test_bytes_flow_in_their_time_although_others_begin_later() -> None:
    """A fetch that is asked for while another waits for its first byte is not kept until that comes."""
    late, soon = Fetch(0.0, 5.0, 1000.0, 1000.0), Fetch(1.0, 0.5, 1000.0, 1000.0)
    assert ends(SharedLine(1e6, 2), [late, soon]) == pytest.approx([6.0, 2.5])


def test_the_settings_choose_the_line() -> None:
    """Without a bandwidth there is nothing to share."""
    assert isinstance(line_of(NetworkSettings()), FreeLine)
    assert isinstance(line_of(NetworkSettings(bandwidth=1e6)), SharedLine)
    assert line_of(NetworkSettings(bandwidth=1e6)).next_at == math.inf

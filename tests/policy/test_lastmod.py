"""Signals: which moved dates speak of a version that we have not seen."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.model import Granularity, Lastmod
from periplus.policy.lastmod import floor_to, is_plausible, is_signal

DAY = 86_400.0
HOUR = 3_600.0


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


VISIT = at("2026-03-14T12:00:00")


def second(text: str) -> Lastmod:
    return Lastmod(at(text), Granularity.SECOND)


@each_case(
    ("lastmod", "now", "answer"),
    [
        (second("2026-03-14T13:00:00"), VISIT + 2 * HOUR, True),
        (second("2026-03-14T11:00:00"), VISIT + 2 * HOUR, False),  # it describes what we fetched
        (second("2026-03-14T12:01:00"), VISIT + 4 * 60, True),  # soon after, and later all the same
        (Lastmod(at("2026-03-14"), Granularity.DAY), VISIT + 4 * 60, False),  # more likely what we fetched
        (second("2026-03-16T12:00:00"), VISIT + 2 * HOUR, False),  # the day after tomorrow
        (Lastmod(at("2026-03-14"), Granularity.DAY), VISIT + 2 * HOUR, True),  # the same day may be later that day
        (Lastmod(at("2026-03-13"), Granularity.DAY), VISIT + 2 * HOUR, False),
        (Lastmod(at("2026-03-01"), Granularity.MONTH), VISIT + 2 * HOUR, True),
        (Lastmod(at("2026-02-01"), Granularity.MONTH), VISIT + 2 * HOUR, False),
        (Lastmod(at("2026-01-01"), Granularity.YEAR), VISIT + 2 * HOUR, True),
    ],
)
def test_signal_is_later_than_the_visit_as_far_as_one_can_tell(lastmod: Lastmod, now: float, answer: bool) -> None:
    """A moved date counts if the period it names does not lie before our visit, and one that may, not just after."""
    assert is_signal(0.0, lastmod, VISIT, now) is answer


def test_only_forward_moves_of_visited_pages_are_signals() -> None:
    """A date that stands still or moves back says nothing; nor does any date of a page we never fetched."""
    moved = second("2026-03-14T20:00:00")
    later = VISIT + DAY
    assert is_signal(moved.at - 1, moved, VISIT, later)
    assert not is_signal(moved.at, moved, VISIT, later)
    assert not is_signal(moved.at + 1, moved, VISIT, later)
    assert not is_signal(0.0, moved, None, later)


@given(st.floats(-1e11, 1e12), st.sampled_from(list(Granularity)))
def test_floors_are_beginnings(moment: float, granularity: Granularity) -> None:
    """The beginning of a period is not after what it holds, not more than a period before, and its own beginning."""
    start = floor_to(moment, granularity)
    assert start <= moment
    assert moment - start <= granularity.seconds or start == moment
    assert floor_to(start, granularity) == start


def test_a_day_of_grace_for_wrong_clocks() -> None:
    """Later than a day from now cannot be; nor can what is not a number."""
    assert is_plausible(Lastmod(1000.0 + DAY, Granularity.DAY), 1000.0)
    assert not is_plausible(Lastmod(1001.0 + DAY, Granularity.DAY), 1000.0)
    assert not is_plausible(Lastmod(float("nan"), Granularity.DAY), 1000.0)

"""Needless requests, and a table of visits that stays small."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus_sites.logs.findings import ChangeTimes, VisitTable, min_needless


@each_case(("changes", "requests", "needless"), [(5, 10, 4), (0, 5, 4), (9, 10, 0), (20, 10, 0), (0, 1, 0), (0, 0, 0)])
def test_min_needless_is_that_of_the_paper(changes: int, requests: int, needless: int) -> None:
    assert min_needless(changes, requests) == needless


def test_changes_are_found_between_two_visits() -> None:
    times = ChangeTimes({"/a": [10.0, 20.0, 30.0]}, since=0.0)
    assert times.between("/a", 10.0, 19.0) is None
    assert times.between("/a", 10.0, 20.0) == 20.0
    assert times.between("/a", 0.0, 100.0) == 10.0
    assert times.between("/b", 0.0, 100.0) is None


def test_every_url_is_tracked_below_the_limit() -> None:
    table = VisitTable(most=100)
    for number in range(99):
        assert table.visits("bot", f"/{number}") is not None
    assert table.scale == 1
    assert len(list(table.items())) == 99


def test_above_the_limit_a_sample_estimates_the_sums() -> None:
    """The table stays below its limit, and scaled sums are near the truth; the checksum makes this repeatable."""
    table, urls = VisitTable(most=2_000), 50_000
    for turn in range(2):
        for number in range(urls):
            visits = table.visits("bot", f"/page/{number}")
            if visits is not None:
                visits.requests += 1
                visits.repeated += turn
    tracked = [visits for _, _, visits in table.items()]
    assert len(tracked) < 2_000
    assert table.scale >= 32
    assert sum(visits.requests for visits in tracked) * table.scale == pytest.approx(2 * urls, rel=0.1)
    assert sum(visits.repeated for visits in tracked) * table.scale == pytest.approx(urls, rel=0.1)

"""Watches of three kinds of sites under faults in virtual time, shorter than those in docs/reliability.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.lab_day import LabDay, held

from periplus.engine.revisit import crawl_value, fresh_share

MOST_OBJECTS = 12e6
"""Bytes that the objects of a watch of some 500 pages take at most, whatever its age."""
MOST_GROWTH = 0.3e6
"""Bytes by which they may grow in a day of 1,000 requests: most are the index of the archive, 60 KB for 1,000 lines."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["manual", "news", "shop"])
def test_two_days_of_a_watch_keep_every_visit_and_grow_no_larger(tmp_path: Path, kind: str) -> None:
    """The run itself judges servers and tables. For weeks: `python -m tests.faults.lab_day --days 28 --kind news`."""
    watch = LabDay(tmp_path, 48.0, 20_002, kind)
    watch.run()
    assert watch.rows > 500
    assert watch.lost < 0.05 * watch.rows
    assert [day.day for day in watch.days] == [1.0, 2.0]
    assert all(day.objects < MOST_OBJECTS for day in watch.days)
    within = sum(hour.is_held for hour in watch.found)
    assert within >= 0.8 * len(watch.found), "hours follow each other: they are not independent"


@pytest.mark.slow
def test_objects_do_not_grow_from_day_to_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one life, with few tables of visit values: by default they grow for weeks, to 5 MB.

    Freshness is not estimated: that takes most of the time, and keeps nothing.
    """
    monkeypatch.setattr(crawl_value, "_MOST_ROWS", 64)
    monkeypatch.setattr(fresh_share, "fresh_share", lambda *_, **__: fresh_share.FreshShare(0.5, 0.0, 1.0))
    watch = LabDay(tmp_path, 48.0, None, "news")
    watch.run()
    assert watch.rows > 2_000
    first, last = (day.objects for day in watch.days)
    assert last < first + MOST_GROWTH


def test_what_an_object_holds_is_measured_once() -> None:
    """Code is left out."""
    text = "x" * 1_000
    assert 1_000 < held([text]) < 1_500
    assert held([text, text]) < held([text]) + 100
    assert held([text, len]) < held([text]) + 200

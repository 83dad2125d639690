"""Dates in URLs, and which of them are too far ahead."""

from __future__ import annotations

import pytest

from periplus.model import Accept, Discovery, Reject, Source, Url
from periplus.policy.filters.calendars import Calendars
from periplus.policy.filters.site_states import FilterStates

NOW = 1_767_571_200.0
"""5 January 2026."""


def found(path: str) -> Discovery:
    return Discovery(Url(f"http://a.net{path}"), Source.LINK, NOW)


@pytest.mark.parametrize(
    ("near", "path", "is_refused"),
    [
        ("/2026/01/", "/2027/03/", True),
        ("/2026/01/", "/2027/01/", False),
        ("/2026/01/", "/1950/12/", False),
        ("/e?month=1&year=2026", "/e?month=3&year=2027", True),
        ("/d/2026-01-07", "/d/2027-03-01", True),
        ("/other", "/2027/03/", False),
    ],
)
def test_dates_far_ahead_are_refused_where_nearer_ones_are_known(near: str, path: str, is_refused: bool) -> None:
    calendars = Calendars(FilterStates())
    assert isinstance(calendars.judge(found(path)), Accept)
    calendars.admit(found(near))
    verdict = calendars.judge(found(path))
    assert isinstance(verdict, Reject) == is_refused

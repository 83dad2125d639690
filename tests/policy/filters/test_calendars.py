"""Dates in URLs: which are too far ahead, and what tells a calendar from an archive."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.each_case import each_case
from tests.verdicts.world_crawl import WorldCrawl, hurried

from periplus.model import Accept, Discovery, Reject, Source, Url
from periplus.policy.filters.calendars import CALENDAR_DAYS, MAX_TEMPLATES, Calendars
from periplus.policy.filters.site_states import FilterStates
from periplus_lab.spam_web import HostileWorld
from periplus_lab.spam_web.dust import Calendars as LabCalendars

NOW = 1_767_571_200.0
"""5 January 2026."""
DAY = 86_400.0


def found(path: str) -> Discovery:
    return Discovery(Url(f"http://a.net{path}"), Source.LINK, NOW)


@each_case(
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


def dates(first: int, last: int, form: str = "/%Y/%m/%d/", step: int = 1) -> list[Discovery]:
    """URLs for days of a span, counted from now."""
    days = [datetime.fromtimestamp(NOW + number * DAY, UTC) for number in range(first, last, step)]
    return [found(day.strftime(form)) for day in days]


def refused(calendars: Calendars, urls: list[Discovery]) -> int:
    return sum(isinstance(calendars.judge(each), Reject) for each in urls)


@pytest.mark.parametrize("form", ["/%Y/%m/%d/", "/day/%Y-%m-%d.html", "/view?d=%Y-%m-%d"])
def test_a_month_of_days_ahead_makes_a_calendar_of_which_a_sample_is_kept(form: str) -> None:
    calendars = Calendars(FilterStates())
    for each in dates(-10, 32 + CALENDAR_DAYS - 1, form):
        calendars.admit(each)
    past, near = dates(-1000, -31, form), dates(-31, 32, form)
    assert refused(calendars, past) == 0
    calendars.admit(dates(60, 61, form)[0])
    assert 0.85 < refused(calendars, past) / len(past) < 0.95
    assert refused(calendars, near) == 0


def test_months_ahead_make_a_calendar_sooner() -> None:
    calendars = Calendars(FilterStates())
    for month in range(1, 10):
        calendars.admit(found(f"/e?month={month}&year=2026"))
    past = [found(f"/e?month={month}&year={year}") for year in range(1990, 2025) for month in range(1, 13)]
    assert 0.85 < refused(calendars, past) / len(past) < 0.95


@pytest.mark.parametrize("form", ["/%Y/%m/%d/", "/%Y/%m/%d/a-day-at-sea"])
def test_archives_and_named_events_keep_every_page(form: str) -> None:
    """A newspaper has no dates ahead; what has a name after its date is an article or an event."""
    calendars = Calendars(FilterStates())
    until = 100 if form.endswith("sea") else 31
    for each in dates(-100, until, form):
        calendars.admit(each)
    assert refused(calendars, dates(-30_000, until, form, 30)) == 0


def test_what_makes_a_calendar_is_stored_and_bounded() -> None:
    states = FilterStates()
    calendars = Calendars(states)
    for each in dates(-10, 390):
        calendars.admit(each)
    for number in range(3 * MAX_TEMPLATES):
        calendars.admit(found(f"/{'abcdefghij'[number % 10]}{'k' * (number // 10)}/2026/05/"))
    [(_, state)] = states.changed()
    assert len(state.dated) == len(state.ahead) == MAX_TEMPLATES
    assert max(map(len, state.ahead.values())) <= CALENDAR_DAYS


@pytest.mark.parametrize("host", LabCalendars.hosts)
def test_every_calendar_of_the_lab_ends(host: str) -> None:
    """Empty, with events on every day, and by parameters: each goes on for centuries in both directions."""
    world = HostileWorld(7, 2, pages=20, parts=(LabCalendars,))
    crawl = WorldCrawl(world, [f"http://{host}/"], hurried(scope__kind="host"), limit=400).run()
    assert 10 < len(crawl.fetched) <= 150

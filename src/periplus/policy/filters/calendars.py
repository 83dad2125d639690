"""Bounds calendars: they go on for centuries in both directions, and their pages may all differ.

Reason: `calendar`.

* A URL with a date in its path (`/2027/03/`, `2027-03-01`) or its query (`month=3&year=2027`) that is more than 400
  days after it was found is refused, once a URL of the same template with a nearer date was admitted.
* A template whose URLs end with the date, but for words in the query (`?from=2027-03-01&view=week`), and of which 28
  days or 6 months lie more than a month ahead, is a *calendar*: a program writes such dates whether something happens
  or not. Its URLs within a month are kept; of the others, past or future, one in ten is let through, chosen by a hash
  of the URL, which breaks the chain of months.

Newspapers and other archives have no dates ahead and keep all their pages; where only the past is without an end,
`traps` decides by the contents. An article or an event with a name after its date is never thinned out. Seeds are
exempt. The time is that of the discovery.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from periplus.model import Discovery, Reject, Source, Url, Verdict

from .reasons import ACCEPT
from .site_states import FilterStates, SiteFilterState
from .templates import key_of, template_of

AHEAD: Final = 400
"""Days after which a date is far: more than a year, so that next year's events are read."""
NEAR: Final = 31
"""Days before and after the present that a calendar keeps in full: what people look up, at about 60 pages."""
CALENDAR_DAYS: Final = 28
"""Different days further ahead that make a calendar of a template: about a month without gaps."""
CALENDAR_MONTHS: Final = 6
"""The same for templates that name months: programmes and timetables seldom reach further than half a year."""
MAX_TEMPLATES: Final = 64
"""Templates with dates that are stored for each site."""
_KEPT: Final = 2**64 // 10
"""Hashes below this are let through: one in ten, as in the first step of `traps`."""
_DAY: Final = 86_400.0
_PATH: Final = re.compile(r"[/=-]([12]\d{3})([/-])(\d\d?)(?:\2(\d\d?))?(?![\d])", re.ASCII)
_ENDS: Final = re.compile(r"/?(?:\.\w{1,5}|index\.\w{1,5})?(?:\?|(?:&[\w.-]+=[A-Za-z_-]{0,16})*\Z)", re.ASCII)
"""What may follow a date with which a path ends, or in a query: parameters without figures, such as `view=week`."""
_YEAR: Final = re.compile(r"[?&]year=(\d{4})(?!\d)", re.ASCII)
_MONTH: Final = re.compile(r"[?&]month=(\d\d?)(?!\d)", re.ASCII)


class Dated(NamedTuple):
    """The date of a URL: POSIX seconds, whether a day is named or a month, and whether the path goes on behind it."""

    at: float
    is_day: bool
    is_last: bool


def date_in(url: Url) -> Dated | None:
    """The date that a URL names; the first day of a month; `None` if it names none."""
    found = _PATH.search(url, 8)
    if found is not None:
        at = _at(int(found[1]), int(found[3]), int(found[4] or 1))
        return None if at is None else Dated(at, found[4] is not None, _ENDS.match(url, found.end()) is not None)
    year = _YEAR.search(url) if "year=" in url else None
    month = None if year is None else _MONTH.search(url)
    at = None if year is None or month is None else _at(int(year[1]), int(month[1]), 1)
    return None if at is None else Dated(at, is_day=False, is_last=True)


def _at(year: int, month: int, day: int) -> float | None:
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


class Calendars:
    """Refuses URLs of calendars that name a date far in the future, and most that name one far from the present."""

    def __init__(self, states: FilterStates) -> None:
        self._states = states

    def concerns(self, state: SiteFilterState) -> bool:
        """Whether a template of a site is known for dates."""
        return bool(state.dated)

    def judge(self, discovery: Discovery) -> Verdict:
        """Judge a URL by its date, if its template is known for dates."""
        state = self._states.about(discovery.url)
        if not state.dated or discovery.source is Source.SEED:
            return ACCEPT
        date = date_in(discovery.url)
        if date is None or abs(date.at - discovery.found_at) <= NEAR * _DAY:
            return ACCEPT
        template = template_of(discovery.url)
        key = key_of(template)
        is_far = date.at > discovery.found_at + AHEAD * _DAY and key in state.dated
        if is_far or (date.is_last and _is_calendar(state, key, date) and key_of(discovery.url) >= _KEPT):
            return Reject("calendar", template[:200])
        return ACCEPT

    def admit(self, discovery: Discovery) -> Verdict:
        """Remember templates with a date near the present, and which dates lie ahead."""
        date = date_in(discovery.url)
        if date is None or abs(date.at - discovery.found_at) > AHEAD * _DAY:
            return ACCEPT
        key = key_of(template_of(discovery.url))
        state = self._states.about(discovery.url)
        if key not in state.dated:
            state = self._states.changing(discovery.url)
            state.dated = [*state.dated[-MAX_TEMPLATES + 1 :], key]
        if date.is_last and date.at > discovery.found_at + NEAR * _DAY and not _is_calendar(state, key, date):
            _note_ahead(self._states.changing(discovery.url), key, int(date.at // _DAY))
        return ACCEPT

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Judge a URL again in the same way as when it was found."""
        return self.judge(discovery)


def _is_calendar(state: SiteFilterState, key: int, date: Dated) -> bool:
    return len(state.ahead.get(key, ())) >= (CALENDAR_DAYS if date.is_day else CALENDAR_MONTHS)


def _note_ahead(state: SiteFilterState, key: int, day: int) -> None:
    days = state.ahead.get(key)
    if days is None:
        while len(state.ahead) >= MAX_TEMPLATES:
            del state.ahead[next(iter(state.ahead))]
        days = state.ahead[key] = []
    if day not in days:
        days.append(day)

"""Refuses dates far in the future: calendars go on for centuries, and their pages may all differ.

Reason: `calendar`.

A URL with a date in its path (`/2027/03/`, `2027-03-01`) or its query (`month=3&year=2027`) that is more than 400
days after it was found is refused, once a URL of the same template with a nearer date was admitted. Dates in the past
are left to `traps`: newspapers keep their archives. Seeds are exempt. The time is that of the discovery.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from ...model import Discovery, Reject, Source, Url, Verdict
from .site_states import FilterStates
from .templates import key_of, template_of
from .verdicts import ACCEPT

AHEAD: Final = 400
"""Days after which a date is far: more than a year, so that next year's events are read."""
MAX_TEMPLATES: Final = 64
"""Templates with dates that are stored for each site."""
_DAY: Final = 86_400.0
_PATH: Final = re.compile(r"[/=-]([12]\d{3})([/-])(\d\d?)(?:\2(\d\d?))?(?![\d])", re.ASCII)
_YEAR: Final = re.compile(r"[?&]year=(\d{4})(?!\d)", re.ASCII)
_MONTH: Final = re.compile(r"[?&]month=(\d\d?)(?!\d)", re.ASCII)


def date_in(url: Url) -> float | None:
    """The date that a URL names, as POSIX seconds; the first day of a month; `None` if it names none."""
    found = _PATH.search(url, 8)
    if found is not None:
        return _at(int(found[1]), int(found[3]), int(found[4] or 1))
    year, month = _YEAR.search(url), _MONTH.search(url)
    return None if year is None or month is None else _at(int(year[1]), int(month[1]), 1)


def _at(year: int, month: int, day: int) -> float | None:
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


class Calendars:
    """Refuses URLs of calendars that name a date far in the future."""

    def __init__(self, states: FilterStates) -> None:
        self._states = states

    def judge(self, discovery: Discovery) -> Verdict:
        """By the date of the URL, if its template is known for dates."""
        dated = self._states.about(discovery.url).dated
        if not dated or discovery.source is Source.SEED:
            return ACCEPT
        at = date_in(discovery.url)
        if at is None or at <= discovery.found_at + AHEAD * _DAY:
            return ACCEPT
        template = template_of(discovery.url)
        return Reject("calendar", template[:200]) if key_of(template) in dated else ACCEPT

    def admit(self, discovery: Discovery) -> Verdict:
        """Remember templates with a date near the present."""
        at = date_in(discovery.url)
        if at is not None and abs(at - discovery.found_at) <= AHEAD * _DAY:
            key = key_of(template_of(discovery.url))
            if key not in self._states.about(discovery.url).dated:
                state = self._states.changing(discovery.url)
                state.dated = [*state.dated[-MAX_TEMPLATES + 1 :], key]
        return ACCEPT

    def reconsider(self, discovery: Discovery) -> Verdict:
        """As when it was found."""
        return self.judge(discovery)

    def observe(self, url: Url, is_unique: bool) -> None:
        """What pages say does not matter."""

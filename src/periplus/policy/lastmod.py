"""When the `lastmod` of a sitemap is a signal that a page has changed since it was fetched."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from periplus.model import Granularity, Lastmod

_SECONDS_PER_DAY = 86400.0
_FIRST_SECOND, _LAST_SECOND = -62135596800.0, 253402300799.0
"""Where the calendar of datetime begins and ends."""


SETTLING = 300.0
"""Seconds after a visit in which a date that may be older than the visit is taken to describe what was fetched."""


def floor_to(at: float, granularity: Granularity) -> float:
    """The beginning of the period of that length which holds this time (UTC)."""
    if granularity >= Granularity.DAY:
        period = granularity.seconds
        return at if not period else at // period * period
    if not _FIRST_SECOND <= at <= _LAST_SECOND:
        return at
    moment = datetime.fromtimestamp(math.floor(at), UTC)  # which would round to the nearest microsecond
    month = 1 if granularity is Granularity.YEAR else moment.month
    return datetime(moment.year, month, 1, tzinfo=UTC).timestamp()


def is_plausible(lastmod: Lastmod, now: float) -> bool:
    """Whether a time can be: not later than a day from now (clocks and zones are set wrongly, but not more)."""
    return lastmod.at <= now + _SECONDS_PER_DAY


def is_signal(before: float, lastmod: Lastmod, visited_at: float | None, now: float) -> bool:
    """Whether an entry's `lastmod`, which was `before`, shows that the page changed since we fetched it.

    A time later than our visit always counts. A `lastmod` that moved may also describe the version that we fetched: the
    page changed, we fetched it, and only then was its sitemap written. So one whose granularity leaves open whether it
    is later (a date alone, of the day of our visit) counts unless it is read soon after the visit (`SETTLING`). How
    often signals are right is learnt, not assumed (the noisy change-indicating signals of Busa-Fekete et al., WWW 2025,
    arXiv 2502.02430). A page that was never fetched has no signals.
    """
    if visited_at is None or not is_plausible(lastmod, now) or not lastmod.at > before:
        return False
    if lastmod.at > visited_at:
        return True
    return lastmod.at >= floor_to(visited_at, lastmod.granularity) and now - visited_at > SETTLING

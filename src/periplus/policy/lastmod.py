"""When the `lastmod` of a sitemap is a signal that a page has changed since it was fetched."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from msgspec import Struct

from periplus.model import Granularity, Lastmod

_SECONDS_PER_DAY = 86400.0
_FIRST_SECOND, _LAST_SECOND = -62135596800.0, 253402300799.0
"""Where the calendar of datetime begins and ends."""


class SignalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a `lastmod` that moved counts as evidence of a later version."""

    least_delay: float = 300.0
    """Seconds after a visit in which signals are taken to describe what was fetched."""
    trust: float = 0.5
    """The expected share of right signals, before any was seen to be right or wrong."""
    generated_trust: float = 0.05
    """The same for a file whose times are those of its generation."""

    def delay(self, poll_interval: float) -> float:
        """T_delay: half the time between two readings of the file, but not less than that."""
        return max(self.least_delay, poll_interval / 2)

    def prior(self, is_generated: bool) -> float:
        """The initial trust in a file's signals."""
        return self.generated_trust if is_generated else self.trust


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


def is_signal(
    before: float,
    lastmod: Lastmod,
    visited_at: float | None,
    now: float,
    poll_interval: float,
    settings: SignalSettings,
) -> bool:
    """Whether an entry's `lastmod`, which was `before`, shows that the page changed since we fetched it.

    A `lastmod` that moved may describe the version that we fetched: the page changed, we fetched it, and only then was
    its sitemap written. So it counts only if it is not older than our visit, as far as its granularity shows, and is
    not read soon after the visit. A date alone has a granularity of a day, so the day of our visit counts. How often
    signals are right is learnt, not assumed (the noisy change-indicating signals of Busa-Fekete et al., WWW 2025, arXiv
    2502.02430). A page that was never fetched has no signals.
    """
    if visited_at is None or not is_plausible(lastmod, now) or not lastmod.at > before:
        return False
    is_later = lastmod.at >= floor_to(visited_at, lastmod.granularity)
    return is_later and now - visited_at > settings.delay(poll_interval)

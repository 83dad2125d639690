"""Which `lastmod` is a sign that a page changed since we fetched it.

A `lastmod` that moved may describe what we fetched already: the page changed, we came, and only then was its sitemap
written. So a signal counts only if it is not older than our visit, as far as its granularity tells, and if it does not
come just after it. How often signals are right is learnt, not assumed (the noisy change-indicating signals of
Busa-Fekete et al., WWW 2025, arXiv 2502.02430). A date alone has a granularity of a day: equality with the
day of our visit counts, and the lower precision is learnt too.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from msgspec import Struct

from ...model import Granularity, Lastmod

_DAY = 86400.0
_FIRST, _LAST = -62135596800.0, 253402300799.0
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
    if not _FIRST <= at <= _LAST:
        return at
    moment = datetime.fromtimestamp(math.floor(at), UTC)  # which would round to the nearest microsecond
    month = 1 if granularity is Granularity.YEAR else moment.month
    return datetime(moment.year, month, 1, tzinfo=UTC).timestamp()


def is_plausible(lastmod: Lastmod, now: float) -> bool:
    """Whether a time can be: not later than a day from now (clocks and zones are set wrongly, but not more)."""
    return lastmod.at <= now + _DAY


def is_signal(
    before: float,
    lastmod: Lastmod,
    visited_at: float | None,
    now: float,
    poll_interval: float,
    settings: SignalSettings,
) -> bool:
    """Whether an entry's `lastmod`, which was `before`, says that the page changed since we fetched it.

    Of a page that was never fetched nothing can have changed.
    """
    if visited_at is None or not is_plausible(lastmod, now) or not lastmod.at > before:
        return False
    is_later = lastmod.at >= floor_to(visited_at, lastmod.granularity)
    return is_later and now - visited_at > settings.delay(poll_interval)

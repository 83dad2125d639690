"""When to read a sitemap again: by its own change rate, and by the dates in its index.

A file is polled like a page ("apply the same techniques Discovery crawl uses", Schonfeld & Shivakumar 2009, section
6): changes are taken for Poisson, and the rate is a Gamma posterior in two numbers, updated in the manner of EM from
"changed or not after so long" (`Rate`). The next visit is due when a change is as likely as `chance`.

An index says when its files changed, and is "not yet consistently trustworthy" (the same). So what it says is a signal
whose worth is learnt for each index (`IndexTrust`): how often a file had changed when its date had moved, and at what
rate files change whose date stands still. Where an index is honest that rate falls towards nothing, and files that it
says nothing of are let be. An index that grows like a log shows the same within two readings: then only its new end is
read.

Every interval lies between `shortest` and `longest`, so that whatever was misjudged is found out.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import ConfigError

DAY = 86400.0
_LOG_READINGS = 2
"""Visits in a row in which an index must have grown like a log before it counts as one."""
_MOST_EXPECTED = 60.0
"""Changes expected in an interval, beyond which one more makes no difference (and exp() would still be fine)."""


class RevisitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When sitemap files are read again. Times are in seconds."""

    chance: float = 0.5
    """Probability of a change at which a file is read again."""
    shortest: float = 3600.0
    """Minimum time between two visits of a file."""
    longest: float = 30 * DAY
    """Maximum time between two visits of a file."""
    memory: float = 50.0
    """Visits after which an observation counts half."""
    believable: float = 0.2
    """Minimum precision of an index's dates for a file to be read as soon as its date moves."""

    def __post_init__(self) -> None:
        """Refuse intervals and chances that cannot be."""
        if not 0.0 < self.shortest <= self.longest:
            raise ConfigError(
                f"shortest is {self.shortest} and longest is {self.longest} seconds",
                hint="`shortest` must be above 0, and `longest` not less than `shortest`",
            )
        if not 0.0 < self.chance < 1.0 or self.memory <= 0.0:
            raise ConfigError(
                f"chance is {self.chance} and memory is {self.memory} visits",
                hint="`chance` must be above 0 and below 1, and `memory` above 0",
            )


class Rate(Struct, frozen=True, array_like=True, gc=False):
    """A change rate: Gamma(`changes`, `days`), one number for the changes and one for the time they took."""

    changes: float = 0.5
    days: float = 0.5

    @property
    def per_day(self) -> float:
        """The mean."""
        return self.changes / self.days

    def observed(self, is_changed: bool, seconds: float, memory: float = math.inf) -> Rate:
        """Update after a visit. A change may have been several: as many as are expected given at least one."""
        days = max(seconds, 0.0) / DAY
        if not days:
            return self
        keep = 0.5 ** (1.0 / memory)
        expected = self.per_day * days
        if not is_changed:
            found = 0.0
        elif expected > _MOST_EXPECTED:
            found = expected
        else:
            found = expected / -math.expm1(-expected) if expected else 1.0
        return Rate(keep * self.changes + found, keep * self.days + days)


FIRST_RATE = Rate()
"""About once a day, and quickly persuaded otherwise."""


class IndexTrust(Struct, frozen=True, array_like=True, gc=False):
    """How reliable the dates of an index are: what visits found when a date had moved, and when it had not."""

    right: int = 0
    wrong: int = 0
    silent: Rate = Rate(0.5, 1.0)
    """The change rate of files whose date did not move."""
    appended: int = 0
    """Readings in a row in which it grew like a log."""

    @property
    def precision(self) -> float:
        """How likely a file has changed when its date has moved: the mean of Beta(1,1) and what was seen."""
        return (self.right + 1) / (self.right + self.wrong + 2)

    @property
    def is_log(self) -> bool:
        """Whether what is older than its end is left alone."""
        return self.appended >= _LOG_READINGS

    def learnt(self, was_hinted: bool, is_changed: bool, seconds: float) -> IndexTrust:
        """After a visit to one of its files, given the time since the one before."""
        if was_hinted:
            return replace(self, right=self.right + is_changed, wrong=self.wrong + (not is_changed))
        return replace(self, silent=self.silent.observed(is_changed, seconds))

    def read_again(self, is_changed: bool, is_appended: bool) -> IndexTrust:
        """After a reading of the index itself."""
        if not is_changed:
            return self
        return replace(self, appended=self.appended + 1 if is_appended else 0)


NO_TRUST = IndexTrust()


def interval(
    rate: Rate, settings: RevisitSettings, trust: IndexTrust | None = None, *, is_hinted: bool = False
) -> float:
    """Seconds from one visit to the next.

    `trust` is that of the index which dates this file, None where none does; `is_hinted`: it has given it a new date
    since.
    """
    if trust is not None:
        if is_hinted:
            if trust.precision >= settings.believable:
                return settings.shortest
        elif trust.is_log:
            return settings.longest
        elif trust.silent.per_day < rate.per_day:
            rate = trust.silent
    wait = -math.log1p(-settings.chance) / rate.per_day * DAY if rate.per_day else math.inf
    return min(max(wait, settings.shortest), settings.longest)

"""Adaptive intervals: a reimplementation of Nutch's adaptive fetch schedule, for comparison.

After a change the interval shrinks by a fifth, otherwise it grows by two fifths, within a shortest and a longest
interval. Nothing is estimated and there is no budget: where more is due than can be fetched, the most overdue page
comes first.
"""

from __future__ import annotations

from msgspec import Struct

from .evidence import DAY


class AdaptiveSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How intervals move. Times are in seconds."""

    first: float = 30 * DAY
    """the interval of a page that was visited once"""
    shortest: float = 60.0
    """no interval is shorter"""
    longest: float = 365 * DAY
    """nor longer"""
    faster: float = 0.2
    """the share by which an interval shrinks after a change"""
    slower: float = 0.4
    """the share by which it grows otherwise"""


def adapted(interval: float, is_changed: bool, settings: AdaptiveSettings) -> float:
    """The interval after one more visit; 0 before: the first."""
    before = interval or settings.first
    after = before * (1.0 - settings.faster if is_changed else 1.0 + settings.slower)
    return min(max(after, settings.shortest), settings.longest)

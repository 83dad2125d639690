"""Freshness in words: how often a page changes, why it is visited again and when, how far a signal can be trusted.

The numbers come from `policy.refresh` and `crawl.frontier`; docs/freshness.md explains them.
"""

from __future__ import annotations

from collections.abc import Mapping

from periplus.crawl.frontier import NextVisit
from periplus.policy.refresh import SignalKind

from .live import count, lasting

DAY = 86_400.0
_CENTURY = 36_525.0

TELLERS = {
    "sitemap": "its sitemap's lastmod",
    "index": "the lastmod of its sitemaps in their index",
    "feed": "its feed",
    "ping": "pings",
    "header": "Last-Modified",
    "hub": "pages that lead to others",
}
"""Who says that pages changed, by the name of the kind."""

_TOLD = {
    "sitemap": "the sitemap's lastmod moved",
    "index": "its sitemap changed, says the index",
    "feed": "the feed lists it anew",
    "ping": "somebody told us",
    "header": "Last-Modified moved",
    "hub": "a page that leads to it changed",
}

assert set(TELLERS) == set(_TOLD) == {kind.name.lower() for kind in SignalKind}  # noqa: S101 - all of them have words


def share(part: float) -> str:
    """84 %; what is not quite all or nothing does not look like it."""
    percent = 100.0 * part
    if 0.0 < percent < 0.1:
        return "under 0.1 %"
    if 99.9 < percent < 100.0:
        return "over 99.9 %"
    return f"{percent:.1f} %" if 0.0 < percent < 1.0 or 99.0 < percent < 100.0 else f"{percent:.0f} %"


def every(rate: float) -> str:
    """How often something happens that happens so many times a day."""
    if rate <= 1.0 / _CENTURY:
        return "hardly ever"
    return f"about every {lasting(DAY / rate)}" if rate <= DAY else "all the time"


def when(visit: NextVisit, now: float) -> str:
    """`now`, or in how long."""
    left = visit.due_at - now
    return "now" if visit.is_waiting or left < 1.0 else f"in {lasting(left)}"


def why(visit: NextVisit) -> str:
    """The reason of a visit, in words."""
    changes = f"changes {every(visit.rate)}" if visit.rate else "hardly ever changes"
    words = {
        "told": told(visit.signals),
        "worth": f"{changes}: a visit {'is' if visit.is_waiting else 'will then be'} worth its price",
        "soonest": f"{changes}: as often as settings allow",
        "latest": f"{changes}: looked at all the same",
        "chance": "drawn by lot, to stay unbiased",
        "failed": "the last visit failed: tried again",
        "moved": "led elsewhere: looked at again",
    }
    return words[visit.reason]


def told(signals: Mapping[str, int]) -> str:
    """Which signals came since the last visit."""
    said = [f"{_TOLD[kind]}{_times(number)}" for kind, number in signals.items() if number]
    return ", ".join(said)


def _times(number: int) -> str:
    """A page's record counts to seven."""
    if number <= 1:
        return ""
    return f" {count(number)} times" if number < 7 else " 7 times or more"

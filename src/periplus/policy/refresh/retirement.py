"""When a page is no longer revisited; its record stays.

Reasons, stable words that tables count:

* `gone`: not found, twice, a day or more apart (404, 410)
* `worthless`: its weight is 0, so no visit is ever worth anything
* `failing`: no answer of use for many visits in a row

A sitemap, a feed or a person who says that it changed since wakes it: its evidence is as it was.
"""

from __future__ import annotations

from msgspec import Struct

from .evidence import DAY

GONE, WORTHLESS, FAILING = "gone", "worthless", "failing"
_NOT_FOUND = (404, 410)


class RefreshRetirementSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When pages are given up."""

    gone_visits: int = 2
    """visits in a row that did not find it"""
    gone_pause: float = DAY
    """seconds until it is looked for again"""
    failed_visits: int = 10
    """visits in a row without an answer of use; the pauses between them double"""
    first_pause: float = 60.0
    """seconds after the first of these"""
    longest_pause: float = DAY
    """the longest of these pauses"""


class Setback(Struct, frozen=True):
    """The consequence of a visit without a page: why the page is given up, or when it is tried again."""

    retired: str
    again_at: float


def why_worthless(weight: float) -> str:
    """The reason, where there is one."""
    return "" if weight > 0.0 else WORTHLESS


def after_setback(status: int | None, failures: int, now: float, settings: RefreshRetirementSettings) -> Setback:
    """Record that a visit returned no page, for the `failures`-th time in a row. It is no evidence about changes."""
    if status in _NOT_FOUND:
        return Setback(GONE if failures >= settings.gone_visits else "", now + settings.gone_pause)
    pause = min(settings.first_pause * 2.0 ** min(failures - 1, 40), settings.longest_pause)
    return Setback(FAILING if failures >= settings.failed_visits else "", now + pause)

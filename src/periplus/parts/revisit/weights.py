"""What first visits, hubs and cheap answers are worth, and when a page is given up.

A page that was never fetched is as stale as can be: what a visit is worth is what it would be worth after an infinite
time, its weight over its rate, if it turns out to be a page at all (WebFountain counts the same way: Edwards, McCurley
& Tomlin, WWW 2001). How often that is so on a site, for URLs from a source, is counted (`Yield`): the utility of
Schonfeld & Shivakumar (2009). A hub links to new pages: the longer it was not visited the more of them are missed, and
the longer each (Olston & Najork 2010, section 5). An answer of 304 costs a tenth of a page, so pages that mostly answer
with it are worth more for their cost. The weight of a page itself is in `policy.weights`.

A page that is not worth a visit any more is retired, for a reason that tables count:

* `gone`: not found, twice, a day or more apart (404, 410)
* `worthless`: its weight is 0, so no visit is ever worth anything
* `failing`: no answer of use for many visits in a row

A sitemap, a feed or a person who says that it changed since wakes it; its evidence is kept.
"""

from __future__ import annotations

import math

from msgspec import Struct

from periplus.formats.payment import PAYMENT_REQUIRED

from .evidence import DAY

MOST_DAYS = 30.0
"""Maximum number of days for which a new page counts as unchanged: its change rate is not known yet."""
UNCHANGED_COST = 0.1
"""The cost of an answer of 304, relative to that of a page."""
_LEAST_COST = 0.01
"""The least cost of a visit, so that no visit is free."""
_HALF = 0.5 ** (1.0 / 1000.0)
"""First fetches fade: after a thousand they count half."""


class Yield(Struct, frozen=True, array_like=True, gc=False):
    """How often a first fetch returned a unique, indexable page: a Beta mean with decay."""

    good: float = 1.0
    tried: float = 2.0

    @property
    def share(self) -> float:
        """The mean."""
        return self.good / self.tried

    def seen(self, is_good: bool) -> Yield:
        """The yield after one more first fetch."""
        return Yield(1.0 + _HALF * (self.good - 1.0) + is_good, 2.0 + _HALF * (self.tried - 2.0) + 1.0)


def new_page_worth(weight: float, chance: float, rate: float) -> float:
    """The value of a first visit; `chance`: that the page is kept, `rate`: that of its site's pages."""
    return chance * weight * min(1.0 / rate if rate > 0.0 else math.inf, MOST_DAYS)


def hub_worth(page_worth: float, new_a_day: float, age: float) -> float:
    """The value of the new pages that a hub has linked to since the last visit, each of `page_worth` a day."""
    return page_worth * new_a_day * age * age / 2.0


def hub_ripe_age(page_worth: float, new_a_day: float, price: float) -> float:
    """The age in days at which the new pages alone are worth the price."""
    flow = page_worth * new_a_day
    return math.sqrt(2.0 * price / flow) if flow > 0.0 else math.inf


def worth_its_cost(weight: float, unchanged_share: float, unchanged_cost: float = UNCHANGED_COST) -> float:
    """A weight divided by the mean cost of an answer; `cost` is that of a 304, in pages."""
    share = min(max(unchanged_share, 0.0), 1.0)
    return weight / (1.0 - share + max(unchanged_cost, _LEAST_COST) * share)


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


PAYMENT_PAUSE = 30 * DAY
"""Seconds until a page is tried again that asks for a payment."""


class MissedVisit(Struct, frozen=True):
    """The consequence of a visit without a page: why the page is given up, or when it is tried again."""

    retired: str
    again_at: float


def why_worthless(weight: float) -> str:
    """The reason, where there is one."""
    return "" if weight > 0.0 else WORTHLESS


def after_setback(status: int | None, failures: int, now: float, settings: RefreshRetirementSettings) -> MissedVisit:
    """Record that a visit returned no page, for the `failures`-th time in a row. It is not evidence about changes."""
    if status in _NOT_FOUND:
        return MissedVisit(GONE if failures >= settings.gone_visits else "", now + settings.gone_pause)
    if status == PAYMENT_REQUIRED:  # it is not paid, so the answer stays what it is
        return MissedVisit(FAILING if failures >= settings.failed_visits else "", now + PAYMENT_PAUSE)
    pause = min(settings.first_pause * 2.0 ** min(failures - 1, 40), settings.longest_pause)
    return MissedVisit(FAILING if failures >= settings.failed_visits else "", now + pause)

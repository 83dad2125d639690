"""What first visits, hubs and cheap answers are worth, and when a page is asked again that was not there.

A page that was never fetched is as stale as can be: what a visit is worth is what it would be worth after an infinite
time, its weight over its rate, if it turns out to be a page at all (WebFountain counts the same way: Edwards, McCurley
& Tomlin, WWW 2001). How often that is so on a site, for URLs from a source, is counted (`Yield`): the utility of
Schonfeld & Shivakumar (2009). A hub links to new pages: the longer it was not visited the more of them are missed, and
the longer each (Olston & Najork 2010, section 5). An answer of 304 costs a tenth of a page, so pages that mostly answer
with it are worth more for their cost. The weight of a page itself is in `policy.weights`.

A page that was not there is asked again at growing intervals: after a day if it was not found (404, 410), after a
minute if there was no answer of use, each time twice as late, and at least once in a month. A link, a sitemap or a feed
that names it brings it forward; its evidence is kept. A page whose weight is 0 is `worthless`: no visit pays.
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


WORTHLESS = "worthless"
NOT_FOUND = (404, 410)


class RefreshRetirementSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a page is asked again that was not there. The pauses double with each visit."""

    gone_pause: float = DAY
    """seconds after the first visit that did not find it"""
    first_pause: float = 60.0
    """seconds after the first visit without an answer of use"""
    longest_pause: float = 30 * DAY
    """the longest of these pauses"""


PAYMENT_PAUSE = 30 * DAY
"""Seconds until a page is tried again that asks for a payment."""


def why_worthless(weight: float) -> str:
    """The reason, where there is one."""
    return "" if weight > 0.0 else WORTHLESS


def asked_again_at(status: int | None, failures: int, now: float, settings: RefreshRetirementSettings) -> float:
    """When a page is asked again that was not there for the `failures`-th time in a row: no evidence about changes."""
    if status == PAYMENT_REQUIRED:  # it is not paid, so the answer stays what it is
        return now + PAYMENT_PAUSE
    first = settings.gone_pause if status in NOT_FOUND else settings.first_pause
    return now + min(first * 2.0 ** min(max(failures - 1, 0), 40), settings.longest_pause)

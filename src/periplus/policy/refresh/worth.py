"""New pages, hubs and answers that cost little, in the currency of refreshing: days of a fresh copy, weighted.

A page that was never fetched is as stale as can be: what a visit is worth is what it would be worth after an infinite
time, its weight over its rate, if it turns out to be a page at all (WebFountain counts the same way: Edwards, McCurley
& Tomlin, WWW 2001). How often that is so on a site, for URLs from a source, is counted (`Yield`): the utility of
Schonfeld & Shivakumar (2009). A hub leads to new pages: the longer it was not visited the more of them are missed, and
the longer each (Olston & Najork 2010, section 5). An answer of 304 costs a tenth of a page, so that pages which mostly
answer so are worth more for the money.
"""

from __future__ import annotations

import math

from msgspec import Struct

MOST_DAYS = 30.0
"""Maximum number of days for which a new page counts as unchanged: its change rate is not known yet."""
UNCHANGED_COST = 0.1
"""Of an answer of 304, against that of a page."""
_LEAST_COST = 0.01
"""Nothing is for nothing."""
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
        """After one more."""
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

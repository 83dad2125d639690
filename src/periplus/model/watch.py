"""Visits of a watch, as shards report them: their bids, how fresh pages are, and which are visited next.

The engine passes these on; `engine.revisit` computes them.
"""

from __future__ import annotations

import math

from msgspec import Struct

from .types import Url


class Bid(Struct, frozen=True):
    """What a part of a crawl says at a time of its visits, of which it may make `visits_a_day` of a `whole`.

    `price` is what a visit must be worth there now, `forecast` what it would have to be in the long run; both in
    weights as they were given, not in means of that part. It has `pages` pages to revisit, of which this many are
    `waiting` to be visited.
    """

    at: float
    whole: float
    visits_a_day: float
    price: float
    forecast: float
    pages: int
    waiting: int

    @property
    def is_sound(self) -> bool:
        """Whether the bid is usable."""
        return self.pages > 0 and 0.0 < self.price < math.inf and 0.0 < self.forecast < math.inf


_WIDEST = 0.2
"""Width of a 95 % interval from which on its middle is not shown without it."""


class Freshness(Struct, frozen=True):
    """The estimated state of a collection that is watched.

    `fresh` is the expected share of `pages` whose copy is what the page says now, between `low` and `high` with 95 %
    probability; `age` the mean of the seconds since pages were last seen; `price` what a visit must be worth. `checked`
    pages were visited more than once: as long as it is 0, nothing of `fresh` has been checked.
    """

    pages: int
    fresh: float
    low: float
    high: float
    age: float
    price: float
    checked: int

    @property
    def is_narrow(self) -> bool:
        """Whether enough pages were visited twice to state one number: `fresh` alone says nothing before that."""
        return self.checked > 0 and self.high - self.low <= _WIDEST

    def __add__(self, other: Freshness) -> Freshness:
        """The freshness of two parts of a collection together."""
        pages = self.pages + other.pages
        if not self.pages or not other.pages:
            return self if self.pages else other
        mine, theirs = self.pages / pages, other.pages / pages
        fresh = mine * self.fresh + theirs * other.fresh
        return Freshness(
            pages,
            fresh,
            fresh - math.hypot(mine * (self.fresh - self.low), theirs * (other.fresh - other.low)),
            fresh + math.hypot(mine * (self.high - self.fresh), theirs * (other.high - other.fresh)),
            mine * self.age + theirs * other.age,
            mine * self.price + theirs * other.price,
            self.checked + other.checked,
        )


class NextVisit(Struct, frozen=True):
    """A visit to come, and its `reason`.

    * `told`: a trusted signal reports that the page changed
    * `worth`: a visit will be worth its price by then, since the page has probably changed
    * `soonest`: it would be worth it sooner, but settings limit how often a page is visited
    * `leads`: it has probably not changed, but links to new pages from time to time
    * `latest`: it is never worth it, and visited at the longest interval so that dead pages are found
    * `chance`: sampled at random, so that estimates stay unbiased
    * `failed`: the last visit failed, and is tried again
    * `moved`: it was a redirect the last time
    * `worthless`: its weight is 0; it is not visited, and its weight is looked up again at that time

    `is_waiting`: it waits for its site's turn; otherwise it is due at `due_at`. As far as known: `rate` is in changes a
    day, `fresh` the probability that the copy is current, `worth` the value of a visit now, in prices, and `signals`
    the number of each kind since the last visit.
    """

    url: Url
    due_at: float
    reason: str
    is_waiting: bool = False
    rate: float | None = None
    fresh: float | None = None
    worth: float | None = None
    signals: dict[str, int] = {}

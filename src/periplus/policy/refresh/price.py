"""The price of a visit: how much one must be worth, so that as many are as can be made.

It is the Lagrange multiplier of the budget, and is not solved for: it follows what is served. Most visits should be
worth a little more than the price, and some a little less, since pages wake before they are worth it; so it rises with
each visit that is worth more, falls faster with each that is worth less, and falls with each visit that could have been
made and was not, for want of a page. (To let it follow how many pages become worth it in a minute, as is told of
GREEDY-NCIS, was tried: a price that falls wakes all at once those between the old price and the new, and then swings
for ever.) Hosts that cannot be visited often enough serve pages worth far more; that says nothing, so that it is a
quantile that is followed, not a mean.

A first guess comes from a sample of pages. Each part of a collection has its own price; `market` makes them one.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from ...model import ConfigError
from .crawl_value import CrawlValue, Ints
from .objectives import Floats

_LEAST, _MOST = 1e-12, 1e12


class PriceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How the price follows what is served."""

    quantile: float = 0.3
    """The share of visits with a value below the price"""
    memory: float = 0.01
    """visits after which it may have moved by a factor of e, as a share of all pages"""
    least_memory: float = 50.0
    """but not fewer than these"""

    def __post_init__(self) -> None:
        """Refuse what would never move, or only one way."""
        if not 0.0 < self.quantile < 1.0 or self.memory < 0.0 or self.least_memory < 1.0:
            raise ConfigError("the price could not follow what is served so", hint="leave its settings as they are")

    def memory_of(self, pages: int) -> float:
        """Visits to a collection of `pages` pages after which the price may have moved by a factor of e."""
        return max(self.memory * pages, self.least_memory)


class Price:
    """The current price of a visit."""

    def __init__(self, value: float = 1.0, settings: PriceSettings | None = None) -> None:
        self.value = value
        self._settings = settings or PriceSettings()

    def served(self, worth: float, pages: int) -> None:
        """Record that a visit in a collection of `pages` pages had the value `worth`."""
        share = self._settings.quantile
        self._move(share if worth >= self.value else share - 1.0, pages)

    def missed(self, visits: float, pages: int) -> None:
        """Record that `visits` visits could have been made, but no page was worth one."""
        self._move(-min(visits, 0.25 * self._settings.memory_of(pages)), pages)

    def shift(self, factor: float) -> None:
        """Adjust the price to a changed budget."""
        self.value = min(max(self.value * factor, _LEAST), _MOST)

    def _move(self, by: float, pages: int) -> None:
        self.shift(math.exp(by / self._settings.memory_of(pages)))


def price_for(tables: CrawlValue, kind: Ints, rate: Floats, weight: Floats, visits_a_day: float) -> float:
    """The price at which these pages, without signals, would be visited `visits` times a day in all: by bisection."""
    low, high = math.log(_LEAST), math.log(_MOST)
    if visits_a_day <= 0.0:
        return _MOST
    for _ in range(40):
        middle = (low + high) / 2
        ages = tables.ripe_ages(kind, rate, weight, math.exp(middle))
        spent = float((1.0 / np.maximum(ages, 1e-6)).sum())
        low, high = (middle, high) if spent > visits_a_day else (low, middle)
    return math.exp(high)

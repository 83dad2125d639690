"""What a visit to a page is worth, and when it will be worth its price, from what is kept of page and site.

For a crawl whose pages lie on disk: it keeps 64 bytes with each URL and 200 with each site, puts a URL to sleep in its
queue of those that wait for a time until `due_at`, and lets it then wait with its site at the `level` of its worth. So
memory does not grow with the number of pages, and every decision costs a few microseconds. A signal changes `due_at`;
an estimation over all pages, once in a while, changes rates and trust.

The price moves, and the due times of sleeping URLs do not follow: they are woken a little early, at `margin` of the
price, and valued again. Not much earlier: waiting pages are served first in, first out, and if all wake at two thirds
of the price most pages wait at any time, which turns the best policy into a round robin (measured: 84 % of the
attainable freshness, against 99.8 % at nine tenths; at the price itself visits are missed, and it is 89 %).

The price is the Lagrange multiplier of the budget, and is not solved for: it follows what is served. Most visits should
be worth a little more than the price, and some a little less, since pages wake before they are worth it; so it rises
with each visit that is worth more, falls faster with each that is worth less, and falls with each visit that could have
been made and was not, for want of a page. (Following the number of pages that become worth it in a minute, as reported
for GREEDY-NCIS, was tried: a falling price wakes all pages between the old price and the new at once, and then
oscillates forever.) Hosts that cannot be visited often enough serve pages worth far more; that is not evidence about
the price, so it follows a quantile, not a mean.

A first guess comes from a sample of pages. Each part of a collection has its own price; `market` makes them one.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from periplus.model import ConfigError
from periplus.policy.ordering.importance import level_of

from .crawl_value import CrawlValue, Ints, Outlook
from .evidence import DAY, PageEvidence, SignalKind
from .objectives import Floats
from .page_rates import boost_of, certainty, rate_of, signal_rate, still
from .settings import RefreshSettings
from .signals import SiteEvidence
from .weights import hub_ripe_age, hub_worth

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


_HALVINGS = 20


class Hub(Struct, frozen=True, gc=False):
    """A hub: how many new pages a day it links to, and what each is worth a day."""

    new_a_day: float
    page_worth: float


class Appraisal(Struct, frozen=True, gc=False):
    """The valuation of a page's next visit, also for display.

    `worth` now, against `price`; due at `due_at`. `rate` are changes a day, with and without a signal; `fresh` is the
    probability that the copy is fresh, `signals` is the number of pending signals.
    """

    worth: float
    price: float
    due_at: float
    rate: float
    fresh: float
    signals: int

    @property
    def level(self) -> int:
        """The level of its queue: 63 means worth its price, half an octave each."""
        return level_of(self.worth / self.price)


class Appraiser:
    """The value of visits and due times under one price, which follows the visits made."""

    def __init__(
        self, settings: RefreshSettings | None = None, price: float = 1.0, pricing: PriceSettings | None = None
    ) -> None:
        self.settings = settings or RefreshSettings()
        self.tables = CrawlValue(self.settings.objective)
        self.price = Price(price, pricing)

    def outlook(self, page: PageEvidence, site: SiteEvidence, now: float) -> Outlook:
        """The parameters of a page for the tables: its own rates, or those of its site if it has none."""
        alpha = rate_of(page, site)
        return self.tables.outlook(alpha, *signal_rate(page, site, now), boost_of(page, site), certainty(page, site))

    def appraise(
        self, page: PageEvidence, site: SiteEvidence, weight: float, now: float, hub: Hub | None = None
    ) -> Appraisal:
        """Compute all of it for one page."""
        seen = self.outlook(page, site, now)
        age = max(now - page.visited_at, 0.0) / DAY
        worth = self._worth(seen, weight, age, hub)
        alpha = rate_of(page, site)
        precision_rate = sum(site.precision_rate(kind) for kind in SignalKind)
        return Appraisal(
            worth,
            self.price.value,
            page.visited_at + self._ripe(seen, weight, hub),
            alpha + precision_rate,
            still(alpha * age, certainty(page, site)) * math.exp(-seen.boost),
            sum(page.signals),
        )

    def due_at(
        self, page: PageEvidence, site: SiteEvidence, weight: float, now: float, hub: Hub | None = None
    ) -> float:
        """When to wake it: not before `shortest` after its last visit, and not later than `longest`."""
        return page.visited_at + self._ripe(self.outlook(page, site, now), weight, hub)

    def worth(self, page: PageEvidence, site: SiteEvidence, weight: float, now: float, hub: Hub | None = None) -> float:
        """The value of a visit now."""
        return self._worth(self.outlook(page, site, now), weight, max(now - page.visited_at, 0.0) / DAY, hub)

    def _worth(self, seen: Outlook, weight: float, age: float, hub: Hub | None) -> float:
        worth = self.tables.value(seen.kind, seen.rate, weight, age, seen.boost)
        return worth + hub_worth(hub.page_worth, hub.new_a_day, age) if hub else worth

    def _ripe(self, seen: Outlook, weight: float, hub: Hub | None) -> float:
        """Seconds from a visit to the next."""
        price = self.price.value * self.settings.margin
        age = self.tables.ripe_age(seen.kind, seen.rate, weight, price, seen.boost)
        if hub is not None:
            age = min(age, hub_ripe_age(hub.page_worth, hub.new_a_day, price))
            age = self._sooner(seen, weight, hub, price, age)
        return min(max(age * DAY, self.settings.shortest), self.settings.longest)

    def _sooner(self, seen: Outlook, weight: float, hub: Hub, price: float, latest: float) -> float:
        """When both of a hub's worths together reach the price: before either does alone."""
        low, high = 0.0, min(latest, self.settings.longest / DAY)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._worth(seen, weight, middle, hub) < price:
                low = middle
            else:
                high = middle
        return high

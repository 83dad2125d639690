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
from msgspec.structs import replace

from periplus.model import ConfigError
from periplus.policy.ordering.importance import level_of

from .crawl_value import CrawlValue, Ints, Outlook
from .evidence import BY_DATE, DAY, PageEvidence, SignalKind
from .objectives import Floats
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


_FIRST_RATE = 0.2
"""Changes a day of a page on a site without any data."""
_MOST_SIGNALLED = 0.95
"""Of readings of a file that lists a page: beyond that it is unknown how often the page really changes."""
_HALVINGS = 20
_ROUNDS = 4
"""Of the EM of one page after a visit; the estimation of all pages goes on from there."""


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


def rate_of(page: PageEvidence, site: SiteEvidence) -> float:
    """Unsignalled changes a day of a page: its own rate; for a page seen once, from its date and its site."""
    if page.rate:
        return page.rate
    mean, false = site.rate or _FIRST_RATE, site.false_dates
    if not page.dated:
        return mean
    return (1.0 - false) * (site.shape + BY_DATE) / (site.shape / mean + page.dated) + false * mean


def signal_rate(page: PageEvidence, site: SiteEvidence, now: float) -> tuple[float, float]:
    """The rate of trusted signals of a page, shrunk towards that of its site; and the value of one signal.

    The first signals of a site, before it was estimated with them, come at the rate at which its pages change.
    """
    heard, kappa = site.heard
    watched = max(now - page.watched_from, 0.0) / DAY if page.watched_from else 0.0
    if not heard or not kappa:
        boost = boost_of(page, site)
        if not boost:
            return 0.0, 0.0
        trusted = sum(n for n, each in zip(page.signals, site.kappas, strict=True) if each)
        return (0.5 + trusted) / (0.5 / rate_of(page, site) + watched), boost / trusted
    tie, mean = (site.tie, site.told * rate_of(page, site)) if site.tie else (0.5, site.signals)
    return (tie + page.heard) / (tie / mean + watched) * heard / site.signals, kappa


def boost_of(page: PageEvidence, site: SiteEvidence) -> float:
    """What the signals since the last visit add to the reasons to expect a change."""
    if not page.pending:
        return 0.0
    return sum(n * kappa for n, kappa in zip(page.signals, site.kappas, strict=True) if n)


def still(changes: float, shape: float) -> float:
    """The probability of no change if `changes` are expected; `shape` is how well the page's rate is known."""
    return math.exp(-shape * math.log1p(changes / shape))


def unread_signals(page: PageEvidence, site: SiteEvidence, now: float) -> float:
    """Signals a day of a page that its site announces in a file; several between two readings of it count as one.

    Files are read at times that are random relative to the changes: read every P days, they report a change P/2 days
    late on average.
    """
    pause = 2.0 * site.mean_lag
    heard, _ = signal_rate(page, site, now)
    return -math.log1p(-min(heard * pause, _MOST_SIGNALLED)) / pause if heard and pause else 0.0


def learnt(page: PageEvidence, site: SiteEvidence, is_changed: bool, now: float) -> tuple[PageEvidence, SiteEvidence]:
    """After a visit: both, with what left the page's ring folded where it belongs, and a first idea of its rate."""
    if not page.visited_at:
        return replace(page.first_visited(now), rate=page.rate), site
    if page.dated and not page.ring:
        site = site.dated(page.dated, max(now - page.visited_at, 1.0) / DAY, is_changed)
    after, dropped = page.visited(is_changed, now)
    site = site.checked(after.ring[-1], rate_of(page, site))
    if after.dated and is_disproved(after, site):
        after = after.undated()
    if dropped:
        after = after.with_date_of_weight(1.0 - site.false_dates)
        site, changes, days = site.fold(dropped, rate_of(page, site))
        after = after.folded(changes, days)
    return replace(after, rate=running_rate(after, site)), site


def is_disproved(page: PageEvidence, site: SiteEvidence) -> bool:
    """Whether a page's visits make its date unlikely: it changes too often to have been unchanged for that long.

    Two hypotheses are compared: the date is true; or it is false, and the page is like others of its site.
    """
    mean = site.rate or _FIRST_RATE
    seen = [site.expected(code) for code in page.ring]
    changes = sum(is_changed and not reasons for _, reasons, is_changed in seen)
    days = sum(each[0] for each in seen)
    true = _likelihood(site.shape + BY_DATE, site.shape / mean + page.dated, changes, days)
    false = min(max(site.false_dates, 0.05), 0.95)
    return _likelihood(site.shape, site.shape / mean, changes, days) - true > math.log((1.0 - false) / false)


def _likelihood(shape: float, rate: float, changes: int, days: float) -> float:
    """The logarithm of the probability of this many changes in this many days, where rates are Gamma(shape, rate)."""
    total = shape + changes
    return shape * math.log(rate) - math.lgamma(shape) + math.lgamma(total) - total * math.log(rate + days)


def certainty(page: PageEvidence, site: SiteEvidence) -> float:
    """The precision of a page's rate, as an equivalent number of changes; visits after a long time add little."""
    rate = rate_of(page, site)
    shape = site.shape + rate * page.old_days * (1.0 - site.false_dates if page.dated and not page.ring else 1.0)
    for code in page.ring:
        days, reasons, is_changed = site.expected(code)
        quiet = rate * days
        if is_changed:
            grown = math.expm1(min(max(quiet + reasons, 1e-9), 300.0))
            quiet = max(quiet * (quiet * (grown + 1.0) - grown) / grown**2, 0.0)
        shape += quiet
    return shape


def running_rate(page: PageEvidence, site: SiteEvidence) -> float:
    """Unsignalled changes a day of one page given the estimates of its site: a few rounds of the EM of all pages."""
    mean = site.rate or _FIRST_RATE
    seen = [site.expected(code) for code in page.ring]
    days = page.old_days + sum(each[0] for each in seen)
    rate = page.rate or mean
    told = site.told * max(page.visited_at - page.watched_from, 0.0) / DAY if site.tie and page.watched_from else 0.0
    for _ in range(_ROUNDS):
        weight = site.tie / (site.tie + rate * told) if told else 0.0
        unsignalled = page.old_changes + weight * page.heard
        for length, reasons, is_changed in seen:
            if is_changed:
                quiet = rate * length
                unsignalled += quiet / -math.expm1(-max(quiet + reasons, 1e-12))
        rate = (site.shape + unsignalled) / (site.shape / mean + days + weight * told)
    return rate

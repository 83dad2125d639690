"""The visits a day of a watch, the price of a visit, and the shares of revisits and first visits.

A shard has a part of the visits a day, which changes during the watch (`engine.revisit.market`): it bids, and receives
its part. The price of a visit follows what is served; when the budget changes, the price is set to its long-run value
as predicted from a sample of pages (`Forecast`), since it would take weeks to get there by itself where pages hardly
change. `RevisitQuota` keeps revisits and first visits from crowding each other out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Bid, Site, Url, UrlRecord
from periplus.store import State
from periplus.urls import site_of

from .change_history import ChangeHistory, Revised
from .crawl_value import CrawlValue
from .evidence import unpack_page
from .freshness import is_present
from .page_rates import rate_of
from .page_value import Price, price_for
from .records import RevisitState
from .settings import RefreshSettings
from .signals import SiteEvidence
from .visit_value import VisitValuer

_WINDOW = 20
"""Visits after which the counters of the quota are halved (at twice this): the last 20 to 40 count. With more, the kind
that waits after a time with visits of the other kind alone, such as a crawl, would be owed hundreds of visits in a row,
while pages of the other kind wait that were just reported."""
_MAX_SHIFT = 4.0
"""Factor by which a new budget moves the price at once, at most: forecasts may be wrong."""
_BID_INTERVAL = 600.0
"""Seconds between two forecasts for bids: each reads 2,000 records, and pages hardly change faster."""


class Watching(Struct, frozen=True):
    """The budget of a watch: visits a day of all its shards together, and the number of shards."""

    visits_a_day: float
    parts: int = 1

    def granted(self, saved: RevisitState) -> float:
        """Visits a day of one shard at the start: its part as it was, or an equal part if the shards are others."""
        if saved.parts != self.parts or not saved.total:
            return self.visits_a_day / self.parts
        if saved.total == self.visits_a_day:
            return saved.granted
        return self.visits_a_day * (saved.granted / saved.total)


class RevisitQuota:
    """Decides between a revisit and a first visit at a site where both wait.

    `revisits` and `new` are the minimum shares of each kind among the last 20 to 40 visits.
    """

    def __init__(self, revisits: float = 0.25, new: float = 0.25, counts: tuple[float, float] = (0.0, 0.0)) -> None:
        self._min_revisits, self._min_new = revisits, new
        self._revisits, self._new = counts

    @property
    def counts(self) -> tuple[float, float]:
        """Revisits and first visits, for a commit."""
        return self._revisits, self._new

    def count(self, *, is_revisit: bool) -> None:
        """Count a visit that was granted."""
        self._revisits += is_revisit
        self._new += not is_revisit
        if self._revisits + self._new >= 2 * _WINDOW:
            self._revisits, self._new = self._revisits / 2, self._new / 2

    def prefers_revisit(self, is_worth_more: bool) -> bool:
        """Whether the revisit goes first; `is_worth_more` decides if neither kind is below its share."""
        total = self._revisits + self._new
        if self._revisits < self._min_revisits * total:
            return True
        return False if self._new < self._min_new * total else is_worth_more


class Forecast(Struct, frozen=True):
    """The change rates and weights of a sample of pages, which is `share` of all pages.

    It leaves out signals, new pages and politeness. It sets the first price of a watch, moves the price when the budget
    moves, and is what shards bid.
    """

    rates: NDArray[np.float64]
    weights: NDArray[np.float64]
    share: float

    def price(self, tables: CrawlValue, visits_a_day: float) -> float | None:
        """The price in the long run; `None` if no page of the sample is known."""
        if not len(self.rates):
            return None
        zeros = np.zeros(len(self.rates))
        kinds, seen = tables.outlooks(self.rates, zeros, zeros)
        return price_for(tables, kinds, seen, self.weights, visits_a_day * self.share)

    def shift(self, tables: CrawlValue, before: float, after: float) -> float:
        """The factor by which the price moves when visits a day go from `before` to `after`."""
        was, will_be = self.price(tables, before), self.price(tables, after)
        return min(max(will_be / was, 1.0 / _MAX_SHIFT), _MAX_SHIFT) if was and will_be else 1.0


class VisitBudget:
    """The visits a day of one shard, and the price of a visit, which it keeps in the appraiser of the valuer.

    `begin` and `set` may estimate sites for the first time; `revised` are then the pages whose rate changed by that,
    with the time of the estimate, for the caller to schedule again.
    """

    def __init__(self, state: State, watching: Watching, valuer: VisitValuer, history: ChangeHistory) -> None:
        self._state = state
        self.watching = watching
        self._settings, self._weights = valuer.settings, valuer.weights
        self._appraiser = valuer.appraiser
        self._history = history
        self.visits_per_day = 0.0
        self._bid_forecast: tuple[float, Forecast] | None = None

    def begin(self, saved: RevisitState, urls: Sequence[Url], pages: int) -> tuple[Revised, float]:
        """Restore budget, mean weight and price; what is of other settings is derived from the sample `urls`."""
        self.visits_per_day = self.watching.granted(saved)
        is_same = saved.objective == self._settings.objective and saved.total == self.watching.visits_a_day
        if is_same and saved.weighting == weighting_of(self._settings):
            self._weights.mean = saved.mean_weight
        else:
            self._weights.settle(urls)
        if is_same:
            self._appraiser.price = Price(saved.price)
            return {}, 0.0
        forecast, revised, at = self._estimated(urls, pages)
        self._appraiser.price = Price(forecast.price(self._appraiser.tables, self.visits_per_day) or 1.0)
        return revised, at

    def set(self, visits_per_day: float, urls: Sequence[Url], pages: int) -> Revised:
        """Change the visits a day; the price moves to where it will be in the long run."""
        forecast, revised, _ = self._estimated(urls, pages)
        self._appraiser.price.shift(forecast.shift(self._appraiser.tables, self.visits_per_day, visits_per_day))
        self.visits_per_day = visits_per_day
        return revised

    def _estimated(self, urls: Sequence[Url], pages: int) -> tuple[Forecast, Revised, float]:
        """A forecast after every site of the sample was estimated once; also the time of the latest visit."""
        records = self._present(urls)
        at = max((unpack_page(record.evidence).visited_at for record in records), default=0.0)
        revised: Revised = {}
        for site in dict.fromkeys(site_of(record.url) for record in records):
            revised |= self._history.estimate_first(site, at)
        return self._forecast(records, len(urls) / max(pages, 1), self._history.evidence_of), revised, at

    def bid(self, urls: Sequence[Url], pages: int, now: float) -> Bid:
        """The bid of this shard for visits, in weights as they were given. Changes no decision."""
        if self._bid_forecast is None or now >= self._bid_forecast[0]:
            cached = cache(partial(self._evidence_for_bid, now=now))
            forecast = self._forecast(self._present(urls), len(urls) / max(pages, 1), cached)
            self._bid_forecast = now + _BID_INTERVAL, forecast
        price = self._bid_forecast[1].price(self._appraiser.tables, self.visits_per_day) or 0.0
        mean = self._weights.mean
        waiting = len(self._state.queues)
        whole, part = self.watching.visits_a_day, self.visits_per_day
        return Bid(now, whole, part, self._appraiser.price.value * mean, price * mean, pages, waiting)

    def _evidence_for_bid(self, site: Site, now: float) -> SiteEvidence:
        """The evidence of a site; a site that was never estimated is estimated, without storing it."""
        evidence = self._history.evidence_of(site)
        return evidence if evidence.pages else self._history.estimated(site, now)

    def _present(self, urls: Sequence[Url]) -> list[UrlRecord]:
        return [record for record in self._state.records.get(urls) if record is not None and is_present(record)]

    def _forecast(
        self, records: Sequence[UrlRecord], share: float, evidence_of: Callable[[Site], SiteEvidence]
    ) -> Forecast:
        rates = [rate_of(unpack_page(record.evidence), evidence_of(site_of(record.url))) for record in records]
        return Forecast(np.array(rates), np.array([self._weights(each.url) for each in records]), min(share, 1.0))


def weighting_of(settings: RefreshSettings) -> str:
    """A name for the weights of pages: a mean weight is good for these alone."""
    return " ".join([settings.weight, *(f"{pattern}={weight!r}" for pattern, weight in settings.weights.items())])

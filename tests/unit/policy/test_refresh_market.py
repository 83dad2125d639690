"""The market: budgets move until all parts have one price, and never sum to more than the whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from periplus.policy.refresh import Bid, CrawlValue, Market, Outlook, QueueSettings, WakeQueue, price_for, shared_out
from periplus.policy.refresh.evidence import DAY

NOW = 1.7e9
WHOLE = 1000.0


def bid(price: float, visits_a_day: float, *, at: float = NOW, pages: int = 100, waiting: int = 0) -> Bid:
    return Bid(at, WHOLE, visits_a_day, price, price, pages, waiting)


class Shard:
    """Pages of known rates under the real policy, in virtual time; what is counted is the expected freshness."""

    def __init__(
        self, rates: NDArray[np.float64], visits_a_day: float, tables: CrawlValue, is_off: float = 1.0
    ) -> None:
        self.rates, self.visits_a_day, self._tables, self._is_off = rates, visits_a_day, tables, is_off
        self.queue = WakeQueue(tables, NOW, settings=QueueSettings(explore_share=0.0))
        self.queue.add_host()
        for rate in rates.tolist():
            self.queue.add(0, Outlook(0, rate), 1.0, NOW, NOW)
        self.forecast = self._forecast(visits_a_day)
        self.queue.price.value = self.forecast
        self.queue.replan(NOW)
        self._seen = np.full(len(rates), NOW)
        self._saved = 0.0
        self.fresh = 0.0
        self.visits = 0

    def _forecast(self, visits_a_day: float) -> float:
        kind, weight = np.zeros(len(self.rates), np.int64), np.ones(len(self.rates))
        return price_for(self._tables, kind, self.rates, weight, visits_a_day)

    def live(self, days: float, now: float, since: float) -> None:
        self._saved += self.visits_a_day * days
        limit = int(self._saved)
        self._saved -= limit
        for page in self.queue.take(limit, now) if limit else ():
            self.count(page, now, since)
            self._seen[page] = now
            self.visits += 1
            self.queue.crawled(page, Outlook(0, float(self.rates[page])), 1.0, now)

    def count(self, page: int, now: float, since: float) -> None:
        """Days for which a copy was fresh until now, in expectation."""
        rate, seen = float(self.rates[page]), float(self._seen[page])
        before, after = max(since - seen, 0.0) / DAY, max(now - seen, 0.0) / DAY
        self.fresh += max(math.exp(-rate * before) - math.exp(-rate * after), 0.0) / rate

    def afford(self, visits_a_day: float) -> None:
        before, self.forecast = self.forecast, self._forecast(visits_a_day)
        self.queue.price.shift(self.forecast / before)
        self.visits_a_day = visits_a_day

    def bid(self, whole: float, now: float) -> Bid:
        price, pages = self.queue.price.value, len(self.rates)
        return Bid(now, whole, self.visits_a_day, price, self.forecast * self._is_off, pages, 0)


def watched(shards: list[Shard], days: float, market: Market | None = None) -> tuple[float, NDArray[np.float64]]:
    """How fresh all pages are, in the second half of the time; and the prices in its last quarter, a row a day."""
    whole, step = sum(shard.visits_a_day for shard in shards), 1 / 48
    since, prices = NOW + days / 2 * DAY, []
    for number in range(1, round(days / step) + 1):
        now = NOW + number * step * DAY
        for shard in shards:
            shard.live(step, now, since)
        for which, visits_a_day in market.turn([shard.bid(whole, now) for shard in shards]) if market else ():
            shards[which].afford(visits_a_day)
        if number % 48 == 0 and now > NOW + 0.75 * days * DAY:
            prices.append([shard.queue.price.value for shard in shards])
        assert sum(shard.visits_a_day for shard in shards) == pytest.approx(whole)
    for shard in shards:
        for page in range(len(shard.rates)):
            shard.count(page, NOW + days * DAY, since)
    pages = sum(len(shard.rates) for shard in shards)
    return sum(shard.fresh for shard in shards) / pages / (days / 2), np.array(prices)


def kinds_of_rates(pages: int) -> list[NDArray[np.float64]]:
    """Archives that change every half year or so, and news that do several times a day, and two in between."""
    random = np.random.default_rng(3)
    bounds = [(0.005, 0.05), (0.02, 0.3), (0.1, 1.0), (0.5, 4.0)]
    return [np.exp(random.uniform(math.log(low), math.log(high), pages)) for low, high in bounds]


def test_shards_together_are_as_fresh_as_one() -> None:
    """Within one per cent of one shard with the whole budget, and fresher than with equal shares; prices meet."""
    tables, rates, whole, days = CrawlValue("mixed"), kinds_of_rates(250), 140.0, 100.0
    apart, _ = watched([Shard(each, whole / 4, tables) for each in rates], days)
    shards = [Shard(each, whole / 4, tables) for each in rates]
    together, prices = watched(shards, days, Market(4))
    one, _ = watched([Shard(np.concatenate(rates), whole, tables)], days)
    assert together > one * 0.99
    assert together > apart * 1.01
    means = np.exp(np.log(prices).mean(axis=0))
    assert means.max() / means.min() < 1.05
    assert sum(shard.visits for shard in shards) <= whole * days


def test_forecasts_that_are_off_are_found_out() -> None:
    """One shard thinks that visits are worth four times what they are, another a quarter: the prices meet all the same.

    So it is with what forecasts do not know: signals, new pages, sites that must not be asked more often.
    """
    tables, rates = CrawlValue("binary"), kinds_of_rates(250)[:3]
    shards = [Shard(each, 40.0, tables, off) for each, off in zip(rates, (4.0, 1.0, 0.5), strict=True)]
    _, prices = watched(shards, 100.0, Market(3))
    means = np.exp(np.log(prices).mean(axis=0))
    assert means.max() / means.min() < 1.2


def test_budgets_go_to_where_visits_are_worth_more() -> None:
    """Not too much at a time, and those that get less are told first."""
    market = Market(2)
    assert market.turn([bid(1.0, 500.0), bid(9.0, 500.0)]) == []
    assert market.granted == [500.0, 500.0]
    news = market.turn([bid(1.0, 500.0, at=NOW + DAY), bid(9.0, 500.0, at=NOW + DAY)])
    assert [number for number, _ in news] == [0, 1]
    assert 250.0 < market.granted[0] < 450.0
    assert [visits for _, visits in news] == market.granted
    assert sum(market.granted) == pytest.approx(WHOLE, rel=1e-12)


def test_nobody_is_told_what_it_knows() -> None:
    """Nothing moves between two looks, nor where prices are one; who has not heard is told again."""
    market = Market(2)
    market.turn([bid(1.0, 500.0), bid(9.0, 500.0)])
    assert market.turn([bid(1.0, 500.0, at=NOW + 30.0), bid(9.0, 500.0, at=NOW + 30.0)]) == []
    market.turn([bid(1.0, 500.0, at=NOW + DAY), bid(9.0, 500.0, at=NOW + DAY)])
    less, more = market.granted
    assert market.turn([bid(2.0, less, at=NOW + 2 * DAY), bid(2.0, more, at=NOW + 2 * DAY)]) == []
    again = market.turn([bid(2.0, less, at=NOW + 3 * DAY), bid(2.0, 500.0, at=NOW + 3 * DAY)])
    assert dict(again)[1] == pytest.approx(more)


def test_who_keeps_the_market_may_come_back() -> None:
    """What each part may spend is in its bid; nothing happens before all have bid, but for what sums to too much."""
    market = Market(2)
    assert market.turn([bid(1.0, 300.0), None]) == []
    assert market.granted == []
    assert market.turn([bid(1.0, 300.0), bid(1.0, 700.0)]) == []
    assert market.granted == [300.0, 700.0]
    assert Market(2).turn([bid(1.0, 600.0), bid(1.0, 600.0)]) == [(0, 500.0), (1, 500.0)]


@pytest.mark.parametrize("absurd", [0.0, -1.0, math.inf, math.nan])
def test_a_price_that_cannot_be_says_nothing(absurd: float) -> None:
    """Such a part goes to an equal share if something waits there, and to a tenth of one if nothing does."""
    for waiting, equal in ((5, 1.0), (0, 0.1)):
        market, at = Market(4), NOW
        for _ in range(60):
            at += DAY
            granted = market.granted or [250.0, 250.0, 400.0, 100.0]
            prices = [1.0, 1.0, absurd, absurd]
            market.turn([bid(p, has, at=at, waiting=waiting) for p, has in zip(prices, granted, strict=True)])
        assert market.granted[2:] == pytest.approx([equal * 250.0] * 2, rel=0.02)


def test_a_part_without_pages_waits_for_some() -> None:
    """It keeps the least, with which it can begin."""
    market, at = Market(2), NOW
    for _ in range(60):
        at += DAY
        granted = market.granted or [500.0, 500.0]
        market.turn([bid(1.0, granted[0], at=at), bid(1.0, granted[1], at=at, pages=0)])
    assert market.granted[1] == pytest.approx(50.0, rel=0.01)


def test_shares_of_nothing_are_equal() -> None:
    """Where nobody wants anything that is a number."""
    assert shared_out(9.0, [0.0, math.nan, -1.0]) == pytest.approx([3.0] * 3)

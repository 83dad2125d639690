"""The market: budgets move until all parts have one price, and never sum to more than the whole."""

from __future__ import annotations

import math

import pytest
from tests.each_case import each_case

from periplus.engine.revisit.evidence import DAY
from periplus.engine.revisit.market import Market, shared_out
from periplus.model import Bid

NOW = 1.7e9
WHOLE = 1000.0


def bid(price: float, visits_a_day: float, *, at: float = NOW, pages: int = 100, waiting: int = 0) -> Bid:
    return Bid(at, WHOLE, visits_a_day, price, price, pages, waiting)


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


def test_no_shard_is_sent_what_it_knows() -> None:
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


@each_case("absurd", [0.0, -1.0, math.inf, math.nan])
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
    """Also where no bid is a number."""
    assert shared_out(9.0, [0.0, math.nan, -1.0]) == pytest.approx([3.0] * 3)

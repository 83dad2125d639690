"""The price of a visit, values in one unit, and retirement."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.engine.revisit.crawl_value import CrawlValue
from periplus.engine.revisit.evidence import DAY
from periplus.engine.revisit.page_value import Price, price_for
from periplus.engine.revisit.weights import (
    RefreshRetirementSettings,
    Yield,
    asked_again_at,
    hub_ripe_age,
    hub_worth,
    new_page_worth,
    why_worthless,
    worth_its_cost,
)

NOW = 1.7e9


def test_the_price_follows() -> None:
    """Down where visits are missed or worth less, up where they are worth more, never out of bounds."""
    price = Price(1.0)
    for _ in range(100):
        price.served(5.0, 100)
    assert price.value > 1.5
    for _ in range(1000):
        price.missed(10, 100)
    assert 0 < price.value < 1e-3


def test_a_first_guess_of_the_price() -> None:
    """Spends the budget on pages that hear nothing."""
    rates = np.array([0.1, 0.5, 1.0, 2.0])
    tables, zero, ones = CrawlValue("harmonic"), np.zeros(4, np.int64), np.ones(4)
    price = price_for(tables, zero, rates, ones, 3.0)
    assert (1 / tables.ripe_ages(zero, rates, ones, price)).sum() == pytest.approx(3.0, rel=1e-3)
    assert price_for(tables, zero, rates, ones, 0.0) > 1e9


def test_one_currency() -> None:
    """New pages, hubs and cheap answers, in days of a fresh copy."""
    assert new_page_worth(2.0, 0.5, 0.1) == pytest.approx(10.0)
    assert new_page_worth(2.0, 0.5, 0.0) == pytest.approx(30.0)
    assert hub_worth(3.0, 2.0, 2.0) == pytest.approx(12.0)
    assert hub_worth(3.0, 2.0, hub_ripe_age(3.0, 2.0, 7.0)) == pytest.approx(7.0)
    assert worth_its_cost(1.0, 1.0) == pytest.approx(10.0)
    assert worth_its_cost(1.0, 0.0) == 1.0


def test_what_first_fetches_bring() -> None:
    """Half at first; then what was seen, lately."""
    site = Yield()
    assert site.share == 0.5
    for _ in range(3000):
        site = site.seen(True)
    assert site.share > 0.99
    for _ in range(3000):
        site = site.seen(False)
    assert site.share < 0.15


def test_a_page_that_was_not_there_is_asked_again_ever_later() -> None:
    """Not found: after a day, then twice as late; without an answer after a minute; after a month at the latest."""
    settings = RefreshRetirementSettings()
    assert asked_again_at(404, 1, NOW, settings) == NOW + DAY
    assert asked_again_at(410, 3, NOW, settings) == NOW + 4 * DAY
    assert asked_again_at(404, 100, NOW, settings) == NOW + 30 * DAY
    assert asked_again_at(402, 1, NOW, settings) == NOW + 30 * DAY
    assert asked_again_at(500, 1, NOW, settings) == NOW + 60
    assert asked_again_at(None, 50, NOW, settings) == NOW + 30 * DAY


def test_a_page_without_weight_is_worthless() -> None:
    """No visit is worth anything then."""
    assert why_worthless(0.0) == "worthless"
    assert why_worthless(1.0) == ""

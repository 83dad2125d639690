"""The passes, hosts and shares of domains with a budget."""

from __future__ import annotations

import math

import pytest
from tests.each_case import each_case

from periplus.policy.domain_budgets import (
    MAX_CREDIT,
    DiscountCredit,
    host_is_admitted,
    max_active_hosts,
    octave_of,
    pass_of,
)


@each_case(
    ("k", "number"), [(1, 0), (10, 0), (11, 1), (30, 1), (31, 2), (70, 2), (71, 3), (150, 3), (151, 4), (10_000, 9)]
)
def test_pass_of_a_page(k: int, number: int) -> None:
    """The check values for a budget of 10, which follow max(0, ceil(log2(k / B + 1)) - 1)."""
    assert pass_of(k, 10) == number == max(0, math.ceil(math.log2(k / 10 + 1)) - 1)


def test_octaves_order_domains_by_use_of_their_budgets() -> None:
    """The first page of a large budget is before that of a small one; an unlimited domain is before all."""
    assert [octave_of(k, 10) for k in (1, 2, 3, 5, 6, 10, 11, 31)] == [-3, -2, -1, -1, 0, 0, 1, 2]
    assert octave_of(1, 10_000) == -13
    assert octave_of(10**9, math.inf) == -20 == octave_of(1, 2.0**30)
    assert pass_of(10**12, math.inf) == 0


def test_infinite_island_is_complete_after_pass_6() -> None:
    """500 pages of a domain with the smallest budget are fetched within seven passes."""
    assert pass_of(500, 10) <= 6


def test_hosts_are_admitted_like_the_harmonic_series() -> None:
    """Of n hosts 64 * (1 + ln(n / 64)) are admitted; one that was refused stays refused, however often it is found."""
    admitted, refused = 0, list[str]()
    for number in range(20_000):
        if host_is_admitted(f"h{number}.farm.test", admitted, 64):
            admitted += 1
        elif len(refused) < 50:
            refused.append(f"h{number}.farm.test")
    assert admitted == pytest.approx(64 * (1 + math.log(20_000 / 64)), rel=0.15)
    assert not any(host_is_admitted(host, admitted, 64) for host in refused)


def test_active_hosts_grow_with_the_root_of_a_budget() -> None:
    assert [max_active_hosts(budget, 10_000) for budget in (10, 100, 10_000, math.inf)] == [16, 40, 400, 400]


def test_one_request_in_twenty_may_go_to_spam() -> None:
    """19 requests to others earn one; what is not used is kept, but not without end."""
    credit, allowed = DiscountCredit(0.05), []
    for _ in range(20):
        credit.count(is_discounted=False)
        allowed.append(credit.is_enough)
    assert allowed.index(True) in (18, 19)
    credit.count(is_discounted=True)
    assert credit.credit < 1.0
    for _ in range(10_000):
        credit.count(is_discounted=False)
    assert credit.credit == MAX_CREDIT


def test_a_share_of_one_does_not_limit() -> None:
    """All requests may go to spam."""
    credit = DiscountCredit(1.0)
    for _ in range(100):
        credit.count(is_discounted=True)
    assert credit.is_enough

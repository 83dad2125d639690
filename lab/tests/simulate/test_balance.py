"""The balance experiment: the shipped policy on two queues, against other ways of dividing the same budget."""

from __future__ import annotations

import pytest

from periplus.model import Lane
from periplus.policy.settings import BalanceSettings
from periplus_lab.simulate.balance import (
    BEST,
    KINDS,
    WAYS,
    BalanceRow,
    SourceQueues,
    best_split,
    fetch,
    queues_of,
    run_balance,
)


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], BalanceRow]:
    """The default experiment, once."""
    return {(row.kind, row.way): row for row in run_balance(seeds=range(1))}


def test_every_way_is_run_on_every_kind_of_site(rows: dict[tuple[str, str], BalanceRow]) -> None:
    """Nothing finds more than the best split, and all numbers are shares of the budget."""
    assert set(rows) == {(kind.name, way) for kind in KINDS for way in (*WAYS, BEST)}
    for (kind, _), row in rows.items():
        assert row.unique <= rows[kind, BEST].unique * 1.01
        assert 0 <= row.sitemaps <= 1
        assert all(value <= row.budget for value in row.values)


def test_balance_moves_the_budget_to_the_better_source(rows: dict[tuple[str, str], BalanceRow]) -> None:
    """It finds more than halves where one source is bad, and is near the best split everywhere."""
    for kind in ("forgotten sitemap", "cluttered links"):
        assert rows[kind, "balance"].unique > 1.05 * rows[kind, "half and half"].unique
    assert rows["forgotten sitemap", "balance"].sitemaps < 0.3
    assert rows["cluttered links", "balance"].sitemaps > 0.7
    for each in KINDS:
        assert rows[each.name, "balance"].of_best > 0.85


def test_a_fixed_balance_is_half_and_half() -> None:
    """With two endless queues each gets half of the fetches."""
    queues = SourceQueues(tuple(range(1000)), tuple(range(1000, 2000)))
    found = fetch(queues, BalanceSettings(is_fixed=True), 400)
    assert (found.unique, found.sitemaps) == (400, 200)


def test_a_page_of_both_queues_is_fetched_once() -> None:
    """Two equal queues are one: as many unique pages as fetches."""
    queues = SourceQueues(tuple(range(500)), tuple(range(500)))
    assert fetch(queues, BalanceSettings(), 300).unique == 300
    assert fetch(queues, BalanceSettings(), 900).unique == 500


def test_the_best_split_is_found() -> None:
    """All good pages of the sitemap, then links."""
    queues = SourceQueues(tuple(range(100, 200)), (*range(50), *([-1] * 50)))
    assert best_split(queues, 100).unique == 100
    assert fetch(queues, Lane.SITEMAPS, 100).unique == 50


def test_the_same_seed_gives_the_same_queues() -> None:
    """And another seed other ones."""
    assert queues_of(KINDS[0], 200, 1) == queues_of(KINDS[0], 200, 1) != queues_of(KINDS[0], 200, 2)

"""The shares of Cho & Garcia-Molina (2003): the published tables, and what makes a share the best one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.hypothesis_depth import examples
from tests.reference.visit_frequencies import expected_age, expected_freshness, frequencies_for_age

from periplus.engine.revisit.allocation import frequencies_for_freshness, harmonic_frequencies, random_frequencies

FIVE = np.arange(1.0, 6.0)
MIX = np.repeat(1 / np.array([1.0, 7, 30, 120, 365]), [23, 15, 16, 16, 30])
MONTHLY = len(MIX) / 30


def test_five_pages_for_freshness() -> None:
    """Rates of 1 to 5 a day, five visits: the one that changes most often is given up."""
    share = frequencies_for_freshness(FIVE, 5)
    assert share == pytest.approx([1.150, 1.358, 1.354, 1.138, 0], abs=1e-3)
    assert expected_freshness(FIVE, share).mean() == pytest.approx(0.37389, abs=1e-5)
    assert expected_freshness(FIVE, 1).mean() == pytest.approx(0.36505, abs=1e-5)
    assert expected_freshness(FIVE, FIVE / 3).mean() == pytest.approx(0.31674, abs=1e-5)


def test_five_pages_for_age() -> None:
    """For age none is given up, and shares are nearly equal."""
    share = frequencies_for_age(FIVE, 5)
    assert share == pytest.approx([0.835, 0.968, 1.034, 1.071, 1.093], abs=1e-3)
    assert expected_age(FIVE, share).mean() == pytest.approx(0.25034, abs=1e-5)
    assert expected_age(FIVE, 1).mean() == pytest.approx(0.25432, abs=1e-5)
    assert expected_age(FIVE, FIVE / 3).mean() == pytest.approx(0.37298, abs=1e-5)


def test_the_webs_mix() -> None:
    """One visit a page and month: proportional visits are by far the worst, and the best leave daily pages alone."""
    best = frequencies_for_freshness(MIX, MONTHLY)
    assert best[[0, 23, 38, 54, 70]] == pytest.approx([0, 0.0876, 0.0582, 0.0322, 0.0192], abs=1e-4)
    proportional = MIX / MIX.sum() * MONTHLY
    assert expected_freshness(MIX, proportional).mean() == pytest.approx(0.129, abs=1e-3)
    assert expected_freshness(MIX, 1 / 30).mean() == pytest.approx(0.573, abs=1e-3)
    assert expected_freshness(MIX, best).mean() == pytest.approx(0.616, abs=1e-3)
    assert expected_age(MIX, proportional).mean() == pytest.approx(406, abs=1)
    assert expected_age(MIX, 1 / 30).mean() == pytest.approx(5.61, abs=0.01)
    assert expected_age(MIX, frequencies_for_age(MIX, MONTHLY)).mean() == pytest.approx(4.30, abs=0.01)


def test_a_page_is_visited_no_more_often_than_may_be() -> None:
    """A cap holds, what it frees goes to others, and what all caps leave stays unspent."""
    share = frequencies_for_freshness(FIVE, 3, most=0.8)
    assert share.max() == pytest.approx(0.8)
    assert share.sum() == pytest.approx(3)
    assert frequencies_for_freshness([1, 2, 0], 5, most=1).tolist() == [1, 1, 0]


@pytest.mark.parametrize("share_out", [frequencies_for_freshness, frequencies_for_age])
def test_nothing_to_share(share_out: Callable[[list[float], float], NDArray[np.float64]]) -> None:
    """No pages, no budget, or nothing that changes: no visits, and no complaint."""
    assert share_out([], 5).tolist() == []
    assert share_out([1, 2], 0).tolist() == [0, 0]
    assert share_out([0, 0], 3).tolist() == [0, 0]


positive = st.floats(1e-3, 1e3)


@settings(max_examples=examples(10))
@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=8), st.floats(1e-2, 1e2))
def test_spent_and_not_to_be_bettered(pages: list[tuple[float, float]], budget: float) -> None:
    """All of the budget is spent, and no small shift from one page to another helps, for either objective."""
    rates, weights = np.array(pages).T
    for share_out, value in (
        (frequencies_for_freshness, expected_freshness),
        (frequencies_for_age, lambda rates, f: -expected_age(rates, f)),
    ):
        share = share_out(rates, budget, weights=weights)
        assert share.sum() == pytest.approx(budget, rel=1e-6)
        best = weights @ value(rates, share)
        for source in np.flatnonzero(share > 0):
            moved = share.copy()
            moved[source] -= share[source] * 1e-3
            moved[(source + 1) % len(share)] += share[source] * 1e-3
            assert weights @ value(rates, moved) <= best + 1e-9 * max(1, abs(best))


def test_random_visits() -> None:
    """Azar et al.: five pages of rates 1 to 5, five visits."""
    share = random_frequencies(FIVE, 5)
    assert share == pytest.approx([1.3860, 1.3743, 1.1326, 0.7719, 0.3352], abs=1e-4)
    assert (share / (share + FIVE)).mean() == pytest.approx(0.29737, abs=1e-5)
    assert FIVE / (share + FIVE) ** 2 == pytest.approx([0.175659] * 5, abs=1e-6)


def test_random_visits_to_few() -> None:
    """Pages that change too often for the budget get none, and nothing of it is left."""
    share = random_frequencies(FIVE, 0.5)
    assert share[-1] == 0
    assert share.sum() == pytest.approx(0.5)


def test_lambda_crawl() -> None:
    """Pages that must be polled: all of them are; and pages whose changes are announced."""
    polled, _ = harmonic_frequencies(FIVE, 5)
    assert polled == pytest.approx([0.7829, 0.9472, 1.0372, 1.0956, 1.1371], abs=1e-4)
    assert np.log1p(FIVE / polled).mean() == pytest.approx(1.30801, abs=1e-5)
    assert FIVE / (polled * (polled + FIVE)) == pytest.approx([0.71646] * 5, abs=1e-5)
    none, followed = harmonic_frequencies(FIVE, 5, is_announced=True)
    assert none.sum() == 0
    assert followed == pytest.approx([1, 0.5, 1 / 3, 0.25, 0.2], abs=1e-9)
    assert -np.log(followed).mean() == pytest.approx(0.95750, abs=1e-5)


def test_lambda_crawl_of_both_kinds() -> None:
    """One price for both: together they spend the budget."""
    polled, followed = harmonic_frequencies(FIVE, 4, is_announced=[True, False, True, False, True])
    assert polled.sum() + (followed * FIVE).sum() == pytest.approx(4)
    price = FIVE[1] / (polled[1] * (polled[1] + FIVE[1]))
    assert followed[4] == pytest.approx(1 / (price * 5))

"""Whatever parts of a crawl want, the whole is shared out, and every part gets some."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.engine.revisit.market import Market, shared_out
from periplus.model import Bid

ANYTHING = st.floats(allow_nan=True, allow_infinity=True)
WHOLE = st.floats(1e-3, 1e12)


@given(WHOLE, st.lists(ANYTHING, min_size=1, max_size=40))
def test_shares_sum_to_the_whole(whole: float, wanted: list[float]) -> None:
    """And everybody has a tenth of an equal share."""
    shares = shared_out(whole, wanted)
    assert math.fsum(shares) == pytest.approx(whole, rel=1e-12)
    assert min(shares) >= 0.0999 * whole / len(wanted)


@given(WHOLE, st.data())
def test_no_bids_break_the_market(whole: float, data: st.DataObject) -> None:
    """Prices, pages and times as absurd as may be: what is granted sums to the whole after every turn."""
    parts = data.draw(st.integers(1, 5))
    market = Market(parts)
    number = st.integers(0, 10**9)
    bids = st.builds(Bid, st.floats(0, 1e10), st.just(whole), st.floats(1e-9, 1e12), ANYTHING, ANYTHING, number, number)
    for _ in range(5):
        news = market.turn(data.draw(st.lists(bids, min_size=parts, max_size=parts)))
        assert all(market.granted[which] == visits for which, visits in news)
        assert math.fsum(market.granted) == pytest.approx(whole, rel=1e-12)

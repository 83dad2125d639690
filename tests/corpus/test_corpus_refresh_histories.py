"""Changes that really happened: the crawler's own policy is as fresh as the best of those that know no more than it."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus_lab.simulate.freshness import simulate_freshness
from periplus_lab.simulate.histories import read_histories, window

pytestmark = pytest.mark.corpus


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.02, 0.1, 0.2])
def test_learned_is_as_fresh_as_the_best_of_the_simple(corpus: Path, budget: float) -> None:
    """Within half a point of a round in a fixed order and of what Nutch does; above a uniform one, below the oracle."""
    span = window(read_histories(corpus / "change_histories" / "changes.tsv.gz"), 400)
    fresh = {
        policy: simulate_freshness(span, policy, budget).freshness
        for policy in ("uniform", "conventional", "adaptive", "learned", "oracle")
    }
    assert fresh["learned"] > fresh["uniform"]
    assert fresh["learned"] > max(fresh["conventional"], fresh["adaptive"]) - 0.005
    assert fresh["oracle"] > fresh["learned"]

"""Every ordering fetches a small site in the order of the simulator, and of a reference where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.orders import RULES, all_orderings, compared

QUICK = ("breadth_first", "indegree", "opic")


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_simple_orderings_go_by_the_book(delay: float, tmp_path: Path) -> None:
    rows = list(compared("one site", 60, 1, 1, QUICK, [delay], tmp_path))
    assert [row.ordering for row in rows] == list(QUICK)
    for row in rows:
        assert str(row.simulator) == "same"
        assert str(row.reference) == "same"


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_every_ordering_is_that_of_the_simulator(shards: int, tmp_path: Path) -> None:
    rows = list(compared("ten sites", 300, 10, shards, all_orderings(), [0.0, 1.0], tmp_path))
    assert {row.ordering for row in rows if row.reference is not None} == set(RULES)
    assert [(row.ordering, row.delay) for row in rows if str(row.simulator) != "same"] == []

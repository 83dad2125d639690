"""Crawls on a disk that fails, in virtual time: a few of the seeds that `make soak MINUTES=60` runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.shards import run_shards
from tests.faults.simulation import WORLDS, run_seed

WORLD = 10
"""One web for all seeds: what is reachable there is found out once."""
SLOW_SEEDS = range(1_000, 1_060)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [WORLD + WORLDS, WORLD + 2 * WORLDS, *SLOW_SEEDS])
def test_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path, seed: int) -> None:
    """Whatever fails, and whenever. To see what happened: `python -m tests.faults.soak --seed N`."""
    run_seed(seed, tmp_path)


def test_a_seed_repeats_a_run_that_loses_nothing(tmp_path: Path) -> None:
    """Nothing is lost and nothing happens twice; the same faults at the same operations, and the same answers."""
    first, second = (run_seed(WORLD, tmp_path / name) for name in ("first", "second"))
    assert [line.replace("/first/", "/second/") for line in first.story] == second.story
    assert first.servers.delivered == second.servers.delivered


@pytest.mark.parametrize("seed", [WORLD + WORLDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW_SEEDS)])
def test_shards_lose_nothing(tmp_path: Path, seed: int) -> None:
    """Shards die alone and together; messages between them are late and come twice."""
    run_shards(seed, tmp_path)

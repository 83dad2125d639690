"""Features meet: crawls of generated webs with generated settings, a few of the seeds that `make soak` runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.meeting.crawls import run_meeting
from tests.meeting.drawn import PARTS, config_of
from tests.meeting.seeds import FOUND, QUICK

SLOW_SEEDS = range(2_000, 2_040)


@pytest.mark.parametrize(
    "seed", [*QUICK, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (*FOUND, *SLOW_SEEDS))]
)
def test_whatever_is_switched_on(tmp_path: Path, seed: int) -> None:
    """The crawl ends, fetches what it owes, is polite and replays. `python -m tests.meeting.soak --seed N` shows it."""
    run_meeting(seed, tmp_path)


@pytest.mark.proof
def test_a_seed_repeats_a_run(tmp_path: Path) -> None:
    """The same settings, the same web, the same deaths, and the same requests."""
    first, second = (run_meeting(QUICK[0], tmp_path / name) for name in ("first", "second"))
    assert first.story == second.story
    assert (first.traffic.requests, first.hours) == (second.traffic.requests, second.hours)
    assert first.traffic.answered == second.traffic.answered


def test_seeds_draw_every_choice() -> None:
    """Within a hundred seeds each part of the settings has been drawn in at least two ways."""
    configs = [config_of(seed) for seed in range(100)]
    assert len({config.politeness for config in configs}) > 50
    assert len({config.crawl.ordering for config in configs}) >= 12
    for name in (
        "forms.enabled",
        "render.mode",
        "requisites.enabled",
        "permissions.ledger",
        "scope.kind",
        "budgets.domain",
        "absence.enabled",
        "mirrors.enabled",
    ):
        table, key = name.split(".")
        assert len({getattr(getattr(config, table), key) for config in configs}) >= 2, name
    assert len(PARTS) == 13

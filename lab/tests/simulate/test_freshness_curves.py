"""Curves that compare policies: gains and savings are what the paper calls so, with intervals over seeds."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import msgspec
import numpy as np
import pytest

from periplus.model import ConfigError
from periplus_lab.simulate.freshness import (
    FreshnessResult,
    budget_for,
    freshness_curves,
    freshness_table,
    gain,
    run_freshness,
    saved,
)
from periplus_lab.simulate.histories import Histories, HistorySettings, generate_histories, read_histories
from periplus_lab.simulate.refresh import TruthSettings, refresh_policies

BUDGETS = np.array([0.1, 0.2, 0.3])


def small(seed: int) -> Histories:
    return generate_histories(HistorySettings(pages=300, sites=1, days=30, seed=seed))


def told(policy: str, budget: float, freshness: float, seed: int = 0) -> FreshnessResult:
    return FreshnessResult(policy, budget, seed, 10, 10, freshness, freshness, 0.0, 1, 0.0)


def test_gain_is_relative_to_the_plain_one() -> None:
    """A fifth fresher is a gain of a fifth; against nothing there is no number."""
    gained = gain(np.array([0.6, 0.5]), np.array([0.5, 0.0]))
    assert gained[0] == pytest.approx(0.2)
    assert isnan(gained[1])


def test_budget_for_a_freshness() -> None:
    """Between two budgets that were tried, on the way up; beyond them it is unknown."""
    freshness = np.array([0.5, 0.7, 0.6])
    assert budget_for([0.5, 0.6, 0.7], BUDGETS, freshness) == pytest.approx([0.1, 0.15, 0.2])
    assert np.isnan(budget_for([0.4, 0.8], BUDGETS, freshness)).all()


def test_perfection_costs_the_least_that_reaches_it() -> None:
    """Where several budgets are perfect the first one counts."""
    assert budget_for(1.0, BUDGETS, np.array([0.5, 1.0, 1.0])) == pytest.approx(0.2)


def test_saved_is_relative_to_the_plain_budget() -> None:
    """Half the bandwidth for the same is half saved."""
    assert saved(0.7, BUDGETS, np.array([0.7, 0.9, 1.0]), np.array([0.5, 0.7, 0.8])) == pytest.approx(0.5)


def test_curves_are_means_over_seeds() -> None:
    """Two seeds: the mean between them, and an interval around it; gains are computed seed by seed."""
    results = [
        told(policy, 0.1, freshness, seed)
        for policy, values in (("conventional", (0.5, 0.4)), ("metadata", (0.6, 0.5)))
        for seed, freshness in enumerate(values)
    ]
    curves = freshness_curves(results)
    assert [curve.name for curve in curves.freshness] == ["conventional", "metadata"]
    assert curves.freshness[0].y == pytest.approx([0.45])
    assert curves.freshness[0].low[0] < 0.45 < curves.freshness[0].high[0]
    assert curves.gain[0].y == pytest.approx([(0.2 + 0.25) / 2])


def test_runs_that_do_not_match_are_refused() -> None:
    """A table with holes compares nothing."""
    with pytest.raises(ConfigError):
        freshness_table([told("a", 0.1, 0.5), told("b", 0.2, 0.5)])


def test_without_a_baseline_nothing_is_gained() -> None:
    """Freshness alone is shown."""
    curves = freshness_curves([told("oracle", 0.1, 0.5)])
    assert (len(curves.freshness), curves.gain, curves.saved) == (1, [], [])


def test_every_run_is_told_and_repeats() -> None:
    """Progress counts every run up to the total; the same seeds give the same bytes, other seeds others."""
    steps: list[tuple[int, int]] = []
    free = TruthSettings(archives=0)
    results = run_freshness(
        small,
        ["conventional", "metadata"],
        [0.05, 0.2, 0.6],
        seeds=[1, 2],
        settings=free,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(done, 12) for done in range(1, 13)]
    again = run_freshness(small, ["conventional", "metadata"], [0.05, 0.2, 0.6], seeds=[1, 2], settings=free)
    assert msgspec.json.encode(results) == msgspec.json.encode(again)
    _, table = freshness_table(results)
    assert (table["conventional"][0] != table["conventional"][1]).any()
    assert (table["metadata"] >= table["conventional"]).all()


def test_a_wrong_name_is_refused_before_hours_of_runs() -> None:
    """Policies and budgets are looked at before the first run, not when it is their turn."""
    steps: list[int] = []
    for policies, budgets in ((["oracle", "orakle"], [0.1]), (["oracle"], [0.1, 2.0])):
        with pytest.raises(ConfigError):
            run_freshness(small, policies, budgets, progress=lambda done, _total: steps.append(done))
    assert steps == []


@pytest.mark.slow
@pytest.mark.corpus
def test_pages_that_really_changed(corpus: Path) -> None:
    """On years of real changes: told beats guessing, knowing all beats being told, and more budget is fresher."""
    histories = read_histories(corpus / "change_histories" / "changes.tsv.gz")
    results = run_freshness(histories, refresh_policies(), [0.01, 0.1], days=120, settings=TruthSettings(archives=0))
    _, table = freshness_table(results, "freshness")
    low, high = np.array([table[name][0] for name in table]).T
    assert (low < high).all()
    assert ((low > 0.3) & (high <= 1)).all()
    for name in ("conventional", "uniform", "proportional", "optimal"):
        assert table[name][0][0] < table["metadata"][0][0] <= table["oracle"][0][0] + 0.01

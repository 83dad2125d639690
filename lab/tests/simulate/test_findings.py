"""Verdicts follow from stated tolerances, and intervals from Student's t."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from tests.each_case import each_case

from periplus_lab.simulate.findings import finding, mean_curve, mean_interval


def test_interval_is_students() -> None:
    """Five values: t(4) = 2.776 standard errors on either side."""
    mean, low, high = mean_interval([1, 2, 3, 4, 5])
    assert mean == 3
    assert (high - mean, mean - low) == pytest.approx((1.9633, 1.9633), abs=1e-4)


def test_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of many intervals 95 % hold the mean of the distribution."""
    samples = np.random.default_rng(1).normal(7, 3, (2_000, 4))
    held = [low <= 7 <= high for _, low, high in map(mean_interval, samples)]
    assert 0.935 <= np.mean(held) <= 0.965


def test_one_value_and_none() -> None:
    """One value is its own bounds; of nothing nothing is known."""
    assert mean_interval([4.0]) == (4, 4, 4)
    assert all(isnan(value) for value in mean_interval([]))


@each_case(
    ("paper", "ours", "verdict"),
    [(0.2, 0.22, "agrees"), (0.2, 0.25, "differs by +0.05 share"), (None, 0.2, "not comparable")],
)
def test_verdict(paper: float | None, ours: float, verdict: str) -> None:
    """Within the tolerance a value agrees, at its edge too; beyond, the difference is told with its sign."""
    assert finding("freshness", paper, ours, "share", tolerance=0.02).verdict == verdict


def test_repetitions_carry_their_interval() -> None:
    """A value of several seeds is their mean, with bounds; a value that is not a number is compared with nothing."""
    told = finding("gain", 25, [24.0, 26.0, 25.0], "%", tolerance=1)
    assert (told.ours, told.verdict) == (25, "agrees")
    assert told.low is not None
    assert told.high is not None
    assert told.low < 25 < told.high
    assert finding("gain", 25, float("nan")).verdict == "not comparable"


def test_mean_curve() -> None:
    """A curve has a mean and bounds at every point; repetitions of unequal length are an error of ours."""
    curve = mean_curve("a", [0, 1], [[1, 5], [3, 5]])
    assert curve.y == [2, 5]
    assert curve.low[1] == curve.high[1] == 5
    with pytest.raises(ValueError):
        mean_curve("a", [0, 1], [[1, 5], [3]])

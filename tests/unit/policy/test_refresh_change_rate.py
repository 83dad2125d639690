"""Change rates of single pages and of groups: check values, bias, and what helps whom."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from periplus.policy.refresh import (
    ByChance,
    RunningRate,
    first_prior,
    fit_prior,
    from_dates,
    group_rates,
    improved,
    likeliest,
    most_probable,
    naive,
)


def binomial(n: int, p: float) -> NDArray[np.float64]:
    return np.array([math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)])


@pytest.mark.parametrize(("r", "ratio"), [(0.1, 0.952), (0.5, 0.787), (1.0, 0.632), (2.0, 0.432)])
def test_counting_detections_is_biased_low(r: float, ratio: float) -> None:
    """By (1 - e^-r)/r, however many visits there are."""
    for n in (5, 30):
        mean = binomial(n, 1 - math.exp(-r)) @ [naive(x, n) for x in range(n + 1)]
        assert mean / r == pytest.approx(ratio, abs=5e-4)


@pytest.mark.parametrize(
    ("n", "x", "r"),
    [
        (10, 0, 0), (10, 1, 0.100083), (10, 5, 0.646627), (10, 9, 1.945910), (10, 10, 3.044522),
        (30, 3, 0.103541), (1, 1, 1.098612),
    ],
)  # fmt: skip
def test_the_improved_estimator(n: int, x: int, r: float) -> None:
    """Finite where every visit found a change, zero where none did."""
    assert improved(x, n) == pytest.approx(r, abs=1e-6)
    assert improved(x, n, frequency=7) == pytest.approx(7 * r, abs=1e-5)


@pytest.mark.parametrize(
    ("n", "r", "ratio"),
    [
        (10, 0.1, 1.001), (10, 0.5, 1.002), (10, 1, 1.003), (10, 2, 0.970),
        (5, 0.1, 1.004), (5, 0.5, 1.007), (5, 1, 0.995), (5, 2, 0.876),
    ],
)  # fmt: skip
def test_the_improved_estimator_has_hardly_any_bias(n: int, r: float, ratio: float) -> None:
    """Less than half a per cent for ten visits and up to one change between two."""
    mean = binomial(n, 1 - math.exp(-r)) @ [improved(x, n) for x in range(n + 1)]
    assert mean / r == pytest.approx(ratio, abs=1e-3)


def test_irregular_visits() -> None:
    """The likeliest rate; none where all visits agree."""
    assert likeliest([1, 2, 1, 3, 4], [1, 1, 0, 0, 0]) == pytest.approx(0.212502, abs=1e-6)
    assert likeliest([0.5, 4, 4, 1, 1, 2], [1, 1, 1, 0, 0, 0]) == pytest.approx(0.418115, abs=1e-6)
    assert likeliest([1] * 10, [1] * 3 + [0] * 7) == pytest.approx(-math.log(0.7))
    assert likeliest([1, 2], [0, 0]) == 0
    assert likeliest([1, 2], [1, 1]) == math.inf


def test_a_prior_always_has_an_answer() -> None:
    """Where all visits found a change, and where none did."""
    assert most_probable([1] * 10, [1] * 10) == pytest.approx(3.38099, abs=1e-5)
    assert most_probable([1] * 10, [0] * 10) == pytest.approx(0.04762, abs=1e-5)


def test_one_visit_after_the_other() -> None:
    """Two numbers, near what all visits together say."""
    rate, found = RunningRate(0.5, 1.0), []
    visits = [(1, 1), (0, 1), (0, 2), (1, 3), (0, 1), (1, 1)]
    for is_changed, days in visits:
        rate = rate.seen(bool(is_changed), days)
        found.append(rate.rate)
    assert found == pytest.approx([0.885374, 0.590249, 0.354149, 0.424289, 0.377146, 0.459471], abs=1e-6)
    together = most_probable([days for _, days in visits], [changed for changed, _ in visits], 0.5, 1.0)
    assert together == pytest.approx(0.495831, abs=1e-6)


def test_what_is_long_past_fades() -> None:
    """A page that fell asleep is soon known to sleep."""
    busy = RunningRate()
    for _ in range(100):
        busy = busy.seen(True, 1.0)
    slow, quick = busy, busy
    for _ in range(50):
        slow, quick = slow.seen(False, 1.0), quick.seen(False, 1.0, memory=10)
    assert quick.rate < slow.rate / 3


def test_dates_of_modification() -> None:
    """A censored exponential without its bias; they tell most of pages that change fast."""
    assert from_dates(10, 4, 6.3) == pytest.approx(0.60048, abs=1e-5)
    assert from_dates(10, 0, 6.3) == 0
    assert from_dates(3, 3, 2.0) == 1
    random = np.random.default_rng(3)
    for rate, mean in ((0.1, 0.0999), (0.5, 0.502), (1, 1.007), (2, 2.019)):
        ages = random.exponential(1 / rate, (20_000, 10))
        is_changed = ages < 1
        days = np.where(is_changed, ages, 1.0).sum(axis=1)
        found = [from_dates(10, int(x), t) for x, t in zip(is_changed.sum(axis=1), days, strict=True)]
        assert np.mean(found) == pytest.approx(mean, rel=0.02)


def test_visits_by_chance() -> None:
    """The share of visits that find a change tells the rate, without any interval."""
    random, page = np.random.default_rng(0), ByChance(frequency=2.0)
    for _ in range(5000):
        page = page.seen(bool(random.random() < 3 / 5))
    assert page.rate == pytest.approx(3.0, rel=0.1)
    assert math.isfinite(ByChance(2.0).seen(True).rate)


@pytest.mark.parametrize("visits", [2, 5, 10, 30])
def test_neighbours_help(visits: int) -> None:
    """Empirical Bayes predicts better than the page alone (twice) and than the site's mean, whatever the visits."""
    random = np.random.default_rng(visits)
    errors = np.zeros(4)
    for _ in range(20):
        rates = random.gamma(1.0, np.exp(random.normal(-1.2, 0.8)), 200)
        changes = random.binomial(visits, -np.expm1(-rates))
        mean = np.full(200, improved(int(changes.sum()), 200 * visits))
        guesses = (
            np.array([naive(int(x), visits) for x in changes]),
            np.array([improved(int(x), visits) for x in changes]),
            mean,
            group_rates(changes, np.full(200, visits), fit_prior(changes, np.full(200, visits))),
        )
        errors += [float(((np.exp(-guess) - np.exp(-rates)) ** 2).mean()) for guess in guesses]
    assert errors.argmin() == 3


def test_a_group_that_nobody_knows() -> None:
    """Begins wide, around the middle of all."""
    assert first_prior(0.2).rate == pytest.approx(0.2)
    assert group_rates([1], [1], first_prior())[0] > first_prior().rate > group_rates([0], [1], first_prior())[0]

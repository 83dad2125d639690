"""What a visit is worth: check values of the closed forms, simulation, and tables that agree with them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.each_case import each_case
from tests.reference.signal_model import SignalModel
from tests.reference.visit_frequencies import expected_freshness, frequencies_for_age

from periplus.engine.revisit import crawl_value
from periplus.engine.revisit.allocation import (
    AdaptiveSettings,
    adapted,
    frequencies_for_freshness,
    harmonic_frequencies,
    random_frequencies,
)
from periplus.engine.revisit.crawl_value import CrawlValue
from periplus.engine.revisit.objectives import age_cost, binary_cost, harmonic_cost, objective, objectives
from periplus.model import ConfigError

NOISY = SignalModel(1.0, recall=0.6, false_signals=0.3)


def test_the_model() -> None:
    """Rates, precision and what a signal is worth follow from recall and false signals."""
    assert (NOISY.alpha, NOISY.gamma) == pytest.approx((0.4, 0.9))
    assert NOISY.precision == pytest.approx(0.6667, abs=1e-4)
    assert NOISY.kappa / NOISY.alpha == pytest.approx(2.74653, abs=1e-5)


@each_case(
    ("iota", "psi", "w", "value"),
    [(1, 0.65937, 0.55959, 0.117604), (3, 1.06131, 0.76142, 0.441761), (6, 1.99625, 0.93412, 0.753021)],
)
def test_closed_forms(iota: float, psi: float, w: float, value: float) -> None:
    """Mean interval, fresh days and worth at a threshold."""
    reasons = NOISY.alpha * iota
    assert NOISY.interval(reasons)[0] == pytest.approx(psi, abs=1e-5)
    assert NOISY.fresh_days(reasons)[0] == pytest.approx(w, abs=1e-5)
    assert NOISY.value(reasons)[0] == pytest.approx(value, abs=1e-6)


def test_closed_forms_against_chance() -> None:
    """Intervals and fresh days of a page that is visited at the threshold, as they come by simulation."""
    random = np.random.default_rng(5)
    reasons, intervals, fresh = NOISY.alpha * 3, [], []
    for _ in range(6_000):
        signals = np.cumsum(random.exponential(1 / NOISY.gamma, 30))
        reached = NOISY.alpha * signals + NOISY.kappa * np.arange(1, 31) >= reasons
        quiet = (reasons - NOISY.kappa * np.arange(31)) / NOISY.alpha
        first = int(reached.argmax())
        end = float(min(signals[first], max(quiet[first], 0.0) if quiet[first] > 0 else signals[first]))
        stale = float(random.exponential(1 / NOISY.alpha))
        right = signals[random.random(30) < NOISY.precision]
        stale = min(stale, float(right[0]) if len(right) else math.inf)
        intervals.append(end)
        fresh.append(min(end, stale))
    assert np.mean(intervals) == pytest.approx(NOISY.interval(reasons)[0], rel=0.02)
    assert np.mean(fresh) == pytest.approx(NOISY.fresh_days(reasons)[0], rel=0.02)


def test_limits() -> None:
    """Without signals the classic index; at last 1/rate; a signal that is always right settles it."""
    assert SignalModel(1.0).value([0.5, 1, 2, 5]) == pytest.approx([0.0902, 0.2642, 0.5940, 0.9596], abs=1e-4)
    assert NOISY.value(40.0)[0] == pytest.approx(1.0)
    sure = SignalModel(2.0, recall=0.9)
    assert sure.value(sure.kappa)[0] == pytest.approx(0.5, rel=1e-3)
    assert SignalModel(1.0, recall=1.0).alpha == pytest.approx(1e-3)


def test_costs() -> None:
    """E[1 + 1/2 + ... 1/N] and the age, with and without signals, are what summing says."""
    m = np.array([3.0])
    zero = np.zeros(1)
    assert harmonic_cost(m, zero, 0.0)[0] == pytest.approx(1.6889, abs=1e-4)
    assert harmonic_cost(np.array([500.0]), zero, 0.0)[0] == pytest.approx(math.log(500) + 0.57722, abs=1e-4)
    assert age_cost(m, zero, 0.0)[0] == pytest.approx(3 - (1 - math.exp(-3)), abs=1e-6)
    harmonic = [sum(1 / k for k in range(1, n + 1)) for n in range(60)]
    poisson = [math.exp(-2) * 2**k / math.factorial(k) for k in range(50)]
    binomial = [math.comb(3, k) * 0.7**k * 0.3 ** (3 - k) for k in range(4)]
    mean = sum(poisson[i] * binomial[j] * harmonic[i + j] for i in range(50) for j in range(4))
    assert harmonic_cost(np.array([2.0]), np.array([3.0]), 0.7)[0] == pytest.approx(mean, rel=1e-5)
    assert binary_cost(np.array([2.0]), np.array([3.0]), 0.7)[0] == pytest.approx(1 - math.exp(-2) * 0.3**3)


@each_case("recall", [0.1, 0.5, 0.9])
@each_case("false_signals", [0.02, 0.3])
def test_tables_agree_with_closed_forms(recall: float, false_signals: float) -> None:
    """A page's class is near it: a few per cent, which costs no freshness."""
    tables, page = CrawlValue("binary"), SignalModel(0.5, recall, false_signals)
    seen = tables.outlook(page.alpha, page.gamma, page.kappa)
    for reasons in (0.1, 0.5, 1.0, 2.0, 5.0):
        worth = tables.value(seen.kind, seen.rate, 3.0, reasons / page.alpha)
        assert worth == pytest.approx(3 * page.value(reasons)[0], rel=0.12)
    told = tables.value(seen.kind, seen.rate, 1.0, 1.0, 2 * page.kappa)
    assert told == pytest.approx(page.value(page.alpha + 2 * page.kappa)[0], rel=0.12)


def test_the_general_form_is_the_closed_form() -> None:
    """On the point of a class the integral over any cost gives, for binary freshness, the closed form."""
    tables = CrawlValue("binary")
    seen = tables.outlook(1.0, 2.0, 1.0)
    worth, share = divmod(seen.kind - 1, 64)
    kappa = 0.105 * (5.5 / 0.105) ** (worth / 31)
    gamma = 0.03 * 1e5 ** (share / 63)
    told = gamma * -math.expm1(-kappa)
    page = SignalModel(1 + told, told / (1 + told), gamma - told)
    for reasons in (0.1, 1.0, 3.0):
        assert tables.value(seen.kind, 1.0, 1.0, reasons) == pytest.approx(page.value(reasons)[0], rel=0.003)


@each_case("name", [each for each in objectives() if objective(each).cost is not None])
def test_signals_make_a_visit_worth_more_and_sooner(name: str) -> None:
    """Worth grows with age and with signals; the age at which it is worth that is that age."""
    tables = CrawlValue(name)
    seen = tables.outlook(0.2, 0.3, 1.2)
    before = 0.0
    for signals in range(4):
        worth = tables.value(seen.kind, seen.rate, 2.0, 3.0, 1.2 * signals)
        assert worth > before
        before = worth
        assert tables.ripe_age(seen.kind, seen.rate, 2.0, worth, 1.2 * signals) == pytest.approx(3.0, rel=0.01)
    assert tables.value(seen.kind, seen.rate, 2.0, 4.0) > tables.value(seen.kind, seen.rate, 2.0, 3.0)


@pytest.mark.parametrize("name", objectives())
def test_many_pages_at_once_are_as_one_by_one(name: str) -> None:
    """The vector forms are the same functions."""
    tables, random = CrawlValue(name), np.random.default_rng(1)
    alpha, gamma, kappa = random.uniform(0.01, 1, 50), random.uniform(0, 1, 50), random.uniform(0, 5, 50)
    weight, age = random.uniform(0.1, 3, 50), random.uniform(0, 20, 50)
    boost = np.where(random.random(50) < 0.5, kappa, 0.0)
    shape = random.uniform(0.5, 40, 50)
    kind, rate = tables.outlooks(alpha, gamma, kappa, shape)
    values = tables.values(kind, rate, weight, age, boost)
    ages = tables.ripe_ages(kind, rate, weight, 0.2, boost)
    for n in range(50):
        seen = tables.outlook(alpha[n], gamma[n], kappa[n], shape=shape[n])
        assert seen.kind == kind[n]
        assert seen.rate == pytest.approx(rate[n])
        assert tables.value(seen.kind, seen.rate, weight[n], age[n], boost[n]) == pytest.approx(values[n], rel=1e-6)
        assert tables.ripe_age(seen.kind, seen.rate, weight[n], 0.2, boost[n]) == pytest.approx(ages[n], rel=1e-6)


def test_pages_of_which_little_is_known_are_not_given_up() -> None:
    """Of a rate that is certain a visit is worth 1/rate at most; of one that is a guess it is worth any price in time.

    With the shape 1 a copy is fresh with probability 1/(1 + t): t c(t) minus its integral is ln(1 + t) - t/(1 + t).
    """
    tables = CrawlValue("binary")
    sure, guess = tables.outlook(1.0, 0.0, 0.0), tables.outlook(1.0, 0.0, 0.0, shape=1.0)
    assert tables.ripe_age(sure.kind, sure.rate, 1.0, 1.5) == math.inf
    late = tables.ripe_age(guess.kind, guess.rate, 1.0, 1.5)
    assert math.log1p(late) - late / (1 + late) == pytest.approx(1.5, rel=0.02)
    for age in (0.3, 2.0, 8.0):
        worth = tables.value(guess.kind, guess.rate, 1.0, age)
        assert worth == pytest.approx(math.log1p(age) - age / (1 + age), rel=0.02)
    assert CrawlValue("uniform").outlook(1.0, 0.0, 0.0, shape=1.0).kind == 0


FIVE = np.arange(1.0, 6.0)


@each_case(
    ("name", "share_out"),
    [
        ("binary", frequencies_for_freshness),
        ("optimal", frequencies_for_freshness),
        ("age", frequencies_for_age),
        ("azar", random_frequencies),
        ("lambda", lambda rates, budget: harmonic_frequencies(rates, budget)[0]),
        ("uniform", lambda rates, budget: np.full(len(rates), budget / len(rates))),
        ("proportional", lambda rates, budget: budget * rates / rates.sum()),
    ],
)
def test_an_index_and_a_price_are_the_shares_of_the_papers(
    name: str, share_out: Callable[[NDArray[np.float64], float], NDArray[np.float64]]
) -> None:
    """At one price for all, every page comes as often as the budget shared out at once says."""
    tables = CrawlValue(name)
    ones = np.ones(5)
    kind = np.zeros(5, np.int64)
    low, high = -12.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        spent = float((1 / tables.ripe_ages(kind, FIVE, ones, math.exp(middle))).sum())
        low, high = (middle, high) if spent > 5 else (low, middle)
    found = 1 / tables.ripe_ages(kind, FIVE, ones, math.exp(high))
    assert found == pytest.approx(share_out(FIVE, 5), abs=0.01)


@pytest.mark.proof
def test_greed_by_the_chance_of_a_change_is_wrong() -> None:
    """Visiting what is most likely stale keeps less fresh than visiting what is worth most."""
    random = np.random.default_rng(0)
    rates = random.uniform(0.02, 5.0, 100)
    fresh = {name: _greedy(CrawlValue(name), rates, 10) for name in ("binary", "capture", "uniform")}
    best = float(expected_freshness(rates, frequencies_for_freshness(rates, 10)).mean())
    assert fresh["binary"] == pytest.approx(best, rel=0.02)
    assert fresh["capture"] < 0.9 * fresh["binary"]
    assert fresh["uniform"] < fresh["binary"]


def _greedy(tables: CrawlValue, rates: NDArray[np.float64], budget: int) -> float:
    """Exact expected freshness of visiting the most worthy, one after the other."""
    seen, kind, ones, fresh = np.zeros(len(rates)), np.zeros(len(rates), np.int64), np.ones(len(rates)), 0.0
    steps = 2000
    for step in range(1, steps + 1):
        now = step / budget
        chosen = int(np.argmax(tables.values(kind, rates, ones, now - seen)))
        if step > steps // 4:
            fresh += float(-np.expm1(-rates[chosen] * (now - seen[chosen])) / rates[chosen])
        seen[chosen] = now
    return fresh / (steps * 0.75 / budget) / len(rates)


def test_a_name_that_is_not_there() -> None:
    """The nearest one is named."""
    with pytest.raises(ConfigError) as told:
        objective("binari")
    assert "binary" in str(told.value.hint)


def test_intervals_by_trial() -> None:
    """Shorter by a fifth after a change, longer by two fifths otherwise, between two bounds."""
    settings = AdaptiveSettings()
    assert adapted(100_000, True, settings) == 80_000
    assert adapted(100_000, False, settings) == pytest.approx(140_000)
    assert adapted(61, True, settings) == settings.shortest
    assert adapted(0, False, settings) == pytest.approx(1.4 * settings.first)
    assert adapted(settings.longest, False, settings) == settings.longest


def test_tables_of_many_classes_are_not_all_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch of months meets thousands of classes, and values pages as one that holds all their tables."""
    gammas = np.geomspace(0.1, 50.0, 30).tolist()
    every = CrawlValue("mixed")
    expected = [
        every.value(page.kind, page.rate, 1.0, 2.0) for page in (every.outlook(0.5, each, 1.0) for each in gammas)
    ]
    monkeypatch.setattr(crawl_value, "_MOST_ROWS", 4)
    few = CrawlValue("mixed")
    pages = [few.outlook(0.5, each, 1.0) for each in gammas]
    kinds, rates = np.array([page.kind for page in pages]), np.array([page.rate for page in pages])
    assert len(set(kinds.tolist())) > 10
    assert [few.value(page.kind, page.rate, 1.0, 2.0) for page in pages] == expected
    assert len(few._rows) <= 4
    together = few.values(kinds, rates, np.ones(len(gammas)), np.full(len(gammas), 2.0))
    assert together.tolist() == pytest.approx(expected)
    assert len(few._rows) <= 4

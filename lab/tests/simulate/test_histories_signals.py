"""Signals over a history of days: as precise and complete as asked for, and used by the policies that read them."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.model import ConfigError
from periplus_lab.simulate.freshness import simulate_freshness
from periplus_lab.simulate.histories import HistorySettings, Window, generate_histories, generated_rates, window
from periplus_lab.simulate.learned_refresh import day_signals
from periplus_lab.simulate.noisy_refresh import SignalQuality


@pytest.fixture(scope="module")
def poisson() -> Window:
    """Pages that change by chance, at rates from daily to yearly."""
    made = HistorySettings(pages=240, sites=10, days=100, is_poisson=True, is_spread=True)
    return window(generate_histories(made))


def changes(span: Window) -> set[tuple[int, int]]:
    """Which pages changed on which days."""
    days = np.repeat(np.arange(span.days), np.diff(span.starts))
    return set(zip(days.tolist(), span.changed.tolist(), strict=True))


@pytest.mark.parametrize(("precision", "recall"), [(0.9, 0.5), (0.4, 0.9)])
def test_signals_are_as_right_as_asked_for(poisson: Window, precision: float, recall: float) -> None:
    """Recall is the share of changes told, precision that of signals which are right."""
    told = day_signals(poisson, SignalQuality((precision,) * 2, (recall,) * 2), seed=1)
    days = np.repeat(np.arange(poisson.days), np.diff(told.starts))
    heard, truth = list(zip(days.tolist(), told.pages.tolist(), strict=True)), changes(poisson)
    assert len(truth & set(heard)) / len(truth) == pytest.approx(recall, abs=0.1)
    assert np.mean([each in truth for each in heard]) >= precision - 0.05
    assert len(heard) == pytest.approx(len(truth) * recall / precision, rel=0.1)
    assert float(told.gamma.sum() * poisson.days) == pytest.approx(len(heard), rel=0.1)


def test_late_signals_come_late(poisson: Window) -> None:
    """By as many days as asked for."""
    told = day_signals(poisson, SignalQuality((0.999,) * 2, (1.0,) * 2, delay=3.0))
    days = np.repeat(np.arange(poisson.days), np.diff(told.starts))
    truth = changes(poisson)
    right = [(day - 3, page) in truth for day, page in zip(days.tolist(), told.pages.tolist(), strict=True)]
    assert np.mean(right) > 0.95


@pytest.mark.slow
def test_good_signals_are_worth_hearing_and_useless_ones_do_no_harm(poisson: Window) -> None:
    """Learned with signals against the same without, on days and Brandman's mix; and against who believes all."""
    fresh = {
        (policy, signals): simulate_freshness(poisson, policy, 0.1, signals=signals).freshness
        for signals, policies in (("good", ("informed",)), ("useless", ("trusting",)))
        for policy in ("learned", "deaf", *policies)
    }
    assert fresh["learned", "good"] > 1.05 * fresh["deaf", "good"]
    assert fresh["learned", "good"] > 0.95 * fresh["informed", "good"]
    assert fresh["learned", "useless"] > 0.97 * fresh["deaf", "useless"]
    assert fresh["trusting", "useless"] < fresh["learned", "useless"]


def test_without_signals_ignoring_them_changes_nothing(poisson: Window) -> None:
    """Where none come, hearing makes no difference."""
    heard, deaf = (simulate_freshness(poisson, policy, 0.1) for policy in ("learned", "deaf"))
    assert (heard.freshness, heard.needless) == (deaf.freshness, deaf.needless)


def test_an_unknown_quality_is_refused(poisson: Window) -> None:
    """It names those that there are."""
    with pytest.raises(ConfigError) as refused:
        simulate_freshness(poisson, "learned", 0.1, signals="god")
    assert "good" in refused.value.hint


@pytest.mark.proof
def test_who_learns_is_nearly_as_fresh_as_who_knows() -> None:
    """The number of a page's signals tells of its rate: without that the learned policy is four points behind here."""
    made = HistorySettings(pages=500, sites=10, days=60.0, is_poisson=True, is_spread=True, seed=1)
    span, rates = window(generate_histories(made)), generated_rates(made)
    informed, learned = (
        simulate_freshness(span, policy, 0.1, seed=1, signals="good", rates=rates).freshness
        for policy in ("informed", "learned")
    )
    assert learned > informed - 0.012

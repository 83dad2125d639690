"""What signals are worth: rows for every quality or value, whichever process computes them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from periplus.model import ConfigError
from periplus_lab.simulate.noisy_refresh import VARIED, NoisySettings, run_signals, signal_curves

SMALL = NoisySettings(sites=3, pages=12, days=12)


@pytest.mark.proof
def test_every_quality_at_every_budget() -> None:
    """A row each, with its interval; the curves are those of the first policy, and of who hears nothing."""
    rows = run_signals(
        replace(SMALL, sites=1, pages=8, days=4),
        ("learned", "deaf"),
        qualities=("good", "useless"),
        budgets=(0.2, 0.5),
        seeds=(0, 1),
        workers=1,
    )
    assert [(row.policy, row.quality, row.budget) for row in rows] == [
        (policy, quality, budget)
        for policy in ("learned", "deaf")
        for quality in ("good", "useless")
        for budget in (0.2, 0.5)
    ]
    assert all(row.low <= row.freshness <= row.high and row.repetitions == 2 for row in rows)
    curves = signal_curves(rows)
    assert [curve.name for curve in curves] == ["learned, good signals", "learned, useless signals", "deaf"]
    assert curves[0].x == [0.2, 0.5]


def test_workers_change_no_result() -> None:
    """Nor does their number."""
    one, two = (
        run_signals(replace(SMALL, days=6), ("uniform",), qualities=("good",), budgets=(0.2, 0.4), workers=workers)
        for workers in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize(
    "vary", [vary if vary == "recall" else pytest.param(vary, marks=pytest.mark.slow) for vary in VARIED]
)
def test_what_is_varied_is_varied(vary: str) -> None:
    """A curve for each policy over all of its values; worse signals are worth less."""
    rows = run_signals(SMALL, ("informed",), budgets=(0.25,), vary=vary)
    (curve,) = signal_curves(rows)
    assert (curve.name, curve.x) == ("informed", list(VARIED[vary]))
    best, worst = (curve.y[0], curve.y[-1]) if vary == "delay" else (curve.y[-1], curve.y[0])
    assert best > worst + 0.05


def test_what_cannot_be_asked() -> None:
    """Unknown names are refused before anything is run, with the nearest known one."""
    for asked, hint in (({"vary": "precison"}, "precision"), ({"qualities": ("god",)}, "good")):
        with pytest.raises(ConfigError) as refused:
            run_signals(SMALL, ("learned",), **asked)
        assert hint in refused.value.hint
    with pytest.raises(ConfigError) as refused:
        run_signals(SMALL, ("lerned",))
    assert "learned" in refused.value.hint

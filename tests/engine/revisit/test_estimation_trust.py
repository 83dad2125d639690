"""Signals that only look right: they are not heard where visits are explained better without them."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.engine.revisit.distrust import believed, likelihoods, without_signals
from periplus.engine.revisit.estimation import Estimates, SiteBeliefs, estimate_pages
from periplus.engine.revisit.evidence import DAY, SignalKind, observation, shift_of
from periplus.engine.revisit.evidence_columns import PAGE, observations_of

NOW = 1.7e9


def web(precision: float, recall: float, seed: int = 0) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Four sites whose pages change every day to once a year; eight visits each, as soon as a signal came."""
    random = np.random.default_rng(seed)
    site = np.repeat(np.arange(4), 60)
    kept = np.zeros(len(site), PAGE)
    kept["watched_from"] = int(NOW - 200 * DAY)
    rate = np.exp(random.uniform(np.log(1 / 365), 0.0, len(site)))
    for page in range(len(site)):
        for visit in range(8):
            days = min(random.exponential(precision / (recall * rate[page])), 20.0) + 1.0
            told, unsignalled = (
                random.poisson(recall * rate[page] * days),
                random.poisson((1 - recall) * rate[page] * days),
            )
            heard = told + random.poisson(recall * rate[page] * days * (1 - precision) / precision)
            pending = min(heard, 7) << shift_of(SignalKind.SITEMAP)
            kept["ring"][page, visit] = observation(days * DAY, bool(told + unsignalled), pending)
            kept["heard"][page] += heard
    return kept, site


def told_and_not(kept: NDArray[np.void], site: NDArray[np.int64]) -> tuple[Estimates, Estimates]:
    """What is estimated with signals, and without."""
    beliefs = SiteBeliefs.none(4)
    return estimate_pages(kept, site, NOW, beliefs), estimate_pages(without_signals(kept), site, NOW, beliefs)


def test_the_better_tale_is_kept_site_by_site() -> None:
    """Where visits are explained better without signals these are not heard, and rates are those of the other tale."""
    kept, site = web(0.9, 0.8)
    heard, deaf = told_and_not(kept, site)
    lying = replace(heard, precision=heard.precision.copy(), alpha=heard.alpha.copy())
    lying.precision[1, 0] = 0.9
    lying.alpha[site == 1] += 5.0
    found = believed(kept, site, lying, deaf)
    assert found.precision[1].max() == 0.0
    assert (found.right / found.judged)[1, 0] < 0.1
    assert np.array_equal(found.alpha[site == 1], deaf.alpha[site == 1])
    others = site != 1
    assert np.array_equal(found.alpha[others], lying.alpha[others])
    assert np.array_equal(found.precision[[0, 2, 3]], heard.precision[[0, 2, 3]])


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_never_heard_more_for_it(seed: int) -> None:
    """Whatever is decided, what was seen is as likely as without signals, but for odds of twenty to one."""
    kept, site = web(0.04, 0.05, seed)
    heard, deaf = told_and_not(kept, site)
    found, seen = believed(kept, site, heard, deaf), observations_of(kept)
    assert (likelihoods(seen, site, found) >= likelihoods(seen, site, deaf) - np.log(20.0) - 1e-9).all()
    assert found.precision[:, 0].mean() <= heard.precision[:, 0].mean()


def test_good_signals_are_heard() -> None:
    """As they were."""
    kept, site = web(0.9, 0.8)
    heard, deaf = told_and_not(kept, site)
    assert believed(kept, site, heard, deaf) is heard
    assert heard.precision[:, 0].min() > 0.6


def test_without_signals_evidence_has_no_signals_and_is_a_copy() -> None:
    """What was seen stays."""
    kept, _ = web(0.5, 0.5)
    before = kept.copy()
    bare = without_signals(kept)
    assert np.array_equal(kept, before)
    seen, told = observations_of(bare), observations_of(kept)
    assert not seen.signals.any()
    assert told.signals.any()
    assert np.array_equal(seen.days, told.days)
    assert np.array_equal(seen.is_changed, told.is_changed)

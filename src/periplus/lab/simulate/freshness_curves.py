"""Freshness by budget: many runs, and the curves that compare policies with a plain one.

Brandman et al. (2000), Figure 6: (a) freshness at each bandwidth; (b) gain, how much fresher than the conventional
crawler at the same bandwidth; (c) saved, how much less bandwidth for the same freshness. Every run of a seed is on the
same history, and intervals are over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from msgspec import Struct

from periplus.model import ConfigError

from .findings import Curve, mean_curve
from .freshness import FreshnessResult, check_budget, simulate_freshness
from .histories import Histories
from .noisy_refresh import SignalQuality
from .refresh import RefreshSettings, check_policy
from .window import Floats, Window, window

Progress = Callable[[int, int], None]

LEVELS = tuple(level / 100 for level in range(101))
"""Degrees of freshness for which the bandwidth is computed."""


class FreshnessCurves(Struct, frozen=True):
    """A line for each policy: its freshness, and against the baseline what it gains and what it saves."""

    freshness: list[Curve]
    gain: list[Curve]
    saved: list[Curve]


def run_freshness(
    histories: Histories | Callable[[int], Histories],
    policies: Sequence[str],
    budgets: Sequence[float],
    *,
    seeds: Sequence[int] = (0,),
    days: int | None = None,
    start: float | None = None,
    settings: RefreshSettings = RefreshSettings(),  # noqa: B008 - frozen
    signals: str | SignalQuality = "",
    progress: Progress = lambda _done, _total: None,
) -> list[FreshnessResult]:
    """Every policy at every budget with every seed; histories may be made for each seed, and so are signals.

    What cannot be run is refused before anything is.
    """
    for policy in policies:
        check_policy(policy)
    for budget in budgets:
        check_budget(budget)
    results: list[FreshnessResult] = []
    total = len(seeds) * len(policies) * len(budgets)
    for seed, span in _windows(histories, seeds, days, start):
        for policy, budget in product(policies, budgets):
            results.append(simulate_freshness(span, policy, budget, seed=seed, settings=settings, signals=signals))
            progress(len(results), total)
    return results


def _windows(
    histories: Histories | Callable[[int], Histories], seeds: Sequence[int], days: int | None, start: float | None
) -> Iterator[tuple[int, Window]]:
    """The window of each seed; of one history it is made once."""
    if isinstance(histories, Histories):
        same = window(histories, days, start)
        yield from ((seed, same) for seed in seeds)
    else:
        yield from ((seed, window(histories(seed), days, start)) for seed in seeds)


def freshness_table(
    results: Sequence[FreshnessResult], measure: str = "freshness_at_end"
) -> tuple[Floats, dict[str, Floats]]:
    """The budgets, ascending, and for each policy its measure with a row for each seed."""
    budgets = sorted({told.budget for told in results})
    seeds = sorted({told.seed for told in results})
    found = {(told.policy, told.seed, told.budget): float(getattr(told, measure)) for told in results}
    names = dict.fromkeys(told.policy for told in results)
    if len(found) != len(names) * len(seeds) * len(budgets):
        raise ConfigError("these runs cannot be compared", hint="run every policy with the same budgets and seeds")
    return np.array(budgets), {
        name: np.array([[found[name, seed, budget] for budget in budgets] for seed in seeds]) for name in names
    }


def freshness_curves(
    results: Sequence[FreshnessResult], *, baseline: str = "conventional", measure: str = "freshness_at_end"
) -> FreshnessCurves:
    """The three curves of each policy. Without a baseline there is no gain or saving."""
    budgets, table = freshness_table(results, measure)
    plain = table.get(baseline)
    others = {name: rows for name, rows in table.items() if name != baseline} if plain is not None else {}
    return FreshnessCurves(
        [mean_curve(name, budgets, rows) for name, rows in table.items()],
        [mean_curve(name, budgets, gain(rows, plain)) for name, rows in others.items() if plain is not None],
        [_saved_curve(name, budgets, rows, plain) for name, rows in others.items() if plain is not None],
    )


def gain(freshness: Floats, plain: Floats) -> Floats:
    """How much fresher, as a share of what the plain one reaches; no number where that is nothing."""
    gained: Floats = np.divide(freshness - plain, plain, out=np.full(np.shape(plain), np.nan), where=plain > 0)
    return gained


def budget_for(level: float | Sequence[float], budgets: Floats, freshness: Floats) -> Floats:
    """The smallest budget that keeps a collection this fresh, interpolated between two that were tried.

    NaN if that is never reached, or already with less than the smallest.
    """
    reached, first = np.unique(np.maximum.accumulate(freshness), return_index=True)
    return np.asarray(np.interp(level, reached, budgets[first], left=np.nan, right=np.nan))


def saved(level: float | Sequence[float], budgets: Floats, freshness: Floats, plain: Floats) -> Floats:
    """The share of the plain one's bandwidth that is not needed for the same freshness."""
    return 1 - budget_for(level, budgets, freshness) / budget_for(level, budgets, plain)


def _saved_curve(name: str, budgets: Floats, rows: Floats, plain: Floats) -> Curve:
    """Only where both are known for all seeds."""
    values = np.array([saved(LEVELS, budgets, row, base) for row, base in zip(rows, plain, strict=True)])
    known = np.flatnonzero(np.isfinite(values).all(axis=0))
    return mean_curve(name, np.array(LEVELS)[known], values[:, known])

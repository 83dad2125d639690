"""The value of change signals by their quality: many runs of `noisy_refresh`, with rows and curves.

Either qualities are compared, at several budgets, or one property (precision, recall, delay) is varied and the others
are good. Every policy sees the same web of a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import ConfigError
from periplus.policy.names import nearest

from .findings import Curve, mean_interval
from .noisy_refresh import QUALITIES, NoisyResult, NoisySettings, check_noisy, quality, simulate_noisy
from .workers import Progress, run_jobs

FIRST_POLICIES = ("learned", "deaf", "informed", "trusting")
BUDGETS = (0.1, 0.25, 0.5)
VARIED: dict[str, tuple[float, ...]] = {
    "precision": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98),
    "recall": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98),
    "delay": (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0),
}
"""What can be varied, and how far. Precision and recall are shares, a delay is days."""


class SignalsRow(Struct, frozen=True):
    """A policy at a budget under signals of a quality; or, where something is `varied`, of good ones but for that."""

    experiment: str
    policy: str
    quality: str
    varied: str
    at: float
    budget: float
    seed: int
    repetitions: int
    days: int
    pages: int
    freshness: float
    low: float
    high: float
    values: list[float]
    useful: float


def run_signals(
    settings: NoisySettings,
    policies: Sequence[str] = FIRST_POLICIES,
    *,
    qualities: Sequence[str] = tuple(QUALITIES),
    budgets: Sequence[float] = BUDGETS,
    vary: str = "",
    seeds: Sequence[int] = (0,),
    workers: int = 1,
    progress: Progress | None = None,
) -> list[SignalsRow]:
    """Every policy under every quality at every budget; or, where something is varied, at every value of it."""
    places = _places(settings, qualities, budgets, vary)
    for policy, each in product(policies, places):
        check_noisy(policy, each)
    jobs = [(policy, replace(each, seed=seed)) for policy, each, seed in product(policies, places, seeds)]
    found: dict[int, NoisyResult] = {}
    for done in run_jobs(_run, iter(jobs), total=len(jobs), steps=1, workers=workers, progress=progress):
        found[done.number] = done.result
    return [
        _row(jobs[first][1], [found[first + place] for place in range(len(seeds))], vary)
        for first in range(0, len(jobs), len(seeds))
    ]


def signal_curves(rows: Sequence[SignalsRow]) -> list[Curve]:
    """A line for each policy by what is varied; or by budget, a line for `learned` under each quality, and `deaf`."""
    groups: dict[str, list[SignalsRow]] = {}
    for row in rows:
        groups.setdefault(row.policy if row.varied else _line(rows, row), []).append(row)
    return [
        _curve(name, [(row.at if row.varied else row.budget, row) for row in own])
        for name, own in groups.items()
        if name
    ]


def _line(rows: Sequence[SignalsRow], row: SignalsRow) -> str:
    """The line that a row belongs to; none: `deaf` is the same under every quality, and the others are left out."""
    first = rows[0]
    if row.policy == first.policy:
        return f"{row.policy}, {row.quality} signals"
    return row.policy if row.policy == "deaf" and row.quality == first.quality else ""


def _curve(name: str, points: Sequence[tuple[float, SignalsRow]]) -> Curve:
    ordered = sorted(points, key=lambda point: point[0])
    return Curve(
        name,
        [at for at, _ in ordered],
        [row.freshness for _, row in ordered],
        [row.low for _, row in ordered],
        [row.high for _, row in ordered],
    )


def _places(
    settings: NoisySettings, qualities: Sequence[str], budgets: Sequence[float], vary: str
) -> list[NoisySettings]:
    if vary:
        if vary not in VARIED:
            raise ConfigError(
                f"{vary[:50]!r} cannot be varied",
                hint=f"did you mean {nearest(vary, VARIED)!r}? There are {', '.join(VARIED)}",
            )
        return [_varied(settings, vary, at, budgets[0]) for at in VARIED[vary]]
    for name in qualities:
        quality(name)
    return [replace(settings, quality=name, visits=budget) for name, budget in product(qualities, budgets)]


def _varied(settings: NoisySettings, vary: str, at: float, budget: float) -> NoisySettings:
    good = replace(settings, quality="good", visits=budget)
    if vary == "precision":
        return replace(good, precision=at)
    return replace(good, recall=at) if vary == "recall" else replace(good, delay=at)


def _run(job: tuple[str, NoisySettings], progress: Progress, /) -> NoisyResult:
    result = simulate_noisy(*job)
    progress(1, 1)
    return result


def _row(settings: NoisySettings, runs: Sequence[NoisyResult], vary: str) -> SignalsRow:
    mean, low, high = mean_interval([run.freshness for run in runs])
    return SignalsRow(
        experiment="signals",
        policy=runs[0].policy,
        quality=settings.quality,
        varied=vary,
        at=float(getattr(settings, vary)) if vary else 0.0,
        budget=settings.visits,
        seed=runs[0].seed,
        repetitions=len(runs),
        days=settings.days,
        pages=settings.sites * settings.pages,
        freshness=mean,
        low=low,
        high=high,
        values=[run.freshness for run in runs],
        useful=mean_interval([run.useful for run in runs])[0],
    )

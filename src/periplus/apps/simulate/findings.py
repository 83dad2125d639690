"""The result of an experiment: a value beside the paper's with a verdict, and curves with their uncertainty.

The verdict follows from a tolerance that is stated with the value, before it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan, sqrt

import numpy as np
from msgspec import Struct
from scipy.special import stdtrit

from periplus.view.figures import PlotCurve

AGREES = "agrees"
NOT_COMPARABLE = "not comparable"


class ReplicatedValue(Struct, frozen=True):
    """One value: the paper's (`None`: it gives none), ours, and the verdict.

    `verdict` is `agrees`, `differs by X` or `not comparable`. `tolerance` is in `unit` and decided it. `low` and `high`
    bound our value if it is a mean over repetitions.
    """

    what: str
    paper: float | None
    ours: float
    unit: str
    verdict: str
    note: str = ""
    tolerance: float = 0.0
    low: float | None = None
    high: float | None = None


def finding(
    what: str,
    paper: float | None,
    ours: float | Sequence[float],
    unit: str = "",
    *,
    tolerance: float = 0.0,
    note: str = "",
) -> ReplicatedValue:
    """A value, or one from each repetition, held against the paper's: it agrees if it is within `tolerance` of it."""
    values = [float(ours)] if isinstance(ours, int | float) else [float(value) for value in ours]
    mean, low, high = mean_interval(values)
    if paper is None or not np.isfinite(mean):
        verdict = NOT_COMPARABLE
    elif abs(mean - paper) <= tolerance * (1 + 1e-9):
        verdict = AGREES
    else:
        verdict = f"differs by {mean - paper:+.3g}{' ' + unit if unit else ''}"
    bounds = (low, high) if len(values) > 1 else (None, None)
    return ReplicatedValue(what, paper, mean, unit, verdict, note, tolerance, *bounds)


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """The mean and its interval of this confidence (Student's t).

    The interval of a single value is the value; of none, all three are NaN.
    """
    sample = np.fromiter(values, float)
    if not len(sample):
        return nan, nan, nan
    mean = float(sample.mean())
    if len(sample) == 1:
        return mean, mean, mean
    half = float(stdtrit(len(sample) - 1, (1 + confidence) / 2)) * float(sample.std(ddof=1)) / sqrt(len(sample))
    return mean, mean - half, mean + half


def mean_curve(name: str, x: Iterable[float], repetitions: Iterable[Sequence[float]]) -> PlotCurve:
    """The mean line of several repetitions, each with a value at every `x`."""
    points = [mean_interval(values) for values in zip(*repetitions, strict=True)]
    y, low, high = ([point[part] for point in points] for part in range(3))
    return PlotCurve(name, [float(at) for at in x], y, low, high)

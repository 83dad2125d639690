"""The result of an experiment: a value beside the paper's with a verdict, and curves with their uncertainty.

The verdict follows from a tolerance that is stated with the value, before it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan, sqrt
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from scipy.special import stdtrit

from periplus.view.figures import PlotCurve

S = TypeVar("S", bound=Struct)

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


def averaged(kind: type[S], group: Sequence[Struct], measure: str, /, **known: Any) -> S:
    """The row of some repetitions: the mean of `measure` with its interval, what is `known`, and the means of the rest.

    Means of whole numbers are rounded; a text is that of the first repetition.
    """
    values = [getattr(each, measure) for each in group]
    mean, low, high = mean_interval(values)
    row = {measure: mean, "low": low, "high": high, "values": values, "repetitions": len(group), **known}
    for name in kind.__struct_fields__:
        if name not in row and hasattr(group[0], name):
            row[name] = mean_of([getattr(each, name) for each in group])
    return kind(**row)


def mean_of(values: Sequence[Any]) -> Any:
    """The mean of numbers, rounded if they are whole; the first of texts."""
    if isinstance(values[0], str):
        return values[0]
    mean = mean_interval(values)[0]
    return round(mean) if isinstance(values[0], int) else mean


def mean_curve(name: str, x: Iterable[float], repetitions: Iterable[Sequence[float]]) -> PlotCurve:
    """The mean line of several repetitions, each with a value at every `x`."""
    points = [mean_interval(values) for values in zip(*repetitions, strict=True)]
    y, low, high = ([point[part] for point in points] for part in range(3))
    return PlotCurve(name, [float(at) for at in x], y, low, high)

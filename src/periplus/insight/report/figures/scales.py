"""Scales: the position of a value on an axis, and its ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from periplus.insight.report.wording import share, short

STEPS: Final = (
    1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600,
    2_592_000, 7_776_000, 31_536_000,
)  # fmt: skip
"""Seconds that a step of time may have: what people call a round number of minutes, hours, days or weeks."""


class Scale(Struct, frozen=True):
    """An axis from `low` to `high`; `says` writes a tick. `is_time`: values are POSIX times."""

    low: float
    high: float
    says: Callable[[float], str] = short
    is_log: bool = False
    is_time: bool = False

    def place(self, value: float) -> float:
        """The position of a value, from 0 to 1; a value outside the axis lies at its end."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)

    def has(self, value: float) -> bool:
        """Whether a value has a position: a logarithmic axis has no 0."""
        return value > 0 or not self.is_log

    def ticks(self, most: int = 5) -> list[float]:
        """Round values on the axis, about `most` at most."""
        if self.is_log:
            return _powers(self.low, self.high, most)
        return _moments(self.low, self.high, most) if self.is_time else _steps(self.low, self.high, most)


_NOTHING: Final = 1e-12
"""Values below it count as 0: rounding errors of floats."""
SHARES = Scale(0.0, 1.0, share)
"""From 0 to 1."""


def linear(values: Iterable[float], says: Callable[[float], str] = short, *, whole: bool = False) -> Scale:
    """From 0 to just above the largest; `whole`: ticks are whole numbers."""
    top = max(values, default=0.0)
    top = top if top > _NOTHING else 1.0
    step = _step(top, 4)
    if whole:
        step = max(math.ceil(step), 1.0)
    return Scale(0.0, max(math.ceil(top / step - 1e-9), 1) * step, says)


def logarithmic(values: Iterable[float], says: Callable[[float], str] = short) -> Scale:
    """From a power of ten to a power of ten."""
    known = [value for value in values if value > _NOTHING]
    low = math.floor(math.log10(min(known, default=1.0)) + 1e-9)
    high = math.ceil(math.log10(max(known, default=10.0)) - 1e-9)
    return Scale(10.0**low, 10.0 ** max(high, low + 1), says, is_log=True)


def _step(span: float, parts: int) -> float:
    """The least of 1, 2, 5, 10, 20 ... that divides the span into at most `parts` parts."""
    size = 10.0 ** math.floor(math.log10(span / parts))
    return next(size * times for times in (1, 2, 5, 10) if size * times * parts >= span * (1 - 1e-9))


def _steps(low: float, high: float, most: int) -> list[float]:
    step = _step((high - low) or 1.0, most - 1)
    first = math.ceil(low / step - 1e-9)
    return [(first + place) * step for place in range(most) if (first + place) * step <= high + step * 1e-9]


def _moments(low: float, high: float, most: int) -> list[float]:
    """Round times, as many as fit."""
    step = next((each for each in STEPS if (high - low) / each < most - 1), STEPS[-1])
    first = math.ceil(low / step)
    ticks = [float((first + place) * step) for place in range(most) if (first + place) * step <= high]
    return ticks or [low]


def _powers(low: float, high: float, most: int) -> list[float]:
    first, last = round(math.log10(low)), round(math.log10(high))
    every = max(1, math.ceil((last - first) / (most - 1)))
    return [10.0**power for power in range(first, last + 1, every)]

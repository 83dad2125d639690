"""Numbers as people write them beside an axis: thousands apart, shares as per cent, seconds in the unit that fits."""

from __future__ import annotations

from .plot import Scale

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_CLOCK_STEPS = (
    *(n * 1.0 for n in (1, 2, 5, 10, 15, 30)),
    *(n * 60.0 for n in (1, 2, 5, 10, 15, 30)),
    *(n * 3_600.0 for n in (1, 2, 3, 6, 12)),
)
_DAY = 86_400.0


def time_step(span: float, count: int = 6) -> float | None:
    """The step between about `count` ticks of a clock in a span of seconds: 15 minutes, 6 hours, 20 days.

    None where a clock has no unit for it: parts of a second divide like other numbers.
    """
    wanted = span / count
    if wanted < 1.0:
        return None
    for step in _CLOCK_STEPS:
        if step >= wanted:
            return step
    step = _DAY
    while step < wanted:
        step *= 2 if not str(step / _DAY).startswith("2") else 2.5
    return step


def value_text(value: float, scale: Scale = "number", step: float = 0.0) -> str:
    """A value as text; `step` is the distance between ticks, which decides the unit of a time."""
    if scale == "share":
        return f"{_number(value * 100)} %"
    if scale == "time":
        return _time(value, step or abs(value))
    return _number(value)


def _number(value: float) -> str:
    """At most six digits that matter; millions and more by their letter."""
    size = abs(value)
    if size and (size >= 1e15 or size < 1e-4):
        return f"{value:.3g}".replace("e+", "e")
    for unit, letter in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if size >= unit:
            return f"{value / unit:,.6g}{letter}"
    text = f"{value:,.4f}" if size < 10 else f"{value:,.2f}"
    text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def _time(seconds: float, step: float) -> str:
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if step >= unit), (1.0, "s"))
    return f"{_number(seconds / unit)} {letter}"

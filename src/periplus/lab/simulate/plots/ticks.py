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


def value_text(value: float, scale: Scale = "number", *, step: float = 0.0, largest: float = 0.0) -> str:
    """A value as text. On an axis the `step` between ticks decides the unit of times, the `largest` that of numbers."""
    if scale == "share":
        return f"{_number(value * 100)} %"
    if scale == "time":
        return _time(value, step or abs(value))
    return _number(value, largest)


def rounded_text(value: float, scale: Scale) -> str:
    """A measured value in a column: three significant digits, per cent to a tenth."""
    if scale == "share":
        return f"{value * 100:.1f} %"
    return value_text(float(f"{value:.3g}"), scale)


def _number(value: float, largest: float = 0.0) -> str:
    """Thousands apart; millions and more by their letter; few digits after the point."""
    size = abs(value)
    if size and (size >= 1e15 or size < 1e-4):
        return f"{value:.3g}".replace("e+", "e").replace("-", "−")
    for unit, letter in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if size and max(size, largest) >= unit:
            return _number(value / unit) + letter
    text = f"{value:,.4f}" if size < 10 else f"{value:,.2f}"
    text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def _time(seconds: float, step: float) -> str:
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if step >= unit), (1.0, "s"))
    return f"{_number(seconds / unit)} {letter}"

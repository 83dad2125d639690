"""Numbers, sizes, durations and times as people write them, and text of strangers made safe to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

LONGEST: Final = 160
"""Letters of a site's text that are shown."""
_REASONS: Final = 3
"""Reasons named in a line."""
_SPANS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def count(number: float) -> str:
    """12,431."""
    return f"{number:,.0f}"


def counted(number: float, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 page, 2 pages."""
    return f"{number:,.0f} {noun if number == 1 else plural or noun + 's'}"


def short(number: float) -> str:
    """1.6k: for axes."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.3g}"


def pace(rate: float) -> str:
    """A rate as 512/s, with a decimal below 10."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def size(number: float) -> str:
    """Bytes as 340 MB: powers of 1000, three figures."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.5 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def share(part: float) -> str:
    """43 %; never 0 % or 100 % unless it is exactly that."""
    percent = 100 * part
    if 0 < percent < 0.01:
        return "< 0.01 %"
    if 0 < percent < 1:
        return f"{percent:.2g} %"
    if 99 < percent < 100:
        return f"{min(percent, 99.9):.1f} %"
    return f"{percent:.0f} %"


def lasting(seconds: float) -> str:
    """A duration as 1 h 12 m: two units."""
    whole = max(int(seconds + 0.5), 0)
    units = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
    for (unit, length), below in zip(units, (*units[1:], None), strict=True):
        if whole >= length:
            rest = whole % length // below[1] if below else 0
            return f"{whole // length} {unit} {rest} {below[0]}" if below and rest else f"{whole // length} {unit}"
    return "0 s"


def duration(seconds: float) -> str:
    """A measured duration as 1.2 h: three figures of one unit."""
    if abs(seconds) < 1:
        return f"{1000 * seconds:.0f} ms" if seconds else "0 s"
    length, word = next((span for span in _SPANS if abs(seconds) >= span[0]), _SPANS[-1])
    return f"{seconds / length:.3g} {word}"


def moment(at: float) -> str:
    """A POSIX time, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def when(at: float) -> str:
    """A POSIX time with its zone; times that are over before 1970 mean now."""
    return f"{moment(at)} UTC" if at > 0 else "now"


def ranked(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """Reasons with their counts, the most frequent first."""
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


def top(reasons: Mapping[str, int], most: int = _REASONS) -> str:
    """The most frequent reasons with their counts, in a line."""
    parts = [f"{reason.removeprefix('http-')} {count(number)}" for reason, number in ranked(reasons)[:most]]
    return " · ".join([*parts, "…"] if len(reasons) > most else parts)


_WRITTEN: Final[dict[str, Callable[[float], str]]] = {
    "count": count,
    "share": lambda part: share(part) if 0 < part < 1e-4 else f"{100 * part:.3g} %",
    "seconds": lambda seconds: duration(seconds) if seconds < 1e8 else "longer",
    "bytes": size,
    "moment": lambda at: moment(at) if 0 < at < 2e11 else "–",
    "number": lambda number: f"{number:,.4g}" if isinstance(number, float) else str(number),
}


def written(value: Any, kind: str, longest: int = LONGEST) -> str:
    """A value of a table as one line, not yet escaped; a dash if it is not known."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _WRITTEN[kind](value) if kind in _WRITTEN else str(value)
    return clean(value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace"), longest)


def one_line(text: str) -> str:
    """Text on one line, without control characters and marks that change its direction."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def clean(text: str, longest: int = LONGEST) -> str:
    """Text on one line, at most `longest` letters."""
    kept = one_line(text[: longest + 1])
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"

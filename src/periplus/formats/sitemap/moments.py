"""Many W3C dates at once: the two forms that programs write, to the second, as arrays.

`dates.read_w3c` takes about a microsecond for a date that it has not seen; this takes a fifth of that. Whatever is not
of these forms, or of several, is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_FORMS = {len(form): form for form in ("0000-00-00T00:00:00Z", "0000-00-00T00:00:00+00:00")}
_DATE = len("0000-00-00T00:00:00")
SHORTEST = min(_FORMS)
"""Characters of a date that may be of one of these forms."""

Bytes = NDArray[np.uint8]
Reals = NDArray[np.float64]

_MINUS = ord("+") ^ ord("-")
_YEAR_1000 = -30_610_224_000
_YEAR_9999 = 253_370_764_800
"""In the first and last years a zone can lead out of the calendar."""


def read_seconds(texts: Sequence[str], tags: str) -> Reals | None:
    """POSIX seconds of texts that are `tags` and then a date, all of one form; `None` if one of them is not.

    The form is checked here, since numpy would take others; that there is such a day and time is checked by numpy.
    """
    lengths = set(map(len, texts))
    length = lengths.pop() if len(lengths) == 1 else 0
    form = _FORMS.get(length - len(tags))
    joined = "".join(texts)
    if form is None or not joined.isascii():
        return None
    rows = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(-1, length)
    expected, spread = _expected(tags, form)
    found = rows ^ expected
    if (found > spread).any():
        return None
    start = len(tags)
    try:
        local = np.ascontiguousarray(rows[:, start : start + _DATE]).view(f"S{_DATE}").ravel().astype("datetime64[s]")
    except ValueError:
        return None
    seconds = local.astype(np.int64)
    if seconds.min() < _YEAR_1000 or seconds.max() >= _YEAR_9999:
        return None
    east = _seconds_east(found[:, start + _DATE :])
    if east is None:
        return None
    return (seconds - east).astype(np.float64)


@lru_cache(maxsize=64)
def _expected(tags: str, form: str) -> tuple[Bytes, Bytes]:
    """The bytes of a row, and how far each may differ from them (as XOR, which of a digit and `0` is its value)."""
    spread = bytes(len(tags)) + bytes({"0": 9, "+": _MINUS}.get(character, 0) for character in form)
    return np.frombuffer((tags + form).encode("ascii"), np.uint8), np.frombuffer(spread, np.uint8)


def _seconds_east(zones: Bytes) -> NDArray[np.int64] | None:
    """How far each local time is ahead of UTC, from the differences to `+00:00`; `Z` is one row of nothing.

    Most programs write UTC, and its two forms are all that they write.
    """
    if zones.shape[1] == 1 or not zones.any():
        return np.zeros(1, np.int64)
    digits = zones.astype(np.int64)
    sign, hours, minutes = digits[:, 0], digits[:, 1] * 10 + digits[:, 2], digits[:, 4] * 10 + digits[:, 5]
    if hours.max() > 23 or minutes.max() > 59 or ((sign != 0) & (sign != _MINUS)).any():
        return None
    return np.where(sign == 0, 1, -1) * (hours * 3600 + minutes * 60)

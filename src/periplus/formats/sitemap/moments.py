"""Many W3C dates at once, as arrays: the forms with a time to the second or finer that programs write.

`dates.read_w3c` takes about a microsecond for a date that it has not seen; this takes a fifth of that. Dates of any
other form, or of forms with different numbers of digits, are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Granularity

SHORTEST = len("0000-00-00T00:00:00Z")
"""Characters of the shortest date that is read here."""

Bytes = NDArray[np.uint8]
Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_TIME = "0000-00-00T00:00:00"
_FRACTIONS = ("", ".000", ".000000")
"""What may follow the seconds: nothing, or as many digits as JavaScript or Python write."""
_ZONE = "+00:00\n"

_MINUS = ord("+") ^ ord("-")
_YEAR_1000 = -30_610_224_000
_YEAR_9999 = 253_370_764_800
"""In the first and last years a zone can lead out of the calendar."""


class Moments(Struct, frozen=True):
    """POSIX seconds of dates that are all equally fine."""

    seconds: Reals
    granularity: Granularity


class _Form(Struct, frozen=True):
    """What a date looks like behind its tags.

    `spread` is how far each byte may differ from the `expected` one, as XOR, which of a digit and `0` is its value.
    """

    expected: Bytes
    spread: Bytes
    fraction: str


def read_moments(texts: Sequence[str], tags: str = "") -> Moments | None:
    """Dates behind `tags` that have all one form, but that some may have `Z` and others a numeric zone.

    `None` if one has another form. The form is checked here, since numpy would take others; that there is such a day
    and time is checked by numpy.
    """
    joined = "\n".join(texts) + "\n"
    if "Z" in joined:
        joined = joined.replace("Z\n", _ZONE)
    width, rest = divmod(len(joined), len(texts))
    form = _form(tags, width)
    if rest or form is None or not joined.isascii():
        return None
    rows = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(-1, width)
    found = rows ^ form.expected
    if (found > form.spread).any():
        return None
    time = len(tags), len(tags) + len(_TIME)
    local, east = _local_seconds(rows[:, slice(*time)]), _seconds_east(found[:, -len(_ZONE) : -1])
    if local is None or east is None:
        return None
    if form.fraction:
        return _finer(local, east, found[:, time[1] + 1 : -len(_ZONE)])
    return Moments((local - east).astype(np.float64), Granularity.SECOND)


@lru_cache(maxsize=64)
def _form(tags: str, width: int) -> _Form | None:
    """The form whose texts are so wide, if there is one."""
    for fraction in _FRACTIONS:
        date = _TIME + fraction + _ZONE
        if len(tags) + len(date) == width and tags.isascii():
            spread = bytes(len(tags)) + bytes({"0": 9, "+": _MINUS}.get(character, 0) for character in date)
            expected = (tags + date).encode("ascii")
            return _Form(np.frombuffer(expected, np.uint8), np.frombuffer(spread, np.uint8), fraction)
    return None


def _local_seconds(times: Bytes) -> Integers | None:
    """Seconds up to times of the day in a zone of their own; `None` if one is not in the calendar, or near its ends."""
    try:
        local = np.ascontiguousarray(times).view(f"S{len(_TIME)}").ravel().astype("datetime64[s]")
    except ValueError:
        return None
    seconds = local.astype(np.int64)
    return None if seconds.min() < _YEAR_1000 or seconds.max() >= _YEAR_9999 else seconds


def _seconds_east(zones: Bytes) -> Integers | None:
    """How far each local time is ahead of UTC, from the differences to `+00:00`; one row of nothing if all are UTC."""
    if not zones.any():
        return np.zeros(1, np.int64)
    digits = zones.astype(np.int64)
    sign, hours, minutes = digits[:, 0], digits[:, 1] * 10 + digits[:, 2], digits[:, 4] * 10 + digits[:, 5]
    if hours.max() > 23 or minutes.max() > 59 or ((sign != 0) & (sign != _MINUS)).any():
        return None
    return np.where(sign == 0, 1, -1) * (hours * 3600 + minutes * 60)


def _finer(local: Integers, east: Integers, fraction: Bytes) -> Moments:
    """Times with a fraction. It is added to the second first, as `dates` does: the sum is the same to the last bit."""
    digits = fraction.shape[1]
    second = local % 60
    parts = (fraction @ 10 ** np.arange(digits)[::-1]) / 10**digits
    return Moments((local - second) + ((second - east) + parts), Granularity.FRACTION)

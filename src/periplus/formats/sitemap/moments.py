"""Many W3C dates at once: the two forms that programs write, to the second, as arrays.

`dates.read_w3c` takes about a microsecond for a date that it has not seen; this takes a tenth of that. Whatever is not
of these forms, or of several, is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_DATE = np.frombuffer(b"0000-00-00T00:00:00", np.uint8)
_ZONE = np.frombuffer(b"00:00", np.uint8)
_LENGTHS = (len("2005-01-01T13:45:07Z"), len("2005-01-01T13:45:07+01:00"))
_YEAR_1000 = -30_610_224_000
_YEAR_9999 = 253_370_764_800
"""In the first and last years a zone can lead out of the calendar."""


def read_seconds(texts: Sequence[str], tags: str) -> list[float] | None:
    """POSIX seconds of texts that are `tags` and then a date, all of one form; `None` if one of them is not.

    The form is checked here, since numpy would take others; that there is such a day and time is checked by numpy.
    """
    lengths = set(map(len, texts))
    length = lengths.pop() if len(lengths) == 1 else 0
    joined = "".join(texts)
    if length - len(tags) not in _LENGTHS or not joined.isascii():
        return None
    rows = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(-1, length)
    start, zone = len(tags), len(tags) + len(_DATE)
    if (rows[:, :start] != np.frombuffer(tags.encode("ascii"), np.uint8)).any():
        return None
    local = _seconds(rows[:, start:zone])
    east = _seconds_east(rows[:, zone:])
    if local is None or east is None:
        return None
    seconds: list[float] = (local - east).astype(np.float64).tolist()
    return seconds


def _seconds(dates: Bytes) -> NDArray[np.int64] | None:
    if not _has_form(dates, _DATE):
        return None
    try:
        seconds = np.ascontiguousarray(dates).view("S19").ravel().astype("datetime64[s]").astype(np.int64)
    except ValueError:
        return None
    return seconds if seconds.min() >= _YEAR_1000 and seconds.max() < _YEAR_9999 else None


def _seconds_east(zones: Bytes) -> NDArray[np.int64] | None:
    """How far each local time is ahead of UTC."""
    sign = zones[:, 0]
    if zones.shape[1] == 1:
        return np.zeros(1, np.int64) if (sign == ord("Z")).all() else None
    if not _has_form(zones[:, 1:], _ZONE) or not ((sign == ord("+")) | (sign == ord("-"))).all():
        return None
    digits = zones.astype(np.int64) - ord("0")
    hours, minutes = digits[:, 1] * 10 + digits[:, 2], digits[:, 4] * 10 + digits[:, 5]
    if hours.max() > 23 or minutes.max() > 59:
        return None
    return np.where(sign == ord("-"), -1, 1) * (hours * 3600 + minutes * 60)


def _has_form(rows: Bytes, form: Bytes) -> bool:
    """Whether every row has digits and other characters where `form` has them."""
    is_digit = form == ord("0")
    digits = rows[:, is_digit]
    return bool(((digits >= ord("0")) & (digits <= ord("9"))).all() and (rows[:, ~is_digit] == form[~is_digit]).all())

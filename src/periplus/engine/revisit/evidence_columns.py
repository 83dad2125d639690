"""The evidence of a million pages: arrays of the bytes of `PageEvidence.pack`, and their visits as columns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .evidence import (
    CHANGED,
    DAY,
    FIRST_SIGNAL,
    KINDS,
    LENGTH_BITS,
    LONGEST,
    MOST_SIGNALS,
    RING,
    SIGNAL_BITS,
    STEPS,
    USED,
)

PAGE = np.dtype(
    [
        ("visited_at", "<f8"),
        ("watched_from", "<u4"),
        ("heard", "<f4"),
        ("pending", "<u4"),
        ("old_changes", "<f4"),
        ("old_days", "<f4"),
        ("rate", "<f4"),
        ("ring", "<u4", (RING,)),
    ]
)
"""`PageEvidence` as a column for a million pages. An empty place of the ring is 0."""


def pages_of(kept: bytes) -> NDArray[np.void]:
    """Packed evidence of many pages, one after the other, as an array of `PAGE`."""
    return np.frombuffer(kept, PAGE)


def observations(
    intervals: NDArray[np.float64], is_changed: NDArray[np.bool_], pending: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """`observation` of many visits at once."""
    length = np.minimum(np.round(np.log2(np.maximum(intervals, 1.0)) * STEPS), LONGEST).astype(np.uint32)
    changed = is_changed.astype(np.uint32) << np.uint32(LENGTH_BITS)
    codes: NDArray[np.uint32] = np.uint32(USED) | pending | changed | length
    return codes


class Observations(Struct, frozen=True):
    """Visits as columns: of which page, days since the one before, signals by kind, whether a change was found."""

    page: NDArray[np.int64]
    days: NDArray[np.float64]
    signals: NDArray[np.uint8]
    is_changed: NDArray[np.bool_]


def observations_of(pages: NDArray[np.void]) -> Observations:
    """The rings of many pages (an array of `PAGE`) as columns, in the order of the pages."""
    ring = pages["ring"]
    used = ring != 0
    code = ring[used]
    shifts = FIRST_SIGNAL + SIGNAL_BITS * np.arange(KINDS, dtype=np.uint32)
    return Observations(
        np.repeat(np.arange(len(pages)), used.sum(axis=1)),
        np.exp2((code & LONGEST) / STEPS) / DAY,
        (code[:, None] >> shifts & MOST_SIGNALS).astype(np.uint8),
        (code & CHANGED) != 0,
    )

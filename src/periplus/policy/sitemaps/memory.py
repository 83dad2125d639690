"""What is remembered of a file between two readings: a fingerprint of each entry and when it says it changed.

12 bytes an entry, as two arrays sorted by fingerprint: 600 KB for the 50,000 entries that the protocol allows. A file
with more is remembered in part: only the entries with the smallest fingerprints, as many as fit. Fingerprints are
hashes, so that these are a fair sample, and what lies below `bound` is known completely: of an entry below it one can
tell whether it was there before, of an entry above it this cannot be told (`difference` says so, and the records of
URLs know).

Times are whole seconds since 1970 in 32 bits, which lasts until 2106; 0 is "not said".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...model import CollectionDamaged, Fingerprint, Lastmod, Url
from ...urls import fingerprints

Prints = NDArray[np.uint64]
Times = NDArray[np.uint32]

ALL = 1 << 64
"""The bound of a memory that is complete."""
_DAY = 86400.0
_LAST = (1 << 32) - 1
_HEAD = struct.Struct("<B?xxIIQ")
_VERSION = 1


class FileMemory(Struct, frozen=True):
    """The entries of a file when it was last read.

    `newest` is the latest plausible time in it; `is_common` says that most entries bore that time, within minutes.
    """

    prints: Prints
    times: Times
    bound: int = ALL
    newest: int = 0
    is_common: bool = False

    def __len__(self) -> int:
        return len(self.prints)

    def pack(self) -> bytes:
        """All of it, to be kept with the file: 20 bytes, and 12 for each entry."""
        head = _HEAD.pack(_VERSION, self.is_common, len(self.prints), self.newest, self.bound % ALL)
        return head + self.prints.astype("<u8").tobytes() + self.times.astype("<u4").tobytes()


def unpack(kept: bytes) -> FileMemory:
    """What was packed; nothing from nothing. Raises `CollectionDamaged` for what never was."""
    if not kept:
        return NOTHING
    if len(kept) < _HEAD.size or kept[0] != _VERSION:
        raise _damaged("it has no known form")
    _, is_common, count, newest, bound = _HEAD.unpack_from(kept)
    if len(kept) != _HEAD.size + 12 * count:
        raise _damaged(f"{count} entries are not in {len(kept)} bytes")
    prints = np.frombuffer(kept, "<u8", count, _HEAD.size).astype(np.uint64)
    times = np.frombuffer(kept, "<u4", count, _HEAD.size + 8 * count).astype(np.uint32)
    if (prints[1:] <= prints[:-1]).any():
        raise _damaged("its entries are out of order")
    return FileMemory(prints, times, bound or ALL, newest, is_common)


def _damaged(why: str) -> CollectionDamaged:
    return CollectionDamaged(
        f"the memory of a sitemap cannot be read: {why}", hint="restore the collection from a copy"
    )


NOTHING = FileMemory(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
"""Of a file that was never read."""


def prints_of(urls: Iterable[Url]) -> Prints:
    """The fingerprints of canonical URLs, as an array."""
    found: list[Fingerprint] = fingerprints(urls)
    return np.array(found, np.uint64)


def times_of(lastmods: Sequence[Lastmod | None], now: float) -> tuple[Times, int]:
    """The times of entries, and how many of them are impossible: later than a day from now."""
    seconds = [None if lastmod is None else math.inf if math.isnan(lastmod.at) else lastmod.at for lastmod in lastmods]
    return times_at(np.array(seconds, np.float64), now)


def times_at(seconds: NDArray[np.float64], now: float) -> tuple[Times, int]:
    """Times of POSIX seconds, where NaN stands for a missing value, and how many of them are impossible."""
    is_bad = seconds > now + _DAY
    is_none = is_bad | np.isnan(seconds)
    whole = np.clip(np.where(is_none, 1.0, seconds), 1.0, _LAST).astype(np.uint32)
    return np.where(is_none, np.uint32(0), whole), int(np.count_nonzero(is_bad))

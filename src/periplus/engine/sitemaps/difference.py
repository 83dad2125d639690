"""Compares two readings of a sitemap file, and decides which changes of `lastmod` signal a changed page.

A `Comparison` is fed slices of entries while the file arrives and classifies each as the same as before, added, or with
a later `lastmod` or its first one. At the end it returns the removed entries and the memory for the next reading
(`FileMemory`), whose size is bounded whatever the file holds. An entry of a file too large to be remembered whole may
be `UNKNOWN`: the record of its URL then shows whether it is new, and its `lastmod` whether it moved. An entry that
occurs twice in a file is reported twice; the counts of `Compared` are of different entries, and of those in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import CollectionDamaged, Fingerprint, Url
from periplus.urls import fingerprints

from .settings import DifferenceSettings

Prints = NDArray[np.uint64]
Times = NDArray[np.uint32]

ALL = 1 << 64
"""The bound of a memory that is complete."""
_DAY, _LAST = 86400, (1 << 32) - 1
_HEAD = struct.Struct("<B?xxIIQ")
_VERSION = 1


class FileMemory(Struct, frozen=True):
    """The entries of a file when it was last read: 12 bytes each, in two arrays sorted by fingerprint.

    Of a file with more entries than fit, those with the smallest fingerprints are kept. Fingerprints are hashes, so
    these are a fair sample, and all entries below `bound` are known: whether an entry above it was there before is
    unknown. Times are whole seconds since 1970 in 32 bits, until 2106; 0 stands for a missing value. `newest` is the
    latest plausible time; `is_common`: most entries had that time, within minutes.
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
    """Decode a packed memory; empty bytes are an empty one. Raises `CollectionDamaged` for invalid bytes."""
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
"""The memory of a file that was never read."""


def prints_of(urls: Iterable[Url]) -> Prints:
    """The fingerprints of canonical URLs, as an array."""
    found: list[Fingerprint] = fingerprints(urls)
    return np.array(found, np.uint64)


def times_at(seconds: NDArray[np.float64], now: float) -> tuple[Times, int]:
    """Times of POSIX seconds, where NaN stands for a missing value, and how many of them are impossible."""
    is_bad = seconds > now + _DAY
    is_none = is_bad | np.isnan(seconds)
    whole = np.clip(np.where(is_none, 1.0, seconds), 1.0, _LAST).astype(np.uint32)
    return np.where(is_none, np.uint32(0), whole), int(np.count_nonzero(is_bad))


Codes = NDArray[np.uint8]

_MINUTES = 300
"""Seconds around the newest time in which a `lastmod` is that of the file's generation."""
_COMMON_SHARE, _COMMON_ENTRIES = 0.5, 20


class EntryChange(IntEnum):
    """The change of an entry since the reading before."""

    SAME = 0
    """It was there, and reports no change since; its `lastmod` may have disappeared or moved back."""
    ADDED = 1
    """It was not there."""
    MOVED = 2
    """It was there with an earlier `lastmod`; or with none, and the one it has now is later than that reading."""
    UNKNOWN = 3
    """More was there than could be remembered."""
    DATED = 4
    """It was there without a `lastmod`, and has one that is older than that reading; our copy may be older still."""


class Compared(Struct, frozen=True):
    """The whole difference. `removed` are fingerprints; `is_generated`: its times are those of its generation."""

    memory: FileMemory
    added: int
    moved: int
    same: int
    dated: int
    unknown: int
    removed: Prints
    is_generated: bool

    @property
    def is_changed(self) -> bool:
        """Whether the file has new information, other than the time of its generation."""
        return bool(self.added or len(self.removed) or ((self.moved or self.dated) and not self.is_generated))


class Comparison:
    """A reading that is compared with the one `before`, which was at `read_at`."""

    def __init__(
        self, before: FileMemory = NOTHING, settings: DifferenceSettings | None = None, read_at: float = 0.0
    ) -> None:
        self._before = before
        self._since = int(read_at) // _DAY * _DAY  # many dates are days
        self._limit = (settings or DifferenceSettings()).max_remembered
        self._is_seen = np.zeros(len(before), np.bool_)
        self._prints: list[Prints] = []
        self._times: list[Times] = []
        self._held = 0
        self._bound = ALL
        self._unknown = 0

    def compare(self, prints: Prints, times: Times) -> Codes:
        """The `EntryChange` of each entry of a slice."""
        codes, places = _codes(self._before, prints, times, self._since)
        self._is_seen[places[(codes != EntryChange.ADDED) & (codes != EntryChange.UNKNOWN)]] = True
        self._unknown += int(np.count_nonzero(codes == EntryChange.UNKNOWN))
        self._hold(prints, times)
        return codes

    def _hold(self, prints: Prints, times: Times) -> None:
        """Store a slice; when twice the limit is held, drop the largest fingerprints."""
        if self._bound < ALL:
            is_below = prints < np.uint64(self._bound)
            prints, times = prints[is_below], times[is_below]
        self._prints.append(prints)
        self._times.append(times)
        self._held += len(prints)
        if self._held > 2 * self._limit:
            self._settle()

    def _settle(self) -> tuple[Prints, Times]:
        """All that is held as two sorted arrays: each entry once, those below the bound, and not more than may be."""
        prints = np.concatenate([NOTHING.prints, *self._prints])
        prints, times = _sorted(prints, np.concatenate([NOTHING.times, *self._times]))
        end = len(prints) if self._bound == ALL else int(np.searchsorted(prints, np.uint64(self._bound)))
        if end > self._limit:
            end, self._bound = self._limit, int(prints[self._limit])
        prints, times = prints[:end].copy(), times[:end].copy()
        self._prints, self._times, self._held = [prints], [times], end
        return prints, times

    def end(self, *, is_whole: bool = True) -> Compared:
        """The difference. Of a file that broke off, what was not seen is not removed, and stays in memory."""
        before, is_gone = self._before, ~self._is_seen
        prints, times = self._settle()
        codes, _ = _codes(before, prints, times, self._since)
        counts = np.bincount(codes, minlength=len(EntryChange))
        if not is_whole:
            self._prints.append(before.prints[is_gone])
            self._times.append(before.times[is_gone])
            self._bound = min(self._bound, before.bound)
            prints, times = self._settle()
        memory = _memory(prints, times, self._bound)
        return Compared(
            memory=memory,
            added=int(counts[EntryChange.ADDED]),
            moved=int(counts[EntryChange.MOVED]),
            same=int(counts[EntryChange.SAME]),
            dated=int(counts[EntryChange.DATED]),
            unknown=self._unknown,
            removed=before.prints[is_gone] if is_whole else NOTHING.prints,
            is_generated=memory.is_common and before.is_common and memory.newest > before.newest,
        )


def is_appended(before: FileMemory, after: FileMemory) -> bool:
    """Whether a file grew like a log: at its new end only.

    That is, what was added is as new as the newest was before, to the day, what moved was so already, and there was
    something older. So do indexes grow that have a file for each day (amazon.com, in Schonfeld & Shivakumar 2009): what
    is older will not be touched again. Without times this is unknown.
    """
    codes, places = _codes(before, after.prints, after.times)
    is_added, is_moved = codes == EntryChange.ADDED, codes == EntryChange.MOVED
    then = before.times[places[is_moved]]
    since = np.concatenate([after.times[is_added], then[then > 0]])
    end = before.newest - _DAY
    return bool(len(since) and since.min() >= end and before.times.min(initial=_LAST) < end)


def _codes(before: FileMemory, prints: Prints, times: Times, since: int = 0) -> tuple[Codes, NDArray[np.intp]]:
    """The status of entries compared with the stored ones, read after `since`; and the indexes of known ones."""
    codes = np.full(len(prints), EntryChange.ADDED, np.uint8)
    places = np.searchsorted(before.prints, prints)
    if len(before):
        places = np.minimum(places, len(before) - 1)
        is_known = before.prints[places] == prints
        then = before.times[places]
        codes[is_known] = EntryChange.SAME
        is_later = is_known & (times > then)
        codes[is_later] = EntryChange.MOVED
        codes[is_later & (then == 0) & (times < since)] = EntryChange.DATED
    if before.bound < ALL:
        codes[prints >= np.uint64(before.bound)] = EntryChange.UNKNOWN
    return codes, places


def _sorted(prints: Prints, times: Times) -> tuple[Prints, Times]:
    """Sorted by fingerprint; of equal ones the latest. Most files have no equal ones, and one key sorts much faster."""
    order = np.argsort(prints)
    if (np.diff(prints[order]) == 0).any():
        order = np.lexsort((times, prints))
    prints, times = prints[order], times[order]
    is_last = np.ones(len(prints), np.bool_)
    is_last[:-1] = prints[1:] != prints[:-1]
    return prints[is_last], times[is_last]


def _memory(prints: Prints, times: Times, bound: int) -> FileMemory:
    """With its newest time, and whether most entries bear it."""
    newest = int(times.max(initial=0))
    common = int(np.count_nonzero(times >= max(newest - _MINUTES, 1))) if newest else 0
    is_common = common >= _COMMON_ENTRIES and common >= _COMMON_SHARE * len(times)
    return FileMemory(prints, times, bound, newest, is_common)

"""What is new in a file: the difference between two readings, while the second is still arriving.

A `Comparison` is fed slices of entries and says of each what it is: the same as before, added, or with a later
`lastmod`. When the file has ended it says what was removed, and what to remember for the next time. Memory is bounded
by the memory of a file (`memory`), whatever the file holds.

Of an entry of a file too large to be remembered whole it may have to say `UNKNOWN`: then the record of the URL knows
whether it is new, and its `lastmod` whether it moved. An entry that stands twice in a file is told twice; the counts of
`Compared` are of different entries, and of those that memory holds.

Which of the later `lastmod`s are signals of a change is in `signals`.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...model import ConfigError
from .memory import ALL, NOTHING, FileMemory, Prints, Times

Codes = NDArray[np.uint8]

_DAY, _LAST = 86400, (1 << 32) - 1
_MINUTES = 300
"""Seconds around the newest time in which a `lastmod` is that of the file's generation."""
_COMMON_SHARE, _COMMON_ENTRIES = 0.5, 20


class DifferenceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a sitemap's last reading is stored."""

    max_remembered: int = 50_000
    """Maximum number of entries of a file, at 12 bytes each."""

    def __post_init__(self) -> None:
        """Reject a limit of 0."""
        if self.max_remembered < 1:
            raise ConfigError(f"max_remembered must be at least 1, got {self.max_remembered}")


class Change(IntEnum):
    """What an entry is, compared with the reading before."""

    SAME = 0
    """It was there, and reports no change since; its `lastmod` may have disappeared, appeared, or moved back."""
    ADDED = 1
    """It was not there."""
    MOVED = 2
    """It was there with an earlier `lastmod`."""
    UNKNOWN = 3
    """More was there than could be remembered."""


class Compared(Struct, frozen=True):
    """The whole difference. `removed` are fingerprints; `is_generated`: its times are those of its generation."""

    memory: FileMemory
    added: int
    moved: int
    same: int
    unknown: int
    removed: Prints
    is_generated: bool

    @property
    def is_changed(self) -> bool:
        """Whether the file has new information, other than the time of its generation."""
        return bool(self.added or len(self.removed) or (self.moved and not self.is_generated))


class Comparison:
    """A reading that is compared with the one before."""

    def __init__(self, before: FileMemory = NOTHING, settings: DifferenceSettings | None = None) -> None:
        self._before = before
        self._limit = (settings or DifferenceSettings()).max_remembered
        self._is_seen = np.zeros(len(before), np.bool_)
        self._prints: list[Prints] = []
        self._times: list[Times] = []
        self._held = 0
        self._bound = ALL
        self._unknown = 0

    def compare(self, prints: Prints, times: Times) -> Codes:
        """What each entry of a slice is, as a `Change`."""
        codes, places = _codes(self._before, prints, times)
        self._is_seen[places[(codes == Change.SAME) | (codes == Change.MOVED)]] = True
        self._unknown += int(np.count_nonzero(codes == Change.UNKNOWN))
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
        codes, _ = _codes(before, prints, times)
        counts = np.bincount(codes, minlength=len(Change))
        if not is_whole:
            self._prints.append(before.prints[is_gone])
            self._times.append(before.times[is_gone])
            self._bound = min(self._bound, before.bound)
            prints, times = self._settle()
        memory = _memory(prints, times, self._bound)
        return Compared(
            memory=memory,
            added=int(counts[Change.ADDED]),
            moved=int(counts[Change.MOVED]),
            same=int(counts[Change.SAME]),
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
    is_added, is_moved = codes == Change.ADDED, codes == Change.MOVED
    since = np.concatenate([after.times[is_added], before.times[places[is_moved]]])
    end = before.newest - _DAY
    return bool(len(since) and since.min() >= end and before.times.min(initial=_LAST) < end)


def _codes(before: FileMemory, prints: Prints, times: Times) -> tuple[Codes, NDArray[np.intp]]:
    """The status of entries compared with the stored ones, and the indexes of known ones."""
    codes = np.full(len(prints), Change.ADDED, np.uint8)
    places = np.searchsorted(before.prints, prints)
    if len(before):
        places = np.minimum(places, len(before) - 1)
        is_known = before.prints[places] == prints
        then = before.times[places]
        codes[is_known] = Change.SAME
        codes[is_known & (then > 0) & (times > then)] = Change.MOVED
    if before.bound < ALL:
        codes[prints >= np.uint64(before.bound)] = Change.UNKNOWN
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

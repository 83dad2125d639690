"""When pages are born, change and die: stateless processes that can be evaluated at any moment.

A site is a row of slots. In each slot pages follow one another, every one living exactly the slot's span, so that the
page of any moment is one division away and nothing is remembered. The spans are chosen so that of all pages alive 8 %
are new each week and 20 % are still there after a year (Ntoulas, Cho, Olston, WWW 2004), which one exponential law
could not give: most births are of pages that soon go, most pages are of those that stay.

The changes of a page are cut into blocks of the page's own length. What happens inside a block is a function of the
page's key and the block's number, so the last change before a moment is in the block of that moment or a few earlier.
The mean intervals follow the five classes of Brandman et al. 2000, figure 2 (`CLASSES`), log-uniform inside a class.

Times here and in the rest of the lab's web are whole seconds since the world's origin, as HTTP has no finer ones.
"""

from __future__ import annotations

import gzip
from bisect import bisect_right
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .randomness import Words, at, at_all

Ticks: TypeAlias = NDArray[np.int64]

HOUR, DAY, WEEK = 3600, 86400, 604800
PREHISTORY = 520 * WEEK
"""From the world's origin to its epoch: nothing before is needed."""

SPANS = tuple(WEEK * weeks for weeks in (3, 4, 6, 8, 10, 12, 16, 24, 30, 40, 96, 96, 96, 96, 96, 96))
_SPANS = np.array(SPANS, dtype=np.int64)
_PHASE_BITS = 20


def span_of(key: int) -> tuple[int, int]:
    """How many ticks each page of the slot exists, and the age of the first of them at the origin."""
    span = SPANS[key & 15]
    return span, (key >> 64 - _PHASE_BITS) * span >> _PHASE_BITS


def is_lasting(key: int) -> bool:
    """Whether the slot's pages have the longest lifetime."""
    return SPANS[key & 15] == SPANS[-1]


def spans_of(keys: Words) -> tuple[Ticks, Ticks]:
    """`span_of` for every slot."""
    spans = _SPANS[(keys & np.uint64(15)).astype(np.int64)]
    return spans, (keys >> np.uint64(64 - _PHASE_BITS)).astype(np.int64) * spans >> _PHASE_BITS


def generation(key: int, tick: int) -> tuple[int, int]:
    """The page of the slot at a moment, and when it appeared."""
    span, phase = span_of(key)
    number = (tick + phase) // span
    return number, number * span - phase


def birth_of(key: int, number: int) -> int:
    """When a page of the slot appears."""
    span, phase = span_of(key)
    return number * span - phase


def generations(keys: Words, tick: int) -> tuple[Ticks, Ticks]:
    """`generation` for every slot."""
    spans, phases = spans_of(keys)
    numbers = (tick + phases) // spans
    return numbers, numbers * spans - phases


class LastArrival:
    """The last page that appeared among some slots, in the time of a binary search per span.

    Slots of one span appear in the order of their phases, over and over, so one sorted array a span is enough.
    """

    def __init__(self, slots: Ticks, keys: Words) -> None:
        spans, phases = spans_of(keys)
        offsets = (spans - phases) % spans
        self._rings: list[tuple[int, Ticks, Ticks]] = []
        for span in sorted(set(SPANS)):
            chosen = np.flatnonzero(spans == span)
            if chosen.size:
                order = chosen[np.argsort(offsets[chosen], kind="stable")]
                self._rings.append((span, offsets[order], slots[order]))

    def latest(self, tick: int, limit: int) -> list[tuple[int, int]]:
        """(time, slot) of the last pages to appear, the newest first."""
        found: list[tuple[int, int]] = []
        for span, offsets, slots in self._rings:
            turn, size = tick // span, len(offsets)
            end = int(np.searchsorted(offsets, tick % span, side="right"))
            for place in range(end - 1, end - 1 - min(limit, size), -1):
                birth = (turn - (place < 0)) * span + int(offsets[place])
                found.append((birth, int(slots[place])))
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return found[:limit]

    def next_after(self, tick: int) -> int:
        """When the next of them appears."""
        soonest = tick + SPANS[-1]
        for span, offsets, _ in self._rings:
            place = int(np.searchsorted(offsets, tick % span, side="right"))
            turn = tick // span + (place == len(offsets))
            soonest = min(soonest, turn * span + int(offsets[place % len(offsets)]))
        return soonest


MOST_IN_BLOCK = 7
_POISSON = (24109, 48218, 60273, 64291, 65296, 65497, 65530)
"""Of 65,536 blocks of mean 1, how many hold no more than 0, 1, 2 ... changes."""

CLASSES = (
    (59, HOUR, DAY),
    (38, DAY, 7 * DAY),
    (41, 7 * DAY, 30 * DAY),
    (41, 30 * DAY, 120 * DAY),
    (77, 120 * DAY, 1000 * DAY),
)
"""Of 256 pages, and the shortest and longest mean interval of the class."""

_STEPS = 16


def _geometric(low: int, high: int) -> Iterator[int]:
    """`_STEPS` intervals, uniform in the logarithm; in decimal arithmetic, which is the same on every machine."""
    ratio = Decimal(high) / Decimal(low)
    for step in range(_STEPS):
        yield int(low * ratio ** (Decimal(2 * step + 1) / Decimal(2 * _STEPS)))


def _intervals() -> tuple[int, ...]:
    """The mean interval for 12 bits of a key: 8 for the class, 4 for the place inside it."""
    by_class = [tuple(_geometric(low, high)) for _, low, high in CLASSES]
    chosen = [number for number, (share, _, _) in enumerate(CLASSES) for _ in range(share)]
    return tuple(by_class[chosen[bits & 255]][bits >> 8] for bits in range(256 * _STEPS))


_INTERVALS = _intervals()
_INTERVAL_ARRAY = np.array(_INTERVALS, dtype=np.int64)
_CHANGE_SALT = 0x5851F42D4C957F2D


def mean_interval(key: int) -> int:
    """Seconds between changes of the page with this key, on average."""
    return _INTERVALS[key >> 4 & 0xFFF]


def mean_intervals(keys: Words) -> Ticks:
    """`mean_interval` of every key."""
    return _INTERVAL_ARRAY[(keys >> np.uint64(4) & np.uint64(0xFFF)).astype(np.int64)]


class Pattern(Enum):
    """The law of a site's changes.

    * Poisson: a block is one mean interval and holds 0 to 7 changes, in Poisson's proportions, at even chance in it.
    * Regular: every block has its change at one hour of the night (builds and nightly jobs).
    * Bursty: half of the blocks hold a burst of 1 to 7 changes that follow closely, the others nothing.
    * Replayed: the times of real pages, from a file (`History`).
    """

    POISSON = "poisson"
    REGULAR = "regular"
    BURSTY = "bursty"
    REPLAYED = "replayed"


_Law: TypeAlias = Callable[[int, int, int], list[int]]
"""The times of the changes in a block, in order, from its bits, start and length."""


Change: TypeAlias = tuple[int, int]
"""The tick of a change, and a number that grows with every change of the page and draws what it did."""


class Changes:
    """The changes of a site's pages, by page key."""

    def __init__(self, pattern: Pattern, nightly: int = 3 * HOUR, history: History | None = None) -> None:
        self._pattern = pattern
        self._nightly = nightly
        self._history = history

    def recent(self, key: int, tick: int, since: int, limit: int) -> list[Change]:
        """The last changes after `since` and not after `tick`, the newest first."""
        if self._history is not None:
            return self._history.recent(key, tick, since, limit)
        length, law = self._law(key)
        salted = key ^ _CHANGE_SALT
        number = tick // length
        start = number * length
        found: list[Change] = []
        while start + length > since and len(found) < limit:
            times = law(at(salted, number), start, length)
            index = len(times)
            for time in reversed(times):
                index -= 1
                if since < time <= tick:
                    found.append((time, number * 8 + index))
            number -= 1
            start -= length
        return found[:limit]

    def last(self, key: int, tick: int, since: int) -> Change:
        """The last change at or before `tick`; the beginning, number -1, if there was none."""
        found = self.recent(key, tick, since, 1)
        return found[0] if found else (since, -1)

    def last_all(self, keys: Words, tick: int, since: Ticks) -> Ticks:
        """The times of `last`, for many pages at once."""
        if self._history is not None:
            return np.array(
                [
                    self._history.last(key, tick, begun)
                    for key, begun in zip(keys.tolist(), since.tolist(), strict=True)
                ],
                dtype=np.int64,
            )
        lengths = self._lengths(keys)
        numbers = tick // lengths
        found = since.copy()
        open_ = np.flatnonzero(numbers * lengths + lengths > since)
        while open_.size:
            block = self._last_in_block(keys[open_], numbers[open_], lengths[open_], tick)
            hit = block > found[open_]
            found[open_[hit]] = block[hit]
            numbers[open_] -= 1
            left = ~hit & (numbers[open_] * lengths[open_] + lengths[open_] > since[open_])
            open_ = open_[left]
        return found

    def _law(self, key: int) -> tuple[int, _Law]:
        interval = mean_interval(key)
        if self._pattern is Pattern.REGULAR:
            days = max(interval // DAY, 1)
            offset = (key >> 16) % days * DAY + self._nightly
            return days * DAY, lambda _bits, start, _length: [start + offset]
        if self._pattern is Pattern.BURSTY:
            return interval * 2, _burst
        return interval, _poisson

    def _lengths(self, keys: Words) -> Ticks:
        intervals = mean_intervals(keys)
        if self._pattern is Pattern.REGULAR:
            return np.maximum(intervals // DAY, 1) * DAY
        return intervals * 2 if self._pattern is Pattern.BURSTY else intervals

    def _last_in_block(self, keys: Words, numbers: Ticks, lengths: Ticks, tick: int) -> Ticks:
        """The last change of each page in the block of this number, at or before `tick`; -1 if there is none."""
        starts = numbers * lengths
        if self._pattern is Pattern.REGULAR:
            days = lengths // DAY
            times = starts + (keys >> np.uint64(16)).astype(np.int64) % days * DAY + self._nightly
            return np.where(times <= tick, times, -1)
        bits = at_all(keys ^ np.uint64(_CHANGE_SALT), numbers)
        latest = np.full(keys.shape, -1, dtype=np.int64)
        draw = _burst_all if self._pattern is Pattern.BURSTY else _poisson_all
        for index in range(MOST_IN_BLOCK):
            times, is_there = draw(bits, starts, lengths, index)
            times[~is_there | (times > tick)] = -1
            np.maximum(latest, times, out=latest)
        return latest


def _poisson(bits: int, start: int, length: int) -> list[int]:
    luck = bits & 0xFFFF
    if luck < _POISSON[0]:
        return []
    times = [start + ((bits >> 32) * length >> 32)]
    if luck >= _POISSON[1]:
        count = bisect_right(_POISSON, luck)
        times += [start + ((at(bits, index) >> 32) * length >> 32) for index in range(1, count)]
        times.sort()
    return times


def _poisson_all(bits: Words, starts: Ticks, lengths: Ticks, index: int) -> tuple[Ticks, NDArray[np.bool_]]:
    counts = np.searchsorted(np.array(_POISSON), (bits & np.uint64(0xFFFF)).astype(np.int64), side="right")
    draws = bits if index == 0 else at_all(bits, np.full(bits.shape, index, dtype=np.int64))
    offsets = (draws >> np.uint64(32)) * lengths.astype(np.uint64) >> np.uint64(32)
    return starts + offsets.astype(np.int64), counts > index


def _burst(bits: int, start: int, length: int) -> list[int]:
    if bits & 1:
        return []
    first = start + ((bits >> 32) * length >> 33)
    return [first + index * (length >> 9) for index in range(1 + (bits >> 1 & 0xFFFF) % MOST_IN_BLOCK)]


def _burst_all(bits: Words, starts: Ticks, lengths: Ticks, index: int) -> tuple[Ticks, NDArray[np.bool_]]:
    offsets = (bits >> np.uint64(32)) * lengths.astype(np.uint64) >> np.uint64(33)
    counts = 1 + (bits >> np.uint64(1) & np.uint64(0xFFFF)).astype(np.int64) % MOST_IN_BLOCK
    times = starts + offsets.astype(np.int64) + index * (lengths >> 9)
    return times, (bits & np.uint64(1) == 0) & (counts > index)


class History:
    """Change times of real pages, replayed: rows of site, page, whether it still exists, and POSIX times, by tabs.

    The file's last two years become the world's first two; each slot follows the page that its key chooses. After the
    file's end nothing changes.
    """

    FUTURE = 2 * 365 * DAY

    def __init__(self, rows: list[list[int]]) -> None:
        end = max(row[-1] for row in rows)
        shift = PREHISTORY + self.FUTURE - end
        self._times = [[time + shift for time in row if time + shift >= 0] for row in rows]

    @classmethod
    def read(cls, path: Path) -> History:
        """Read a file of histories, gzipped or not."""
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
        lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
        return cls([sorted(map(int, line[3].split())) for line in lines if len(line) > 3 and line[3].strip()])

    def recent(self, key: int, tick: int, since: int, limit: int) -> list[Change]:
        """See `Changes.recent`."""
        times = self._times[key % len(self._times)]
        end, begin = bisect_right(times, tick), bisect_right(times, since)
        return [(times[index], index) for index in range(end - 1, max(begin, end - limit) - 1, -1)]

    def last(self, key: int, tick: int, since: int) -> int:
        """The time of the last change."""
        return max([since, *(time for time, _ in self.recent(key, tick, since, 1))])

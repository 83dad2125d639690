"""All pairs of sketches that agree enough, among many, without comparing all with all where that is dear.

The values of a sketch are cut into bands; what shares a band with another is compared with it. How wide a band may be
follows from the likeness that is asked for: as wide as a pair of just that likeness still shares one of them almost
always (`LEAST_RECALL`), so that little else does.

Where many share a band (a phrase that a thousand pages have in common), most of them share others too, and each pair
would be compared once for every band. Those who crowd a band together, or are linked by others who do, are a *crowd*:
it is compared all with all, once, which without bands costs a tenth for each pair. Few sketches are one crowd from the
beginning, and lose nothing to bands.

Of a crowd that is too large for that, a pair must share a second band, which one of likeness .9 does in 16 bands with
probability .998; and where very many share both, each is compared with the next few only. Rows that agree in every
value should be put together before: they are what fills bands.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_RECALL: Final = 0.9995
FEW: Final = 2_048
"""So many are compared all with all."""
MAX_RUN: Final = 256
"""In a crowd too large, of so many that share two bands, all are compared with all."""
_LONG_RUN: Final = 32
"""So many that share a band crowd it."""
_LARGEST: Final = 1 << 16
"""Of a crowd that is compared all with all: some two billion pairs."""
_GAIN: Final = 8
"""How many pairs of a crowd are compared in the time of one that shares a band."""
_AT_ONCE: Final = 1 << 17
"""Pairs that are compared at once."""
_TILE: Final = 1 << 21
"""Pairs of a crowd that are counted at once."""
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)

Indexes = NDArray[np.intp]


class _Crowds(NamedTuple):
    """The number of each row's crowd, and whether that is to be compared all with all, or is too large for it."""

    number: Indexes
    is_dense: NDArray[np.bool_]
    is_too_large: NDArray[np.bool_]


def rows_for(likeness: float, values: int) -> int:
    """How many values of a band: the most with which a pair so alike is still found."""
    rows = 1
    while 2 * rows <= values and 1 - (1 - likeness ** (2 * rows)) ** (values // (2 * rows)) >= LEAST_RECALL:
        rows *= 2
    return rows


def neighbours(sketches: NDArray[Any], likeness: float, slack: float = 0.0) -> Iterator[tuple[Indexes, Indexes]]:
    """Pairs of rows, the first before the second, that agree in a share of at least `likeness - slack`; in portions.

    Bands are as wide as `likeness` allows; `slack` is for whoever verifies by other means, and would rather be offered
    too many. A pair may come once for each band that it shares.
    """
    least = likeness - slack
    for firsts, seconds in _offered(sketches, likeness, least):
        for start in range(0, len(firsts), _AT_ONCE):
            some, others = firsts[start : start + _AT_ONCE], seconds[start : start + _AT_ONCE]
            is_near = (sketches[some] == sketches[others]).mean(axis=1) >= least
            if is_near.any():
                yield some[is_near], others[is_near]


def _offered(sketches: NDArray[Any], likeness: float, least: float) -> Iterator[tuple[Indexes, Indexes]]:
    """Pairs that are worth comparing."""
    if len(sketches) <= FEW:
        yield from _all_with_all(sketches, np.arange(len(sketches)), least)
        return
    keys = _keys(sketches, rows_for(likeness, sketches.shape[1]))
    crowds = _crowds(keys)
    for number in np.unique(crowds.number[crowds.is_dense]):
        yield from _all_with_all(sketches, np.flatnonzero(crowds.number == number), least)
    yield from _candidates(keys, crowds)


def _all_with_all(sketches: NDArray[Any], rows: Indexes, least: float) -> Iterator[tuple[Indexes, Indexes]]:
    """The pairs of these rows that seem to agree enough, by one byte of each value: at least all that do."""
    columns = np.ascontiguousarray(sketches[rows].astype(np.uint8).T)
    needed = max(0, ceil(least * len(columns)))
    height = max(1, min(256, _TILE // max(1, len(rows))))
    for start in range(0, len(rows), height):
        alike = np.zeros((min(height, len(rows) - start), len(rows) - start), np.uint16)
        for column in columns:
            alike += column[start : start + height, None] == column[None, start:]
        firsts, seconds = np.nonzero(np.triu(alike >= needed, 1))
        yield rows[start + firsts], rows[start + seconds]


def _keys(sketches: NDArray[Any], rows: int) -> NDArray[np.uint64]:
    """One number for each band of each sketch; a column for each band."""
    keys = np.zeros((len(sketches), sketches.shape[1] // rows), np.uint64)
    for row in range(rows):
        keys += sketches[:, row::rows]
        keys *= _FACTOR
        keys ^= keys >> _SHIFT
    return keys


def _crowds(keys: NDArray[np.uint64]) -> _Crowds:
    """Who crowds bands together, by the smallest row of all whom that links."""
    runs = [_long_runs(keys[:, band]) for band in range(keys.shape[1])]
    number = np.arange(len(keys))
    is_new = True
    while is_new:
        before = number.copy()
        for rows, starts, sizes in runs:
            if len(rows):
                number[rows] = np.repeat(np.minimum.reduceat(number[rows], starts), sizes)
        number = number[number]
        is_new = bool((number != before).any())
    effort = np.zeros(len(keys))
    for rows, starts, sizes in runs:
        np.add.at(effort, number[rows[starts]], sizes * (sizes - 1) / 2)
    size = np.bincount(number, minlength=len(keys))
    is_crowd = effort > 0
    is_dense = is_crowd & (size <= _LARGEST) & (size * (size - 1.0) / 2 <= _GAIN * effort)
    return _Crowds(number, is_dense[number], (is_crowd & (size > _LARGEST))[number])


def _long_runs(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], Indexes, Indexes]:
    """The rows that crowd this band, side by side where they have the same key; where each run begins, and its size."""
    order = np.argsort(keys, kind="stable")
    size, after = _runs(keys[order])
    is_long = size >= _LONG_RUN
    size, after = size[is_long], after[is_long]
    starts = np.flatnonzero(after == size - 1)
    return order[is_long].astype(np.int32), starts, size[starts]


def _candidates(keys: NDArray[np.uint64], crowds: _Crowds) -> Iterator[tuple[Indexes, Indexes]]:
    bands = keys.shape[1]
    for band in range(bands):
        order = np.argsort(keys[:, band], kind="stable")
        size, after = _runs(keys[order, band])
        is_done = (size >= _LONG_RUN) & crowds.is_dense[order]
        is_crowded = (size > MAX_RUN) & crowds.is_too_large[order]
        for second in range(band + 1, bands) if is_crowded.any() else ():
            yield from _within(keys, order[is_crowded], band, second)
        yield from _pairs(order, np.where(is_done | is_crowded, 0, after))


def _within(keys: NDArray[np.uint64], crowd: Indexes, band: int, second: int) -> Iterator[tuple[Indexes, Indexes]]:
    """The pairs of a crowd that share a second band."""
    order = crowd[np.lexsort((keys[crowd, second], keys[crowd, band]))]
    _, after = _runs(keys[order, band], keys[order, second])
    yield from _pairs(order, np.minimum(after, MAX_RUN))


def _runs(*columns: NDArray[np.uint64]) -> tuple[Indexes, Indexes]:
    """How many have the same keys as each, where equal keys lie side by side; and how many of them come after it."""
    is_edge = np.zeros(len(columns[0]), np.bool_)
    for keys in columns:
        is_edge[:-1] |= keys[1:] != keys[:-1]
    is_edge[-1:] = True
    ends = np.flatnonzero(is_edge)
    run: Indexes = np.cumsum(is_edge) - is_edge
    return np.diff(ends, prepend=-1)[run], ends[run] - np.arange(len(is_edge))


def _pairs(order: Indexes, after: Indexes) -> Iterator[tuple[Indexes, Indexes]]:
    """Each with so many that come after it, as many at once as memory is for."""
    places = np.flatnonzero(after)
    totals = np.cumsum(after[places])
    start = 0
    while start < len(places):
        base = totals[start] - after[places[start]]
        end = max(start + 1, int(np.searchsorted(totals, base + _AT_ONCE, side="right")))
        block = places[start:end]
        counts = after[block]
        firsts = np.repeat(block, counts)
        steps = np.arange(1, len(firsts) + 1) - np.repeat(totals[start:end] - counts - base, counts)
        yield order[firsts], order[firsts + steps]
        start = end

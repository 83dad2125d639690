"""All pairs of sketches that agree enough, among many, without comparing all with all.

The values of a sketch are cut into bands; what shares a band with another is compared with it. How wide a band may be
follows from the likeness that is asked for: as wide as a pair of just that likeness still shares one of them almost
always (`LEAST_RECALL`), so that little else does.

Where very many share a band (a phrase that a thousand pages have in common), comparing all of them would cost the
square of that. There a second band must be shared, which a pair of likeness .9 does in 16 bands with probability .998;
and where very many share both, each is compared with the next few only. Rows that agree in every value should be put
together before: they are what fills bands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LEAST_RECALL: Final = 0.9995
MAX_RUN: Final = 256
"""Of so many that share a band, all are compared with all."""
_AT_ONCE: Final = 1 << 17
"""Pairs that are compared at once."""
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)

Indexes = NDArray[np.intp]


def rows_for(likeness: float, values: int) -> int:
    """How many values of a band: the most with which a pair so alike is still found."""
    rows = 1
    while 2 * rows <= values and 1 - (1 - likeness ** (2 * rows)) ** (values // (2 * rows)) >= LEAST_RECALL:
        rows *= 2
    return rows


def neighbours(sketches: NDArray[Any], likeness: float, slack: float = 0.0) -> Iterator[tuple[Indexes, Indexes]]:
    """Pairs of rows, the first before the second, that agree in a share of at least `likeness - slack`; in portions.

    Bands are as wide as `likeness` allows; `slack` is for whoever verifies by other means, and would rather be offered
    too many. A pair comes once for each band that it shares.
    """
    for firsts, seconds in _candidates(_keys(sketches, rows_for(likeness, sketches.shape[1]))):
        is_near = (sketches[firsts] == sketches[seconds]).mean(axis=1) >= likeness - slack
        if is_near.any():
            yield firsts[is_near], seconds[is_near]


def _keys(sketches: NDArray[Any], rows: int) -> NDArray[np.uint64]:
    """One number for each band of each sketch; a column for each band."""
    keys = np.zeros((len(sketches), sketches.shape[1] // rows), np.uint64)
    for row in range(rows):
        keys += sketches[:, row::rows]
        keys *= _FACTOR
        keys ^= keys >> _SHIFT
    return keys


def _candidates(keys: NDArray[np.uint64]) -> Iterator[tuple[Indexes, Indexes]]:
    bands = keys.shape[1]
    for band in range(bands):
        order = np.argsort(keys[:, band], kind="stable")
        after = _left_in_run(keys[order, band])
        crowded = after >= MAX_RUN
        if crowded.any():
            crowd, after = _crowd(after, crowded)
            for second in range(band + 1, bands):
                yield from _within(keys, order[crowd], band, second)
        yield from _pairs(order, after)


def _crowd(after: Indexes, crowded: NDArray[np.bool_]) -> tuple[Indexes, Indexes]:
    """Where the runs lie that are too long, whole; and how many follow each in its run, but for these."""
    ends = np.flatnonzero(after == 0)
    long_ends = ends[np.searchsorted(ends, np.flatnonzero(crowded))]
    run = np.searchsorted(ends, np.arange(len(after)))
    is_in = np.isin(run, np.searchsorted(ends, long_ends))
    return np.flatnonzero(is_in), np.where(is_in, 0, after)


def _within(keys: NDArray[np.uint64], crowd: Indexes, band: int, second: int) -> Iterator[tuple[Indexes, Indexes]]:
    """The pairs of a crowd that share a second band."""
    order = crowd[np.lexsort((keys[crowd, second], keys[crowd, band]))]
    after = _left_in_run(keys[order, band], keys[order, second])
    yield from _pairs(order, np.minimum(after, MAX_RUN))


def _left_in_run(*columns: NDArray[np.uint64]) -> Indexes:
    """How many come after each that have the same keys as it, where equal keys lie side by side."""
    is_edge = np.zeros(len(columns[0]), np.bool_)
    for keys in columns:
        is_edge[:-1] |= keys[1:] != keys[:-1]
    is_edge[-1:] = True
    ends = np.flatnonzero(is_edge)
    places = np.arange(len(is_edge))
    return ends[np.searchsorted(ends, places)] - places


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

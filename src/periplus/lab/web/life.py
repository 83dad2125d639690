"""Births and deaths: a site has as many pages next year as today, and few of them are the same.

A site is a row of slots. In each slot pages follow one another, every one living exactly the slot's span, so that the
page of any moment is one division away and nothing is remembered. The spans are chosen so that of all pages alive 8 %
are new each week and 20 % are still there after a year (Ntoulas, Cho, Olston, WWW 2004), which one exponential law
could not give: most births are of pages that soon go, most pages are of those that stay.

Times here and in the rest of the world's machinery are whole seconds since the world's origin.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .randomness import Words

Ticks: TypeAlias = NDArray[np.int64]

HOUR, DAY, WEEK = 3600, 86400, 604800
PREHISTORY = 520 * WEEK
"""From the world's origin to its epoch: nothing before is needed."""

SPANS = tuple(WEEK * weeks for weeks in (3, 4, 6, 8, 10, 12, 16, 24, 30, 40, 96, 96, 96, 96, 96, 96))
_SPANS = np.array(SPANS, dtype=np.int64)
_PHASE_BITS = 20


def span_of(key: int) -> tuple[int, int]:
    """How long each page of the slot lives, and how far the first of them had come at the origin."""
    span = SPANS[key & 15]
    return span, (key >> 64 - _PHASE_BITS) * span >> _PHASE_BITS


def is_lasting(key: int) -> bool:
    """Whether the slot's pages are of those that stay."""
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


class Arrivals:
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

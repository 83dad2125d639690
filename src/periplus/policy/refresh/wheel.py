"""A timing wheel: who wakes when, in O(1) for each, whatever the number of sleepers.

Three wheels of 256 slots: the first turns a slot a minute, the others 256 times slower each. A sleeper of weeks lies in
a slow wheel and is moved to a faster one when its time comes near (Varghese & Lauck, SOSP 1987). With slots of a minute
that reaches 31 years; who sleeps longer is woken then. Slots are queues of `Chains`, the first ones of it.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from .chains import Chains

_BITS = 8
_SLOTS = 1 << _BITS
_MASK = _SLOTS - 1
_LEVELS = 3
_FARTHEST = (1 << _BITS * _LEVELS) - 2
SLOTS = _SLOTS * _LEVELS
"""Queues of `Chains` that the wheel takes."""


class TimingWheel:
    """Sleepers in `chains`; `slot` seconds are the least that can be told apart."""

    def __init__(self, chains: Chains, slot: float, now: float) -> None:
        self._chains, self._slot = chains, slot
        self._turned = int(now // slot)
        self._at = array("q")

    def grow(self, items: int) -> None:
        """Have room for so many sleepers."""
        if items > len(self._at):
            self._at.extend([0] * (items - len(self._at)))

    def sleep(self, item: int, until: float) -> None:
        """Wake an item, which is in no queue, when it is time: never before, and within a slot after."""
        at = int(min(until / self._slot, self._turned + _FARTHEST)) + 1
        self._at[item] = at = at if at > self._turned else self._turned + 1
        self._chains.append(self._place(at), item)

    def turn(self, now: float) -> list[int]:
        """Who wakes, in order of time."""
        woken: list[int] = []
        last = int(now // self._slot)
        while self._turned < last:
            self._turned += 1
            for level in (2, 1):
                if not self._turned & (1 << _BITS * level) - 1:
                    self._move_down(level * _SLOTS + (self._turned >> _BITS * level & _MASK))
            if self._chains.first(self._turned & _MASK) >= 0:
                woken += self._chains.drain(self._turned & _MASK)
        return woken

    def places(self, items: NDArray[np.int64], until: NDArray[np.float64]) -> NDArray[np.int64]:
        """The queue of each, for a `rebuild` of all."""
        soonest, latest = self._turned + 1, self._turned + _FARTHEST
        at = np.clip(np.minimum(until / self._slot, latest).astype(np.int64) + 1, soonest, latest)
        np.frombuffer(self._at, np.int64)[items] = at
        away = at ^ self._turned
        first, second = at & _MASK, _SLOTS + (at >> _BITS & _MASK)
        third = 2 * _SLOTS + (at >> 2 * _BITS & _MASK)
        return np.where(away < _SLOTS, first, np.where(away < _SLOTS << _BITS, second, third))

    def _place(self, at: int) -> int:
        """In the wheel whose turns lie between now and then; it is moved down when the slower ones agree."""
        away = at ^ self._turned
        if away < _SLOTS:
            return at & _MASK
        if away < _SLOTS << _BITS:
            return _SLOTS + (at >> _BITS & _MASK)
        return 2 * _SLOTS + (at >> 2 * _BITS & _MASK)

    def _move_down(self, slot: int) -> None:
        for item in self._chains.drain(slot):
            self._chains.append(self._place(self._at[item]), item)

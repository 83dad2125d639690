"""A set of 64-bit keys that may say yes by mistake and never no (Bloom 1970), in 16 MB whatever it holds.

Blocked after Putze, Sanders & Singler (2007): a key sets three bits of one word of 64, so that asking costs one look
into memory. With 16 million keys about 3 % of others seem to be there, with 64 million about 45 %.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_WORD_BITS: Final = 21
_SHIFTS: Final = tuple(np.uint64(shift) for shift in (0, 6, 12))
_PLACE_SHIFT: Final = np.uint64(64 - _WORD_BITS)
_SIX: Final = np.uint64(63)
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)
_FACTORS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))


class Places(NamedTuple):
    """Where keys lie in a filter: which word, and which bits of it."""

    words: NDArray[np.uint64]
    bits: NDArray[np.uint64]


class KeyFilter:
    """Keys in columns: one key in two columns is two keys."""

    def __init__(self) -> None:
        self._words = np.zeros(1 << _WORD_BITS, np.uint64)

    def places(self, keys: NDArray[np.uint64]) -> Places:
        """Where keys lie, or would."""
        mixed = keys + np.arange(1, keys.shape[1] + 1, dtype=np.uint64)
        for factor in _FACTORS:
            mixed *= factor
            mixed ^= mixed >> _HALF
        bits = np.zeros_like(mixed)
        for shift in _SHIFTS:
            bits |= _ONE << (mixed >> shift & _SIX)
        return Places(mixed >> _PLACE_SHIFT, bits)

    def has(self, places: Places) -> NDArray[np.bool_]:
        """Which of the keys may be there."""
        is_there: NDArray[np.bool_] = self._words[places.words] & places.bits == places.bits
        return is_there

    def add(self, places: Places) -> None:
        """Put keys in."""
        np.bitwise_or.at(self._words, places.words.reshape(-1), places.bits.reshape(-1))

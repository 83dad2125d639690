"""A Bloom filter of 64-bit keys: false positives are possible, false negatives are not (Bloom 1970).

It is blocked after Putze, Sanders & Singler (2007): a key sets three bits of one 64-bit word, so a lookup is one memory
access. It grows in layers (Almeida, Baquero, Preguiça & Hutchison 2007): a full layer stays, a larger one takes the
next keys, and all are queried. The last layer of 16 MB takes all further keys. The false positive rate is about 2 % for
each full layer, 7 % in all with 16 million keys and 44 % with 64 million.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LAYER_BITS: Final = (15, 17, 19, 21)
"""Binary logarithms of the words in each layer: 256 KB, which the processor's caches hold, up to 16 MB."""
_KEYS_PER_WORD: Final = 6
"""Keys per word at which a layer is full: 10.7 bits a key."""
_SHIFTS: Final = tuple(np.uint64(shift) for shift in (0, 6, 12))
_SIX: Final = np.uint64(63)
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)
_FACTORS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))


class Places(NamedTuple):
    """Positions of keys in a filter: hashes whose highest bits select the word, and the bits within it."""

    hashes: NDArray[np.uint64]
    bits: NDArray[np.uint64]


class KeyFilter:
    """Keys in columns: one key in two columns is two keys. `expected`: how many are about to be put in."""

    def __init__(self, expected: int = 0) -> None:
        sizes = [bits for bits in _LAYER_BITS if expected <= _KEYS_PER_WORD << bits]
        self._sizes = sizes or [_LAYER_BITS[-1]]
        self._layers: list[tuple[np.uint64, NDArray[np.uint64]]] = []
        self._room = 0

    def places(self, keys: NDArray[np.uint64]) -> Places:
        """The positions of keys."""
        mixed = keys + np.arange(1, keys.shape[1] + 1, dtype=np.uint64)
        for factor in _FACTORS:
            mixed *= factor
            mixed ^= mixed >> _HALF
        bits = np.zeros_like(mixed)
        for shift in _SHIFTS:
            bits |= _ONE << (mixed >> shift & _SIX)
        return Places(mixed, bits)

    def has(self, places: Places) -> NDArray[np.bool_]:
        """Which of the keys may be there."""
        is_there = np.zeros(places.bits.shape, np.bool_)
        for shift, words in self._layers:
            is_there |= words[places.hashes >> shift] & places.bits == places.bits
        return is_there

    def add(self, places: Places) -> None:
        """Put keys in that are not there."""
        if self._room <= 0 and len(self._layers) < len(self._sizes):
            bits = self._sizes[len(self._layers)]
            self._layers.append((np.uint64(64 - bits), np.zeros(1 << bits, np.uint64)))
            self._room = _KEYS_PER_WORD << bits
        shift, words = self._layers[-1]
        np.bitwise_or.at(words, (places.hashes >> shift).reshape(-1), places.bits.reshape(-1))
        self._room -= places.bits.size

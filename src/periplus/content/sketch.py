"""Near-duplicates: how much two pages resemble each other, from 512 bytes each.

Resemblance is the share of common shingles of 4 words, the Jaccard coefficient of Broder (1997). A sketch estimates it
by min-wise hashing in one permutation (Li, Owen & Zhang 2012): the shingles' hashes fall into 128 bins, and the
smallest of each bin is kept. Bins that stay empty in a short text borrow from others by optimal densification
(Shrivastava 2017), which keeps the estimate unbiased. The share of equal values then estimates resemblance J with a
standard deviation of about sqrt(J(1-J)/128).

`bands` gives the keys by which likely pairs are found without comparing all (16 bands of 8 values: a pair of
resemblance .9 shares one with probability .9999, of .5 with .06).
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from .words import words_of

VALUES: Final = 128
SHINGLE_WORDS: Final = 4
BANDS: Final = 16
_BYTES: Final = 4 * VALUES
_EMPTY: Final = 0xFFFFFFFF
_BIN_SHIFT: Final = np.uint64(64 - 7)
_VALUE_SHIFT: Final = np.uint64(64 - 7 - 32)
_PLACES: Final = np.array(
    [0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F], dtype=np.uint64
)
_MIX_SHIFT: Final = np.uint64(32)
_MIX_FACTOR: Final = np.uint64(0xFF51AFD7ED558CCD)


def sketch_of(text: str) -> bytes:
    """The sketch of a text: 128 little-endian values of 32 bits, or nothing for a text without words."""
    return sketch_of_numbers(words_of(text.encode("utf-8", "replace")))


def sketch_of_numbers(numbers: NDArray[np.uint64]) -> bytes:
    """The sketch of a text given as the numbers of its words."""
    if not len(numbers):
        return b""
    size = min(SHINGLE_WORDS, len(numbers))  # a text shorter than a shingle is one
    hashes = _mixed(np.correlate(numbers, _PLACES[:size], "valid"))
    values = np.full(VALUES, _EMPTY, dtype="<u4")
    np.minimum.at(values, hashes >> _BIN_SHIFT, (hashes >> _VALUE_SHIFT).astype(np.uint32))
    empty = (values == _EMPTY).nonzero()[0]
    return (_densified(values, empty) if len(empty) else values).tobytes()


def resemblance(a: bytes, b: bytes) -> float:
    """The share of equal values of two sketches. Two texts without words are the same."""
    if len(a) != _BYTES or len(b) != _BYTES:
        return float(a == b)
    return float(np.count_nonzero(np.frombuffer(a, "<u4") == np.frombuffer(b, "<u4"))) / VALUES


def bands(sketch: bytes) -> tuple[int, ...]:
    """Keys of 64 bits, one a band; pages that share one are worth comparing."""
    width = _BYTES // BANDS
    return tuple(xxhash.xxh3_64_intdigest(sketch[at : at + width], seed=at) for at in range(0, len(sketch), width))


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit made to depend on every other, in place: a finaliser in the manner of MurmurHash3."""
    hashes ^= hashes >> _MIX_SHIFT
    hashes *= _MIX_FACTOR
    hashes ^= hashes >> _MIX_SHIFT
    hashes *= _PLACES[1]
    return hashes


def _densified(values: NDArray[np.uint32], empty: NDArray[np.intp]) -> NDArray[np.uint32]:
    """Each empty bin takes the value of the first filled bin in an order of its own, the same for every text."""
    orders = _orders()[empty]
    asked = values[orders]
    values[empty] = asked[np.arange(len(empty)), (asked != _EMPTY).argmax(axis=1)]
    return values


@cache
def _orders() -> NDArray[np.intp]:
    """For each bin, all bins in an order that differs from bin to bin."""
    pairs = np.arange(1, VALUES * VALUES + 1, dtype=np.uint64) * _PLACES[2]
    return np.argsort(_mixed(pairs).reshape(VALUES, VALUES), axis=1)

"""Near-duplicates: how much two pages resemble each other, from 512 bytes each.

Resemblance is the share of common shingles of 4 words, the Jaccard coefficient of Broder (1997). A sketch estimates it
by min-wise hashing in one permutation (Li, Owen & Zhang 2012): the shingles' hashes fall into 128 bins, and the
smallest of each bin is kept. Bins that stay empty in a short text borrow from others by optimal densification
(Shrivastava 2017), which keeps the estimate unbiased. The share of equal values then estimates resemblance J with a
standard deviation of about sqrt(J(1-J)/128).

How likely pairs are found without comparing all is in `policy.duplicates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .scan.columns import VALUES
from .words import words_of_all

SHINGLE_WORDS: Final = 4
_BYTES: Final = 4 * VALUES
_EMPTY: Final = 0xFFFFFFFF
_FIRST_ASKED: Final = 16
_BIN_SHIFT: Final = np.uint64(64 - 7)
_VALUE_SHIFT: Final = np.uint64(64 - 7 - 32)
_PLACES: Final = np.array(
    [0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F], dtype=np.uint64
)
_MIX_SHIFT: Final = np.uint64(32)
_MIX_FACTOR: Final = np.uint64(0xFF51AFD7ED558CCD)


def sketch_of(text: str) -> bytes:
    """The sketch of a text: 128 little-endian values of 32 bits, or nothing for a text without words."""
    return sketches_of([text.encode("utf-8", "replace")])[0]


def sketches_of(texts: Sequence[bytes]) -> list[bytes]:
    """The sketches of several texts in UTF-8, all at once, because a text has few words beside what a call costs."""
    if not texts:
        return []
    numbers, ends = words_of_all(texts)
    counts = ends.copy()
    counts[1:] -= ends[:-1]
    hashes = _mixed(_shingles(numbers))
    bins = (hashes >> _BIN_SHIFT).astype(np.intp)
    if len(texts) > 1:
        firsts = np.repeat(np.arange(len(texts)) * VALUES, counts)
        bins += firsts[: len(bins)]
        bins[firsts[: len(bins)] != firsts[SHINGLE_WORDS - 1 :]] = len(texts) * VALUES  # of two texts: to be forgotten
    values = np.full((len(texts) + 1, VALUES), _EMPTY, dtype="<u4")
    np.minimum.at(values.reshape(-1), bins, (hashes >> _VALUE_SHIFT).astype(np.uint32))
    values = values[:-1]
    sizes: list[int] = counts.tolist()
    for row in [row for row, size in enumerate(sizes) if 0 < size < SHINGLE_WORDS]:  # shorter than a shingle: it is one
        few = numbers[ends[row] - sizes[row] : ends[row]]
        only = _mixed((few * _PLACES[: len(few)]).sum(keepdims=True))
        values[row, int(only[0] >> _BIN_SHIFT)] = (only >> _VALUE_SHIFT).astype(np.uint32)[0]
    is_empty = values == _EMPTY
    if not all(sizes):
        is_empty &= (counts > 0)[:, None]
    _densify(values, *is_empty.nonzero())
    data = values.tobytes()
    return [data[row * _BYTES : (row + 1) * _BYTES] if size else b"" for row, size in enumerate(sizes)]


def resemblance(a: bytes, b: bytes) -> float:
    """The share of equal values of two sketches. Two texts without words are the same."""
    if len(a) != _BYTES or len(b) != _BYTES:
        return float(a == b)
    return float(np.count_nonzero(np.frombuffer(a, "<u4") == np.frombuffer(b, "<u4"))) / VALUES


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit made to depend on every other, in place: a finaliser in the manner of MurmurHash3."""
    hashes ^= hashes >> _MIX_SHIFT
    hashes *= _MIX_FACTOR
    hashes ^= hashes >> _MIX_SHIFT
    hashes *= _PLACES[1]
    return hashes


def _shingles(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number of each shingle, from those of its words and their order in it."""
    return np.correlate(numbers, _PLACES, "valid") if len(numbers) >= SHINGLE_WORDS else numbers[:0].copy()


def _densify(values: NDArray[np.uint32], rows: NDArray[np.intp], bins: NDArray[np.intp]) -> None:
    """Each empty bin takes the value of the first filled bin in an order of its own, the same for every text."""
    if not len(rows):
        return
    taken = _first_filled(values, rows, bins, _FIRST_ASKED)
    asking = (taken == _EMPTY).nonzero()[0]
    if len(asking):  # hardly one asks further
        taken[asking] = _first_filled(values, rows[asking], bins[asking], VALUES)
    values[rows, bins] = taken


def _first_filled(
    values: NDArray[np.uint32], rows: NDArray[np.intp], bins: NDArray[np.intp], size: int
) -> NDArray[np.uint32]:
    """For each bin of a row, the first value that is there among the first bins it asks."""
    places = _orders(size).take(bins, axis=0)
    places += (rows * VALUES)[:, None]
    asked = values.reshape(-1).take(places)
    first: NDArray[np.uint32] = asked[np.arange(len(rows)), (asked != _EMPTY).argmax(axis=1)]
    return first


@cache
def _orders(size: int) -> NDArray[np.intp]:
    """For each bin, the first bins in an order of all that differs from bin to bin."""
    pairs = np.arange(1, VALUES * VALUES + 1, dtype=np.uint64) * _PLACES[2]
    return np.argsort(_mixed(pairs).reshape(VALUES, VALUES), axis=1)[:, :size].copy()

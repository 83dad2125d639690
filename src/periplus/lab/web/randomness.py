"""Random numbers that do not depend on the order of calls: each is a function of its key.

Counter-based generators (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The numbers that are
also wanted for whole sites at once come from one folded multiplication (wyrand, Wang Yi), alike for a Python integer
and for an array; longer runs of bits for one text come from XXH3. Both are integer arithmetic alone: no seed of the
process, no order of a set, no rounding of a mathematical library reaches a byte that is served.
"""

from __future__ import annotations

from hashlib import shake_128
from struct import Struct
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

Words: TypeAlias = NDArray[np.uint64]

MASK = (1 << 64) - 1
GOLDEN = 0xA0761D6478BD642F
_TWIST = 0xE7037ED1A0B428DB
_GOLDEN_WORD, _TWIST_WORD = np.uint64(GOLDEN), np.uint64(_TWIST)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def at(key: int, counter: int) -> int:
    """The 64 even bits that `key` draws for `counter`, which may be negative."""
    word = (key + counter * GOLDEN) & MASK
    product = word * (word ^ _TWIST)
    return (product ^ product >> 64) & MASK


def at_all(key: int | Words, counters: NDArray[np.int64] | Words) -> Words:
    """`at` for every element."""
    base = np.uint64(key) if isinstance(key, int) else key
    words = base + counters.astype(np.uint64) * _GOLDEN_WORD
    return _folded_product(words, words ^ _TWIST_WORD)


def _folded_product(left: Words, right: Words) -> Words:
    """Both halves of the 128-bit product, by exclusive or."""
    a, b, c, d = left >> _HALF, left & _LOW, right >> _HALF, right & _LOW
    first, second = a * d, b * c
    carry = ((b * d >> _HALF) + (first & _LOW) + (second & _LOW)) >> _HALF
    high = a * c + (first >> _HALF) + (second >> _HALF) + carry
    folded: Words = left * right ^ high
    return folded


def key_of(seed: int, *names: str | int) -> int:
    """An independent key: numbers drawn under one key are independent of another."""
    text = "\0".join(map(str, (seed, *names)))
    return int.from_bytes(shake_128(text.encode()).digest(8), "little")


_EIGHT = Struct("<8H")


def eight(key: int) -> tuple[int, ...]:
    """Eight numbers of 16 bits in one go: the cheapest way to dress a paragraph."""
    return _EIGHT.unpack(xxh3_128_digest(key.to_bytes(8, "little")))


_UNIT = 2.0**-32


def skewed(bits: int, size: int) -> int:
    """A rank below `size` for 32 even bits, low ranks first: in-degrees then follow a power law.

    The fourth power of a uniform variable has density x^(-3/4), so that rank r is chosen in proportion to r^(-3/4) and
    the in-degree has a tail of exponent 1 + 4/3, near the web's 2.1 to 2.3 and that of preferential attachment.
    Products of two floats are rounded alike on every machine; powers are not.
    """
    share = bits * _UNIT
    return int(share * share * share * share * size)


def skewed_all(bits: Words, size: int) -> Words:
    """`skewed` of every element."""
    shares = bits.astype(np.float64) * _UNIT
    return (shares * shares * shares * shares * size).astype(np.uint64)

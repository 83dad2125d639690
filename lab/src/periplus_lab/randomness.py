"""Random numbers and words that are functions of their keys: they do not depend on the order of calls.

The numbers are counter-based (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Those that are
also needed for whole sites at once come from one folded multiplication (wyrand, Wang Yi), alike for a Python integer
and for an array; longer runs of bits for one text come from XXH3. Both are integer arithmetic alone: no seed of the
process, no order of a set, no rounding of a mathematical library changes a byte that is served.

The words are invented and pronounceable, with Zipf's unequal frequencies. Function words of English come first, so that
a page looks like prose and has stop words; the rest is made of syllables. A page is a choice of ready sentences, which
costs a hundredth of a choice of words. Words and sentences are the same for every world.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_128
from itertools import groupby
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


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FUNCTION = _list(
    "the of and to in a is that for it was on with as by at from his her be this had not are but or have an they which "
    "one you were all their there been if more when will would who so no out up into than them can only other new some "
    "could time these two may then do first any my now such like our over man me even most made after also did many"
)
_ONSETS = _list("b br c ch cl d dr f fl g gl gr h j k l m n p pl pr qu r s sh sl st t th tr v w z")
_VOWELS = _list("a e i o u ai ea ee io ou")
_CODAS = _list("l m n r s t nd rn st x ck ve")
_GIVEN = _list("Ada Ben Cleo Dov Edith Femi Grace Hugo Ines Jun Kofi Lena Mira Niko Olga Pia Quim Rosa Sami Tove")

WORDS = 8192
PASSAGES = 8192


def _syllable(bits: int) -> str:
    coda = _CODAS[(bits >> 24) % len(_CODAS)] if bits >> 20 & 3 == 0 else ""
    return _ONSETS[bits % len(_ONSETS)] + _VOWELS[(bits >> 8) % len(_VOWELS)] + coda


def _invented(bits: int) -> str:
    """Two or three syllables, closed more often than not."""
    word = "".join(_syllable(bits >> (20 * place)) for place in range(2 + (bits >> 62 & 1)))
    return word + ("n", "r", "", "s")[bits >> 60 & 3] if word[-1] in "aeiou" else word


@lru_cache(maxsize=1)
def words() -> tuple[str, ...]:
    """The vocabulary, the most frequent word first, each once."""
    key = key_of(0, "vocabulary")
    found = dict.fromkeys(_FUNCTION)
    counter = 0
    while len(found) < WORDS:
        found[_invented(at(key, counter))] = None
        counter += 1
    return tuple(found)


@lru_cache(maxsize=1)
def topics() -> tuple[bytes, ...]:
    """2,048 content words, for titles, sections and queries."""
    start = len(_FUNCTION)
    return tuple(word.encode() for word in words()[start : start + 2048])


@lru_cache(maxsize=1)
def sentences() -> tuple[bytes, ...]:
    """The pool of prose: sentences of 8 to 15 words, each with a blank after its stop."""
    vocabulary, longest, count = words(), 15, 2 * PASSAGES
    bits = at_all(key_of(0, "sentences"), np.arange(count * longest, dtype=np.uint64)).reshape(count, longest)
    rows = skewed_all(bits >> np.uint64(32), WORDS).tolist()
    lengths = (8 + (bits[:, 0] & np.uint64(7))).tolist()
    return tuple(_sentence([vocabulary[word] for word in row[:size]]) for row, size in zip(rows, lengths, strict=True))


def _sentence(chosen: list[str]) -> bytes:
    """The words without immediate repeats, which are as rare in prose as they are likely here."""
    return f"{' '.join(word for word, _ in groupby(chosen)).capitalize()}. ".encode()


@lru_cache(maxsize=1)
def passages() -> tuple[bytes, ...]:
    """Sentences by four: what stands between two links of a paragraph."""
    pool = (*sentences(), *sentences()[:2])
    return tuple(b"".join(pool[place : place + 4]) for place in range(0, len(sentences()), 2))


@lru_cache(maxsize=4096)
def person(bits: int) -> bytes:
    """A name for an author, from 16 bits."""
    family = topics()[bits & 2047].decode().capitalize()
    return f"{_GIVEN[(bits >> 11 & 31) % len(_GIVEN)]} {family}".encode()


def host_label(bits: int) -> str:
    """A name for a site."""
    return "".join(_syllable(bits >> (20 * place)) for place in range(2 + (bits >> 62 & 1)))

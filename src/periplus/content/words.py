"""A text as words, each as a number: what sketches and digests are made of.

A word is a run of letters, digits and underscores, in lower case. Scripts that put no space between words (Chinese,
Japanese, Thai, ...) give one word a character. All words are found and numbered at once, on arrays over the bytes of
the text in UTF-8, because a page has thousands of them and Python objects are dear: a regular expression that finds
the words alone costs several times as much as all of this.

The number of a word is made of its first 8 bytes, its last 8 and its length. Two words that differ only in between get
the same number, which is rare and does no harm to an estimate.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SPACE: Final = 0x20
EDGE: Final = 8
"""So many spaces are around the codes of a text, so that 8 bytes before and after every word can be read."""
_EDGE: Final = b" " * EDGE

_FOLD: Final = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalnum() or byte == ord("_") else _SPACE
    for byte in range(256)
)
_FIRST: Final = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
_WINDOW: Final = np.dtype("<u8")
_PAIR: Final = np.dtype(">u2")
_NO_BORDERS: Final = np.zeros(0, dtype=np.intp)

_LETTER, _SIGN, _ALONE, _CASED = 0, 1, 2, 3
_THREE_BYTES, _FOUR_BYTES = 0xE000, 0xF000


def _kinds() -> NDArray[np.uint8]:
    """What a character beyond ASCII is, by the first two bytes it has in UTF-8."""
    kinds = np.full(1 << 16, _LETTER, dtype=np.uint8)
    for first, last, kind in (
        (0xC280, 0xC2BF, _SIGN),  # no-break space, paragraph sign, ...
        (0xC380, 0xD4BF, _CASED),  # Latin, Greek, Cyrillic
        (0xE280, 0xE2AF, _SIGN),  # dashes, quotes, arrows, boxes, ...
        (0xE380, 0xE380, _SIGN),  # ideographic space, brackets
        (0xF09F, 0xF09F, _SIGN),  # pictures
        (0xE0B8, 0xE0BB, _ALONE),  # Thai, Lao
        (0xE180, 0xE182, _ALONE),  # Burmese
        (0xE19E, 0xE19F, _ALONE),  # Khmer
        (0xE2BA, 0xE2BF, _ALONE),  # radicals
        (0xE381, 0xE9BF, _ALONE),  # kana, ideographs
        (0xF0A0, 0xF0AF, _ALONE),  # ideographs beyond the basic plane
    ):
        kinds[first : last + 1] = kind
    return kinds


_KINDS: Final = _kinds()


class Words(NamedTuple):
    """The words of a text: their numbers, and where they lie in `codes`, the text in lower case with an edge."""

    numbers: NDArray[np.uint64]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    codes: NDArray[np.uint8]


def words_of(data: bytes) -> Words:
    """All words of a text in UTF-8, in order."""
    codes = np.frombuffer(_EDGE + data.translate(_FOLD) + _EDGE, dtype=np.uint8)
    borders = _NO_BORDERS
    if not data.isascii():
        codes, borders = _beyond_ascii(data, codes)
    is_word = codes != _SPACE
    is_edge = is_word[1:] != is_word[:-1]
    if len(borders):
        is_edge[borders - 1] = True
        starts = (is_edge & is_word[1:]).nonzero()[0] + 1
        ends = (is_edge & is_word[:-1]).nonzero()[0] + 1
    else:  # then words begin and end in turns
        edges = is_edge.nonzero()[0]
        edges += 1
        starts, ends = edges[0::2], edges[1::2]
    return Words(_numbers(codes, starts, ends), starts, ends, codes)


def _numbers(codes: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    windows = np.ndarray((len(codes) - 7,), dtype=_WINDOW, buffer=codes.data, strides=(1,))
    lengths = ends - starts
    numbers: NDArray[np.uint64] = windows[starts] & _FIRST.take(lengths, mode="clip")
    numbers *= _FACTORS[0]
    long = (lengths > 8).nonzero()[0]
    numbers[long] += windows[ends[long] - 8] * _FACTORS[1] + lengths[long].astype(np.uint64)
    return numbers


def _beyond_ascii(data: bytes, codes: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """The codes in lower case with spaces for signs, and the borders of characters that stand alone."""
    leads, pairs, kinds = _leads(codes)
    counts = np.bincount(kinds, minlength=4).tolist()
    if counts[_CASED]:
        lower = data.decode("utf-8", "replace").lower().encode()
        if len(lower) == len(data):  # places in the text must stay what they are
            codes = np.frombuffer(_EDGE + lower.translate(_FOLD) + _EDGE, dtype=np.uint8)
            leads, pairs, kinds = _leads(codes)
    borders = _NO_BORDERS
    if counts[_ALONE]:
        is_alone = kinds == _ALONE
        alone = leads[is_alone]
        borders = np.concatenate((alone, alone + 3 + (pairs[is_alone] >= _FOUR_BYTES)))
    if counts[_SIGN]:
        is_sign = kinds == _SIGN
        signs, pairs = leads[is_sign], pairs[is_sign]
        codes = codes.copy()
        codes[signs] = codes[signs + 1] = _SPACE
        codes[signs[pairs >= _THREE_BYTES] + 2] = _SPACE
        codes[signs[pairs >= _FOUR_BYTES] + 3] = _SPACE
    return codes, borders


def _leads(codes: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.uint16], NDArray[np.uint8]]:
    """Where characters beyond ASCII begin, their first two bytes, and what kind they are."""
    at = (codes >= 0xC2).nonzero()[0]
    pairs = np.ndarray((len(codes) - 1,), dtype=_PAIR, buffer=codes.data, strides=(1,))[at]
    return at, pairs, _KINDS[pairs]

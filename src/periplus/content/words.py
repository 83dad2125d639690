"""A text as words, each as a number: what sketches are made of.

A word is a run of letters, digits and underscores, in lower case. Scripts that put no space between words (Chinese,
Japanese, Thai, ...) give one word a character. All words are found and numbered at once, on arrays over the bytes of
the text in UTF-8, because a page has thousands of them and Python objects are dear: a regular expression that finds
the words alone costs several times as much as all of this.

The number of a word is made of its first 8 bytes, its last 8 and its length. Two words that differ only in between get
the same number, which is rare and does no harm to an estimate.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_SPACE: Final = 0x20
_EDGE: Final = b" " * 8
"""Around a text, so that 8 bytes before and after every word can be read."""
_FOLD: Final = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalnum() or byte == ord("_") else _SPACE
    for byte in range(256)
)
_FIRST: Final = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
_EIGHT_BYTES: Final = np.dtype("V8")
_NUMBER: Final = np.dtype("<u8")
"""Of numbers, those at odd addresses are slow to gather; of mere bytes, they are not."""
_PAIR: Final = np.dtype(">u2")

_LETTER, _SIGN_OF_3, _SIGN_OF_4, _ALONE_OF_3, _ALONE_OF_4, _CASED = range(6)
_KINDS_AND_RANGES: Final = (
    (_CASED, 0xE182, 0xE183),  # Georgian
    (_CASED, 0xE1B8, 0xE1BF),  # Vietnamese, ancient Greek
    (_SIGN_OF_3, 0xE280, 0xE2AF),  # dashes, quotes, arrows, boxes, ...
    (_SIGN_OF_3, 0xE380, 0xE380),  # ideographic space, brackets
    (_SIGN_OF_4, 0xF09F, 0xF09F),  # pictures
    (_ALONE_OF_3, 0xE0B8, 0xE0BB),  # Thai, Lao
    (_ALONE_OF_3, 0xE180, 0xE181),  # Burmese
    (_ALONE_OF_3, 0xE19E, 0xE19F),  # Khmer
    (_ALONE_OF_3, 0xE2BA, 0xE2BF),  # radicals
    (_ALONE_OF_3, 0xE381, 0xE9BF),  # kana, ideographs
    (_ALONE_OF_4, 0xF0A0, 0xF0AF),  # ideographs beyond the basic plane
)
"""What a character of three or four bytes is, by its first two."""


def _kinds() -> NDArray[np.uint8]:
    kinds = np.full(1 << 16, _LETTER, dtype=np.uint8)
    for kind, first, last in _KINDS_AND_RANGES:
        kinds[first : last + 1] = kind
    return kinds


def _plain_pairs() -> NDArray[np.uint16]:
    """What to write in place of two bytes that begin a character: the small letter, or spaces for a sign."""
    pairs = np.arange(1 << 16, dtype=np.uint16)
    for code in range(0x80, 0x800):
        written, lower = chr(code).encode(), chr(code).lower().encode()
        if code < 0xC0:  # no-break space, paragraph sign, ...
            lower = b"  "
        if len(lower) == len(written):
            pairs[int.from_bytes(written, "big")] = int.from_bytes(lower, "big")
    pairs[np.isin(_KINDS, (_SIGN_OF_3, _SIGN_OF_4))] = _SPACE << 8 | _SPACE
    return pairs


_KINDS: Final = _kinds()
_PLAIN_PAIRS: Final = _plain_pairs()


def words_of(data: bytes) -> NDArray[np.uint64]:
    """The numbers of all words of a text in UTF-8, in order."""
    padded = bytearray(_EDGE + data.translate(_FOLD) + _EDGE)
    borders = None if data.isascii() else _beyond_ascii(padded)
    codes = np.frombuffer(padded, dtype=np.uint8)
    is_word = codes != _SPACE
    is_edge = is_word[1:] != is_word[:-1]
    if borders is not None:
        is_edge[borders - 1] = True
        starts = (is_edge & is_word[1:]).nonzero()[0] + 1
        ends = (is_edge & is_word[:-1]).nonzero()[0] + 1
    else:  # then words begin and end in turns
        edges = is_edge.nonzero()[0]
        edges += 1
        starts, ends = edges[0::2], edges[1::2]
    return _numbers(codes, starts, ends)


def _numbers(codes: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    windows = np.ndarray((len(codes) - 7,), _EIGHT_BYTES, codes.data, strides=(1,))
    lengths = ends - starts
    numbers: NDArray[np.uint64] = windows[starts].view(_NUMBER)
    numbers &= _FIRST.take(lengths, mode="clip")
    numbers *= _FACTORS[0]
    long = (lengths > 8).nonzero()[0]
    numbers[long] += windows[ends[long] - 8].view(_NUMBER) * _FACTORS[1] + lengths[long].astype(np.uint64)
    return numbers


def _beyond_ascii(padded: bytearray) -> NDArray[np.intp] | None:
    """Put small letters for capitals and spaces for signs; the borders of characters that stand alone, if there are."""
    leads, pairs, kinds = _leads(padded)
    counts = np.bincount(kinds, minlength=6).tolist()
    if counts[_CASED]:  # these are rare, and their small letters may be longer
        padded[:] = padded.decode().lower().encode()
        leads, pairs, kinds = _leads(padded)
    codes = np.frombuffer(padded, dtype=np.uint8)
    np.ndarray((len(codes) - 1,), dtype=_PAIR, buffer=padded, strides=(1,))[leads] = _PLAIN_PAIRS[pairs]
    if counts[_SIGN_OF_3]:
        codes[leads[kinds == _SIGN_OF_3] + 2] = _SPACE
    if counts[_SIGN_OF_4]:
        signs = leads[kinds == _SIGN_OF_4]
        codes[signs + 2] = codes[signs + 3] = _SPACE
    if not (counts[_ALONE_OF_3] or counts[_ALONE_OF_4]):
        return None
    three, four = leads[kinds == _ALONE_OF_3], leads[kinds == _ALONE_OF_4]
    return np.concatenate((three, three + 3, four, four + 4))


def _leads(padded: bytearray) -> tuple[NDArray[np.intp], NDArray[np.uint16], NDArray[np.uint8]]:
    """Where characters beyond ASCII begin, their first two bytes, and what kind they are."""
    at = (np.frombuffer(padded, dtype=np.uint8) >= 0xC2).nonzero()[0]
    pairs = np.ndarray((len(padded) - 1,), dtype=_PAIR, buffer=padded, strides=(1,))[at]
    return at, pairs, _KINDS[pairs]

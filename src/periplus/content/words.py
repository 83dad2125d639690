"""A text as words, each as a number: what sketches are made of.

A word is a run of letters, digits and underscores, in lower case. Scripts that put no space between words (Chinese,
Japanese, Thai, ...) give one word a character. All words are found and numbered at once, on arrays over the bytes of
the text in UTF-8, because a page has thousands of them and Python objects are expensive: a regular expression that
finds the words alone costs several times as much as all of this.

The number of a word is made of its first 8 bytes, its last 8 and its length. Two words that differ only in between get
the same number, which is rare and does no harm to an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import category

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

_CASED: Final = b"\xe1"
"""Scripts with capitals of three bytes have this in their letters: Georgian, Vietnamese, ancient Greek."""
_LETTER, _SIGN_OF_3, _SIGN_OF_4, _ALONE_OF_3, _ALONE_OF_4, _WIDE = range(6)
_KINDS_AND_RANGES: Final = (
    (_SIGN_OF_3, 0xE280, 0xE2AF),  # dashes, quotes, arrows, boxes, ...
    (_SIGN_OF_3, 0xE380, 0xE380),  # ideographic space, brackets
    (_SIGN_OF_3, 0xEFB8, 0xEFB8),  # variation selectors
    (_SIGN_OF_4, 0xF09F, 0xF09F),  # pictures
    (_WIDE, 0xEFBC, 0xEFBD),  # as wide as an ideograph: signs and letters, by their last byte
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
    """The replacement of two bytes that begin a character: the small letter, or spaces for a sign."""
    pairs = np.arange(1 << 16, dtype=np.uint16)
    for code in range(0x80, 0x800):
        written, lower = chr(code).encode(), chr(code).lower().encode()
        if code < 0xC0 or category(chr(code))[0] in "PSZ":  # no-break space, paragraph sign, the comma of Arabic, ...
            lower = b"  "
        if len(lower) == len(written):
            pairs[int.from_bytes(written, "big")] = int.from_bytes(lower, "big")
    pairs[np.isin(_KINDS, (_SIGN_OF_3, _SIGN_OF_4))] = _SPACE << 8 | _SPACE
    return pairs


def _wide_signs() -> NDArray[np.bool_]:
    """Which of the wide characters are signs, by the last bit of their second byte and by their last byte."""
    signs = np.zeros(1 << 9, dtype=np.bool_)
    for code in range(0xFF01, 0xFF80):
        if category(chr(code))[0] in "PSZ":
            _, second, last = chr(code).encode()
            signs[(second & 1) << 8 | last] = True
    return signs


_KINDS: Final = _kinds()
_WIDE_SIGNS: Final = _wide_signs()
_PLAIN_PAIRS: Final = _plain_pairs()


class Words(NamedTuple):
    """The numbers of all words of some texts, in order, and after how many words each text ends."""

    numbers: NDArray[np.uint64]
    ends: NDArray[np.intp]


def words_of_all(texts: Sequence[bytes]) -> Words:
    """The words of several texts in UTF-8 at once: most of what a short one costs is the beginning."""
    texts = [_lowered(text) if _CASED in text else text for text in texts]
    joined = _EDGE.join((b"", *texts, b""))
    padded = bytearray(joined.translate(_FOLD))
    borders = None if joined.isascii() else _beyond_ascii(padded)
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
    if len(texts) == 1:
        return Words(_numbers(codes, starts, ends), np.array([len(starts)]))
    after = np.cumsum([len(_EDGE) + len(text) for text in texts])
    return Words(_numbers(codes, starts, ends), starts.searchsorted(after))


def _numbers(codes: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    windows = np.ndarray((len(codes) - 7,), _EIGHT_BYTES, codes.data, strides=(1,))
    lengths = ends - starts
    numbers: NDArray[np.uint64] = windows[starts].view(_NUMBER)
    numbers &= _FIRST.take(lengths, mode="clip")
    numbers *= _FACTORS[0]
    long = (lengths > 8).nonzero()[0]
    numbers[long] += windows[ends[long] - 8].view(_NUMBER) * _FACTORS[1] + lengths[long].astype(np.uint64)
    return numbers


def _lowered(text: bytes) -> bytes:
    """In small letters: those of some scripts are longer than their capitals, so that they cannot be put in place."""
    return text.decode("utf-8", "replace").lower().encode()


def _beyond_ascii(padded: bytearray) -> NDArray[np.intp] | None:
    """Put small letters for capitals and spaces for signs; the borders of characters that stand alone, if there are."""
    codes = np.frombuffer(padded, dtype=np.uint8)
    leads = (codes >= 0xC2).nonzero()[0]
    places = np.ndarray((len(codes) - 1,), dtype=_PAIR, buffer=padded, strides=(1,))
    pairs = places[leads]
    kinds = _KINDS[pairs]
    places[leads] = _PLAIN_PAIRS[pairs]
    counts = np.bincount(kinds, minlength=6).tolist()
    if counts[_SIGN_OF_3]:
        codes[leads[kinds == _SIGN_OF_3] + 2] = _SPACE
    if counts[_SIGN_OF_4]:
        signs = leads[kinds == _SIGN_OF_4]
        codes[signs + 2] = codes[signs + 3] = _SPACE
    if counts[_WIDE]:
        wide = leads[kinds == _WIDE]
        signs = wide[_WIDE_SIGNS[(codes[wide + 1] & 1).astype(np.intp) << 8 | codes[wide + 2]]]
        codes[signs] = codes[signs + 1] = codes[signs + 2] = _SPACE
    if not (counts[_ALONE_OF_3] or counts[_ALONE_OF_4]):
        return None
    three, four = leads[kinds == _ALONE_OF_3], leads[kinds == _ALONE_OF_4]
    return np.concatenate((three, three + 3, four, four + 4))

"""Splits a text into pieces that people read one by one, and a piece into words.

A piece is a line or, if the line is too long, a sentence. Text without either is cut after words chosen by their hash,
so that an insertion moves no other cut (content-defined chunks, as in rsync and LBFS). Words are runs of letters and
figures; in scripts without spaces, single characters; otherwise single signs. A word includes the space behind it, so
the words joined are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from xxhash import xxh3_64_intdigest

_LONG_LINE: Final = 300
_LONG_SENTENCE: Final = 1_000
_LEAST_WORDS: Final = 16
_MOST_WORDS: Final = 160
_CUT: Final = 0x1F
"""One word in this many is a cut point."""
_ALONE: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana, ideographs."""
_SENTENCE: Final = re.compile(r"(?<=[.!?…][\"'”’)\]])\s+|(?<=[.!?…])\s+(?=[^\sa-z])|(?<=[。！？])")
_WORD: Final = re.compile(rf"(?:[{_ALONE}]|[^\W{_ALONE}]+|[^\w\s])\s*")
_COUNTED: Final = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")


def pieces_of(text: str) -> list[str]:
    """The pieces of a text, in order; none is empty."""
    return [piece for line in text.splitlines() for piece in _of_line(line.strip()) if piece]


def words_of(piece: str) -> list[str]:
    """The words of a piece, each with the space behind it."""
    return _WORD.findall(piece)


def is_counted(word: str) -> bool:
    """Whether a token is a word and not a sign."""
    return _COUNTED.match(word) is not None


def count_words(piece: str) -> int:
    """How many words a piece has, without signs."""
    return len(_COUNTED.findall(piece))


def _of_line(line: str) -> Iterator[str]:
    if len(line) <= _LONG_LINE:
        yield line
        return
    for sentence in _SENTENCE.split(line):
        if len(sentence) > _LONG_SENTENCE:
            yield from _chunks(sentence)
        elif sentence.strip():
            yield sentence.strip()


def _chunks(text: str) -> Iterator[str]:
    chunk: list[str] = []
    for word in words_of(text):
        chunk.append(word)
        is_cut = len(chunk) >= _LEAST_WORDS and xxh3_64_intdigest(word.strip().encode("utf-8", "replace")) & _CUT == 0
        if is_cut or len(chunk) >= _MOST_WORDS:
            yield "".join(chunk).strip()
            chunk = []
    if rest := "".join(chunk).strip():
        yield rest

"""The terms of a page as numbers: what the order of the first results reads, so that no text is split for a query.

A term's number is a hash of 32 bits, the same in every index: two terms of one page and one query share a number less
than once in a million pages. 0 separates the names in a list of names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from xxhash import xxh32_intdigest

from periplus.content.text_language import words_of

from .analysis import term_of

Numbers = npt.NDArray[np.uint32]

SEPARATOR: Final = 0
DEFINITION: Final = 7
"""The level of a definition, below those of headings."""
_COUNTS: Final = 6
"""Lists before the text of a page, whose lengths its bytes begin with."""
_CACHED: Final = 400_000
"""Words whose numbers are kept: as many as the stems of a language."""
_BETWEEN: Final = "zqxbetweenxqz"
"""Stands between two names while all of them are split into words at once."""


def number_of(term: str) -> int:
    """The number of a term."""
    return xxh32_intdigest(term.encode("utf-8", "replace")) or 1


def number_of_word(word: str, language: str) -> tuple[str, int]:
    """The term of a word, and its number."""
    term = term_of(word, language)
    return term, number_of(term)


class _NumbersOfWords(dict[str, bytes]):
    """The number of the term of each word of one language, as the bytes it has in a list; computed when first seen."""

    def __init__(self, language: str) -> None:
        super().__init__({_BETWEEN: _bytes_of(SEPARATOR)})
        self._language = language

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _CACHED:
            self.clear()
            self[_BETWEEN] = _bytes_of(SEPARATOR)
        number = self[word] = _bytes_of(number_of(term_of(word, self._language)))
        return number


def _bytes_of(number: int) -> bytes:
    return number.to_bytes(4, sys.byteorder)


@lru_cache(maxsize=64)
def _numbers_of_words(language: str) -> _NumbersOfWords:
    return _NumbersOfWords(language)


class PageTerms(Struct, frozen=True):
    """The terms of a page. `sections` and `anchors` are lists of names, each name followed by `SEPARATOR`."""

    title: Numbers
    sections: Numbers
    """The name of each section, in order; of a definition the name that is defined."""
    ids: Numbers
    """The name that the identifier of each section has (`dict.get`); empty if it is none."""
    anchors: Numbers
    """The texts of links to the page."""
    levels: Numbers
    """Of each section: 1 to 6 for headings, 7 for definitions."""
    starts: Numbers
    """The first word of each section in the body."""
    body: Numbers


def numbers_of(words: Sequence[str], language: str) -> Numbers:
    """The numbers of the terms of words, in order."""
    return np.frombuffer(b"".join(map(_numbers_of_words(language).__getitem__, words)), np.uint32)


def names_of(names: Sequence[str], language: str) -> tuple[Numbers, list[str]]:
    """A list of names as numbers, and all their words."""
    if not names:
        return np.zeros(0, np.uint32), []
    words = words_of(f" {_BETWEEN} ".join((*names, "")))
    return numbers_of(words, language), [word for word in words if word != _BETWEEN]


def as_bytes(terms: PageTerms) -> bytes:
    """The terms as they are kept."""
    lists = (terms.title, terms.sections, terms.ids, terms.anchors, terms.levels, terms.starts)
    counts = np.array([len(each) for each in lists], np.uint32)
    return np.concatenate((counts, *lists, terms.body)).tobytes()


def from_bytes(data: bytes) -> PageTerms:
    """What `as_bytes` was given."""
    numbers = np.frombuffer(data, np.uint32)
    begin = _COUNTS
    lists = []
    for count in numbers[:_COUNTS].tolist():
        lists.append(numbers[begin : begin + count])
        begin += count
    title, sections, ids, anchors, levels, starts = lists
    return PageTerms(title, sections, ids, anchors, levels, starts, numbers[begin:])


NO_TERMS: Final = PageTerms(*[np.zeros(0, np.uint32)] * 7)
"""Of a page that has none."""

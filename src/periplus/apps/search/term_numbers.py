"""The terms of a page as numbers: what the order of the first results reads, so that no text is split for a query.

A term's number is a hash of 32 bits, the same in every index: two terms of one page and one query share a number less
than once in a million pages. 0 separates the names in a list of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import zstandard
from msgspec import Struct
from xxhash import xxh32_intdigest

Numbers = npt.NDArray[np.uint32]

SEPARATOR: Final = 0
DEFINITION: Final = 7
"""The level of a definition, below those of headings."""
_COUNTS: Final = 6
"""Lists before the text of a page, whose lengths its bytes begin with."""
_LEVEL: Final = 1
_CACHED: Final = 400_000
"""Terms whose numbers are kept: as many as the stems of a language."""


class _NumberOf(dict[str, int]):
    def __missing__(self, term: str) -> int:
        if len(self) >= _CACHED:
            self.clear()
        number = self[term] = xxh32_intdigest(term.encode("utf-8", "replace")) or 1
        return number


number_of = _NumberOf().__getitem__
"""The number of a term."""


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


def numbers_of(terms: Iterable[str]) -> Numbers:
    """The numbers of terms, in order."""
    return np.fromiter(map(number_of, terms), np.uint32)


def names_of(names: Iterable[Sequence[str]]) -> Numbers:
    """A list of names, each of them terms."""
    found: list[int] = []
    for terms in names:
        found += map(number_of, terms)
        found.append(SEPARATOR)
    return np.array(found, np.uint32)


def packed(terms: PageTerms) -> bytes:
    """The terms in few bytes."""
    lists = (terms.title, terms.sections, terms.ids, terms.anchors, terms.levels, terms.starts)
    counts = np.array([len(each) for each in lists], np.uint32)
    return zstandard.compress(np.concatenate((counts, *lists, terms.body)).tobytes(), _LEVEL)


def unpacked(data: bytes) -> PageTerms:
    """What `packed` was given."""
    numbers = np.frombuffer(zstandard.decompress(data), np.uint32)
    begin = _COUNTS
    lists = []
    for count in numbers[:_COUNTS].tolist():
        lists.append(numbers[begin : begin + count])
        begin += count
    title, sections, ids, anchors, levels, starts = lists
    return PageTerms(title, sections, ids, anchors, levels, starts, numbers[begin:])


NO_TERMS: Final = PageTerms(*[np.zeros(0, np.uint32)] * 7)
"""Of a page that has none."""

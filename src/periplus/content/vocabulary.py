"""The words of texts as terms and numbers, for a full-text index, and how many texts have each word.

What a word is, and its term, the index says. The compiled scanner reads texts that are written with spaces
(`scan/native/vocabulary.h`), the rest is read here; both find the same.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .scan import READER


class TextWords(NamedTuple):
    """The terms of a text with blanks between them, their numbers of 32 bits, and the words before each section."""

    terms: str
    numbers: bytes
    starts: list[int]


class WordTable:
    """Words of one language that were seen.

    `look_up` gives the term and the number of a word, `split` the words of a text. `to_plain` gives a text of as many
    characters in which words are runs of ASCII letters and digits and of what is not ASCII, if there is such a text.
    """

    def __init__(
        self,
        look_up: Callable[[str], tuple[str, int]],
        split: Callable[[str], list[str]],
        to_plain: Callable[[str], bytes | None],
        *,
        is_compiled: bool = READER == "native",
    ) -> None:
        self._look_up = look_up
        self._split = split
        self._to_plain = to_plain
        self._known = _KnownWords(look_up)
        self._counts = Counter[str]()
        self._compiled: object = None
        if is_compiled:
            from .scan._native import new_vocabulary

            self._compiled = new_vocabulary()

    def read(self, text: str, sections: list[int], *, is_counted: bool) -> TextWords:
        """Read a text, given where its sections begin; `is_counted`: for `take_counts`."""
        plain = None if self._compiled is None else self._to_plain(text)
        if plain is None:
            return self._read(text, sections, is_counted=is_counted)
        from .scan._native import index_words

        return TextWords(*index_words(self._compiled, plain, sections, self._look_up, is_counted))

    def _read(self, text: str, sections: Sequence[int], *, is_counted: bool) -> TextWords:
        words: list[str] = []
        starts: list[int] = []
        place = 0
        for start in sections:
            if start > place:
                words += self._split(text[place:start])
                place = start
            starts.append(len(words))
        words += self._split(text[place:])
        known = list(map(self._known.__getitem__, words))
        if is_counted:
            self._counts.update(set(words))
        return TextWords(" ".join([term for term, _ in known]), b"".join([number for _, number in known]), starts)

    def take_counts(self) -> Counter[str]:
        """The number of texts with each word since the last call."""
        counts, self._counts = self._counts, Counter()
        if self._compiled is not None:
            from .scan._native import take_counts

            counts.update(take_counts(self._compiled))
        return counts

    def __len__(self) -> int:
        """The number of words that are kept."""
        if self._compiled is None:
            return len(self._known)
        from .scan._native import count_known

        return len(self._known) + count_known(self._compiled)


class _KnownWords(dict[str, tuple[str, bytes]]):
    """Term and number of each word, computed when first seen."""

    def __init__(self, look_up: Callable[[str], tuple[str, int]]) -> None:
        super().__init__()
        self._look_up = look_up

    def __missing__(self, word: str) -> tuple[str, bytes]:
        term, number = self._look_up(word)
        found = self[word] = (term, number.to_bytes(4, sys.byteorder))
        return found

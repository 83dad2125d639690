"""Words that a misspelt word may stand for. Pure: which words exist is asked of the caller, many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
TIMES_MORE = 5
"""A word is suggested if it occurs in this many times the documents of the one that was typed."""
_LONGEST = 24
"""Letters; a longer word has too many neighbours to look each up."""


def corrected(word: str, documents_with: Callable[[Sequence[str]], Mapping[str, int]]) -> str | None:
    """The most frequent word one edit away (a letter more, less or another, two swapped), if it is frequent enough."""
    if not 3 <= len(word) <= _LONGEST:
        return None
    near = list(dict.fromkeys(_neighbours(word)))
    known: dict[str, int] = {}
    for start in range(0, len(near), 500):
        known |= documents_with(near[start : start + 500])
    least = max(1, TIMES_MORE * documents_with([word]).get(word, 0))
    best = max(known, key=lambda other: (known[other], other), default=None)
    return best if best is not None and known[best] >= least else None


def _neighbours(word: str) -> Iterator[str]:
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in _LETTERS:
            yield before + letter + after
            if after and after[0] != letter:
                yield before + letter + after[1:]

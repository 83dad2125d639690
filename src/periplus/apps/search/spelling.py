"""What a query means if its words are not in the index: names that begin so, parts of a name, words one slip away.

Which words exist is asked of the caller, many at once: everything here is pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
TIMES_MORE: Final = 5
"""A word is suggested if it is used this many times as much as the one that was typed."""
_LONGEST: Final = 24
"""Letters; a longer word has too many neighbours to look each up."""
_TWO_SLIPS: Final = 6
"""Letters from which a word may have two slips."""

UseOf = Callable[[Sequence[str]], Mapping[str, int]]


def corrected(word: str, use_of: UseOf, words_like: Callable[[str], Mapping[str, int]]) -> str | None:
    """The most used word one slip away (a letter more, less or another, two swapped), if it is used enough.

    A longer word may have two slips, if its first letter is right.
    """
    if not 3 <= len(word) <= _LONGEST:
        return None
    near = list(dict.fromkeys(_neighbours(word)))
    known: dict[str, int] = {}
    for start in range(0, len(near), 500):
        known |= use_of(near[start : start + 500])
    least = max(1, TIMES_MORE * use_of([word]).get(word, 0))
    if not known and len(word) >= _TWO_SLIPS:
        letters = set(word)
        known = {
            other: use
            for other, use in words_like(word).items()
            if len(letters.difference(other)) <= 2 and slips_between(word, other) == 2
        }
    best = max(known, key=lambda other: (known[other], other), default=None)
    return best if best is not None and known[best] >= least else None


def slips_between(word: str, other: str) -> int:
    """Letters to add, leave out, change or swap to make one word of the other; 3 if there are more than two."""
    if abs(len(word) - len(other)) > 2:
        return 3
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for place, letter in enumerate(word, 1):
        row = [place]
        for column, that in enumerate(other, 1):
            least = min(last[column] + 1, row[column - 1] + 1, last[column - 1] + (letter != that))
            if place > 1 and column > 1 and letter == other[column - 2] and word[place - 2] == that:
                least = min(least, before[column - 2] + 1)
            row.append(least)
        if min(row) > 2:
            return 3
        before, last = last, row
    return min(3, last[-1])


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


def with_replaced(text: str, replaced: Mapping[str, str]) -> str:
    """The text of a query with words replaced, also within names."""
    for word, better in replaced.items():
        text = re.sub(
            rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", better.replace("\\", r"\\"), text, flags=re.IGNORECASE
        )
    return text

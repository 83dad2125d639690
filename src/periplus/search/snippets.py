"""The part of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from .analysis import is_unspaced, term_of, words_of

LENGTH = 200
"""Characters of a snippet."""
_READ = 60_000
"""Characters of a text in which a snippet is looked for."""
_HITS = 400
"""Places of words that are compared: enough to find a good stretch, few enough for a page of one word."""


class Snippet(Struct, frozen=True):
    """A piece of text, and the places in it of the words that were looked for."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return self.text


def snippet_of(text: str, terms: Collection[str], language: str, length: int = LENGTH) -> Snippet:
    """The stretch with the most different terms, then the most terms; the beginning if it has none."""
    text = " ".join(text[:_READ].split())
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have lower-case forms of two characters
        text = lowered
    hits = _places(lowered, terms, language)
    best, most = 0, (0, 0)
    for number, (start, _, _) in enumerate(hits):
        inside = [term for _, end, term in hits[number : number + 40] if end <= start + length * 3 // 4]
        found = (len(set(inside)), len(inside))
        if found > most:
            best, most = start, found
    return _cut(text, max(0, best - length // 5), length, hits)


def _places(lowered: str, terms: Collection[str], language: str) -> list[tuple[int, int, str]]:
    """Start, end and term of the words with one of these terms. Only those words are searched for."""
    words = {word: term for word in set(words_of(lowered)) if (term := term_of(word, language)) in terms}
    if not words:
        return []
    spaced = [re.escape(word) for word in sorted(words, key=len, reverse=True) if not is_unspaced(word)]
    parts = [rf"(?<![^\W_])(?:{'|'.join(spaced)})(?![^\W_])"] if spaced else []
    parts += [re.escape(word) for word in words if is_unspaced(word)]
    found = []
    for match in re.compile("|".join(parts)).finditer(lowered):
        found.append((match.start(), match.end(), words[match.group()]))
        if len(found) >= _HITS:
            break
    return found


def _cut(text: str, start: int, length: int, hits: list[tuple[int, int, str]]) -> Snippet:
    """Whole words from about `start` on."""
    if start and text[start - 1].isalnum():
        start = next((place for place in range(start, min(start + 40, len(text))) if not text[place].isalnum()), start)
    while start < len(text) and text[start] == " ":
        start += 1
    end = len(text)
    if end - start > length:
        end = start + length
        if text[end].isalnum():
            end = max(
                (place for place in range(end, max(start, end - 40), -1) if not text[place - 1].isalnum()), default=end
            )
        end = start + len(text[start:end].rstrip())
    before, after = ("… " if start else ""), (" …" if end < len(text) else "")
    marks = tuple(
        (begin - start + len(before), stop - start + len(before))
        for begin, stop, _ in hits
        if start <= begin and stop <= end
    )
    return Snippet(before + text[start:end] + after, marks)

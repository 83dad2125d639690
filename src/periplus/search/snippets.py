"""The part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from .analysis import is_unspaced, terms_of_words, words_of

LENGTH = 200
"""Characters of a snippet."""
_READ = 60_000
"""Characters of a text in which a snippet is looked for."""
_READ_FIRST = 10_000
"""Characters of a text that are enough if every word is among them: most pages, and most of the time saved."""
_HITS = 400
"""Places of a word that are compared: enough to find a good stretch, few enough for a page of one word."""


class Snippet(Struct, frozen=True):
    """A piece of text, and the places in it of the words that were looked for."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return self.text


def snippet_of(text: str, terms: Collection[str], language: str, length: int = LENGTH) -> Snippet:
    """The stretch with the most different terms, then the most terms; the beginning if it has none."""
    whole, text = text, " ".join(text[:_READ_FIRST].split())
    hits = _places(text.lower(), terms, language)
    if len(whole) > _READ_FIRST and len({term for _, _, term in hits}) < len(terms):
        text = " ".join(whole[:_READ].split())
        hits = _places(text.lower(), terms, language)
    if len(text.lower()) != len(text):  # a few letters have lower-case forms of two characters
        text = text.lower()
    best, most = 0, (0, 0)
    for number, (start, _, _) in enumerate(hits):
        inside = [term for _, end, term in hits[number : number + 40] if end <= start + length * 3 // 4]
        found = (len(set(inside)), len(inside))
        if found > most:
            best, most = start, found
    return _cut(text, max(0, best - length // 5), length, hits)


def _places(lowered: str, terms: Collection[str], language: str) -> list[tuple[int, int, str]]:
    """Start, end and term of the words with one of these terms, in order. Only those words are searched for."""
    kinds = list(set(words_of(lowered)))
    found: list[tuple[int, int, str]] = []
    for word, term in zip(kinds, terms_of_words(kinds, language), strict=True):
        if term in terms:
            found += [(start, start + len(word), term) for start in _occurrences(lowered, word)]
    return sorted(found)


def _occurrences(text: str, word: str) -> Iterator[int]:
    """Where a word begins, as a whole word; the first `_HITS` times."""
    bounded = not is_unspaced(word)
    start = text.find(word)
    for _ in range(_HITS):
        if start < 0:
            return
        end = start + len(word)
        is_inside = bounded and (text[end : end + 1].isalnum() or (start > 0 and text[start - 1].isalnum()))
        if not is_inside:
            yield start
        start = text.find(word, end if not is_inside else start + 1)


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

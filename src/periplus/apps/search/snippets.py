"""The part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from msgspec import Struct

from periplus.content.text_language import WORD, is_unspaced

from .analysis import places_of, term_of

LENGTH = 200
"""Characters of a snippet."""
_READ = 60_000
"""Characters of a text in which a snippet is looked for."""
_LOOKS, _FOUND = 400, 24
"""Places that are looked at, and that have the term: enough to find a good stretch on a page that repeats a word."""
_INSIDE = 12
"""Words of one stretch that are counted."""
_WORD = 40
"""Characters within which a word ends or begins."""


class Snippet(Struct, frozen=True):
    """A piece of text, and the places in it of the words that were looked for."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return self.text


def snippet_of(text: str, terms: Collection[str], language: str, length: int = LENGTH, typed: str = "") -> Snippet:
    """The stretch with what was typed as it was typed; else with the most different terms, then the most terms.

    The beginning if the text has none.
    """
    text = text[:_READ]
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have lower-case forms of two characters
        text = lowered
    if (exact := _place_of(lowered, typed.lower())) >= 0:
        return _cut(text, max(0, exact - length // 5), length, terms, language)
    best, most = 0, (0, 0)
    hits = _hits(lowered, terms, language)
    for number, (start, _) in enumerate(hits):
        inside = [term for begin, term in hits[number : number + _INSIDE] if begin <= start + length // 2]
        found = (len(set(inside)), len(inside))
        if found > most:
            best, most = start, found
    return _cut(text, max(0, best - length // 5), length, terms, language)


def _place_of(lowered: str, typed: str) -> int:
    """Where a text has these characters, not inside a word; -1 if nowhere."""
    place = lowered.find(typed) if typed else -1
    while place > 0 and lowered[place - 1].isalnum() and typed[0].isalnum():
        place = lowered.find(typed, place + 1)
    return place


def _hits(lowered: str, terms: Collection[str], language: str) -> list[tuple[int, str]]:
    """Where words with these terms begin, in order.

    Words mostly begin as their terms do, so that only such places are looked at; every word is where that finds none.
    """
    hits = sorted(
        {(start, term) for term in terms for start in islice(_starts(lowered, term, terms, language), _FOUND)}
    )
    if hits or lowered.isascii():
        return hits
    return [(start, term) for start, _, term in places_of(lowered, language, terms)][:_LOOKS]


def _starts(lowered: str, term: str, terms: Collection[str], language: str) -> Iterator[int]:
    """Where words begin that have this term, by the letters that they share with it."""
    shared = term[:-1] if len(term) > 3 else term
    is_character = is_unspaced(shared[:1])
    start = -1
    for _ in range(_LOOKS if shared else 0):
        start = lowered.find(shared, start + 1)
        if start < 0:
            return
        if is_character:
            yield start
        elif start == 0 or not lowered[start - 1].isalnum():
            word = WORD.match(lowered, start)
            if word is not None and term_of(word.group(), language) in terms:
                yield start


def _cut(text: str, start: int, length: int, terms: Collection[str], language: str) -> Snippet:
    """Whole words from about `start` on, with blanks made single."""
    if start and text[start - 1].isalnum():
        start = next((place for place in range(start, min(start + _WORD, len(text))) if text[place].isspace()), start)
    piece = " ".join(text[start : start + 3 * length].split())
    shown = piece[:length]
    if len(piece) > length and piece[length].isalnum():
        shown = shown[: next((place for place in range(length - 1, -1, -1) if not shown[place].isalnum()), length)]
    shown = shown.rstrip()
    if len(shown.lower()) != len(shown):
        shown = shown.lower()
    before = "… " if text[:start].strip() else ""
    after = " …" if len(shown) < len(piece) or start + 3 * length < len(text) else ""
    marks = tuple((begin + len(before), end + len(before)) for begin, end, _ in places_of(shown, language, terms))
    return Snippet(before + shown + after, marks)

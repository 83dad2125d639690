"""The part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from .analysis import places_of

LENGTH = 200
"""Characters of a snippet."""
_READ = 60_000
"""Characters of a text in which a snippet is looked for."""


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
    places = places_of(text, language)
    hits = [place for place in places if place[2] in terms]
    if not hits:
        return _cut(text, 0, length, [], places)
    best, most = 0, (0, 0)
    for number, (start, _, _) in enumerate(hits):
        inside = [term for begin, end, term in hits[number : number + 40] if end <= start + length * 3 // 4]
        found = (len(set(inside)), len(inside))
        if found > most:
            best, most = start, found
    return _cut(text, max(0, best - length // 5), length, hits, places)


def _cut(
    text: str, start: int, length: int, hits: list[tuple[int, int, str]], places: list[tuple[int, int, str]]
) -> Snippet:
    """Whole words from about `start` on."""
    if start:
        start = next((begin for begin, _, _ in places if begin >= start), start)
    end = len(text)
    if end - start > length:
        end = max(
            (stop for begin, stop, _ in places if start <= begin and stop <= start + length), default=start + length
        )
    before, after = ("… " if start else ""), (" …" if end < len(text) else "")
    marks = tuple(
        (begin - start + len(before), stop - start + len(before))
        for begin, stop, _ in hits
        if start <= begin and stop <= end
    )
    return Snippet(before + text[start:end] + after, marks)

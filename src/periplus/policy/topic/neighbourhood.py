"""The words of a link: those of its anchor, and those around it on the page.

A page knows the anchors of its links in document order, and its visible text, which has them in the same order. So each
anchor is looked for behind the one before it, and the words between two anchors are split once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from .words import MAX_WORDS, words_of

AROUND: Final = 40
"""Words on each side of an anchor that count as its context: two or three sentences."""


class Span(NamedTuple):
    """The words of an anchor, as positions among the words of the page: the first, and the one after the last."""

    start: int
    end: int


class LinkWords(NamedTuple):
    """The words of a page in order, and the span of each link."""

    words: list[str]
    spans: list[Span]


class Nearness(NamedTuple):
    """How much of the topic is in an anchor and around it, each from 0 to 1."""

    anchor: float
    context: float


def link_words(text: str, anchors: Sequence[str]) -> LinkWords:
    """Find the anchors of a page in its text. One that is not there is placed behind the one before it."""
    words: list[str] = []
    spans = []
    at = 0
    for anchor in anchors:
        place = text.find(anchor, at) if anchor and len(words) < MAX_WORDS else -1
        if place < 0:
            spans.append(Span(len(words), len(words)))
            continue
        words += words_of(text[at:place])
        start = len(words)
        words += words_of(anchor)
        spans.append(Span(start, len(words)))
        at = place + len(anchor)
    if len(words) < MAX_WORDS:
        words += words_of(text[at:])
    return LinkWords(words, spans)


def nearness(spans: Sequence[Span], count: int, on_topic: Sequence[int]) -> list[Nearness]:
    """How near each link is to the topic; `on_topic` are the positions of topic words among `count` words."""
    marks = [0] * (count + 1)
    for position in on_topic:
        marks[position + 1] = 1
    before = list(accumulate(marks))
    return [_nearness(span, before, count) for span in spans]


def _nearness(span: Span, before: Sequence[int], count: int) -> Nearness:
    hits = before[span.end] - before[span.start]
    if hits:
        return Nearness(hits / (span.end - span.start + 1), 1.0)
    start, end = max(span.start - AROUND, 0), min(span.end + AROUND, count)
    around = before[end] - before[start]
    return Nearness(0.0, around / (end - start - (span.end - span.start) + 1))

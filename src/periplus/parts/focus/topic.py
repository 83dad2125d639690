"""A topic, as a crawl uses it: the relevance of a page, and how near its links are to the topic.

Relevance comes from a program's function, from examples, or from words. Links are compared with words by their anchors
and the text around them: with the given words, or else those in which the examples differ from other pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Final, NamedTuple, cast

from msgspec import Struct, field

from periplus.engine.plugins import TOPICS, load_plugin
from periplus.model import CollectionDamaged, ParsedPage, UsageError
from periplus.store import LearntFiles
from periplus.store.layout import Layout

from .classifier import LAYERS
from .examples import Examples, ExampleState, TopicExamples
from .settings import TopicSettings
from .words import MAX_WORDS, Calibration, TopicTerms, TopicWords, language_code, words_of

KIND: Final = "topic"
"""The kind of the files with examples, among what was learnt."""
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
    """Find the anchors of a page in its text. One that is not there is placed behind the one before it.

    Anchors and visible text are both in document order, so each anchor is searched for behind the one before it, and
    the words between two anchors are split once.
    """
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


Relevance = Callable[[ParsedPage], float]
"""A program's own relevance of a page, from 0 to 1."""


class TopicState(Struct, array_like=True):
    """The state that a topic has learnt from the pages of a crawl."""

    words: Calibration | None = None
    examples: ExampleState = field(default_factory=ExampleState)


class Topic:
    """The topic of a crawl. At least one of the three ways to define it must be given."""

    def __init__(
        self,
        terms: TopicTerms | None = None,
        examples: Examples | None = None,
        program: Relevance | None = None,
        state: TopicState | None = None,
    ) -> None:
        state = state or TopicState()
        self._program = program
        self._terms = terms or (TopicTerms(examples.words) if examples is not None and examples.words else None)
        self._words = TopicWords(terms, state.words) if terms is not None else None
        self._examples = TopicExamples(examples, state.examples) if examples is not None else None

    @property
    def state(self) -> TopicState:
        """The state to commit."""
        return TopicState(
            None if self._words is None else self._words.learnt,
            ExampleState() if self._examples is None else self._examples.state,
        )

    def relevance(self, page: ParsedPage) -> float:
        """The relevance of a page, from 0 to 1; the topic learns from it."""
        if self._program is not None:
            return self._asked(self._program, page)
        words = words_of(f"{page.title}\n{page.main_text or page.text}")
        if self._examples is not None:
            return self._examples.relevance(words, page.language[:2].lower())
        return self._words.relevance(words, language_code(page.language)) if self._words is not None else 0.0

    def _asked(self, program: Relevance, page: ParsedPage) -> float:
        try:
            value = float(program(page))
        except Exception as error:
            raise UsageError(
                f"the topic's program raised {type(error).__name__} for {page.url}: {error}",
                hint="fix the function and run the same again: a crawl continues where it stopped",
            ) from error
        if math.isnan(value):
            raise UsageError(f"the topic's program returned NaN for {page.url}", hint="return a number from 0 to 1")
        return min(max(value, 0.0), 1.0)

    def nearness(self, page: ParsedPage, anchors: Sequence[str]) -> list[Nearness]:
        """How near each link of a page is to the topic."""
        if self._terms is None:
            return [Nearness(0.0, 0.0)] * len(anchors)
        found = link_words(page.text, anchors)
        places = self._terms.places(found.words, language_code(page.language))
        return nearness(found.spans, len(found.words), [position for position, _ in places])

    def layer(self, page: ParsedPage) -> int:  # noqa: ARG002 - as a simulation's topic, which knows links backwards
        """How many links the page is away from the topic: a crawl does not know."""
        return LAYERS


def topic_maker(settings: TopicSettings, layout: Layout) -> Callable[[TopicState | None], Topic]:
    """What makes the topic of a crawl from what it has learnt before."""
    terms = TopicTerms.parse(settings.words) if settings.words else None
    program = cast("Relevance | None", load_plugin(TOPICS, settings.program or None))
    examples = None
    if settings.like:
        content = LearntFiles(layout.learnt).read(KIND, settings.examples)
        if content is None:
            raise CollectionDamaged("the examples of the topic are missing", hint="give --like again")
        examples = Examples.decode(content)
    return partial(Topic, terms, examples, program)

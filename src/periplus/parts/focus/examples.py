"""Relevance by examples: pages that the topic is like, and pages that it is not like.

Where no pages were given that are not on the topic, the crawl's own pages stand for them: a sample of those read, of
which the half that is least like the examples counts (by cosine). Until enough were read, relevance is how near a page
is to the examples, compared with how near they are to each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, field

from periplus.model import CollectionDamaged

from .classifier import Classifier, Judge, Vector, train, vector_of

MAX_EXAMPLES: Final = 1_000
"""Example pages on each side: training on more takes seconds and teaches little."""
_BACKGROUND: Final = 120
"""Pages of the crawl that are kept as a sample. Half of them become negative examples."""
_WORDS_KEPT: Final = 300
"""Words of each page in the sample, the most frequent: they are committed with the state."""
_FIRST: Final = 60
"""Pages of the sample with which the classifier is first trained."""
_AGAIN: Final = 1_000
"""Pages read between two trainings with a new sample."""
_OTHER_LANGUAGE: Final = 0.1
"""Relevance of a page in another language than all examples: not 0, since it may link to pages on the topic."""
_SHARP: Final = 8.0
"""Slope of relevance by cosine: from .27 at three quarters of the examples' likeness to .73 at one and a quarter."""
_TOPIC_WORDS: Final = 60
"""Words of the examples that count as topic words in anchors."""


class Examples(Struct, frozen=True, array_like=True):
    """The example pages as vectors, their languages, and the words that distinguish them from other pages."""

    positive: list[Vector]
    negative: list[Vector]
    languages: list[str]
    words: list[str]

    def encode(self) -> bytes:
        """Encode the examples as a file."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, content: bytes) -> Examples:
        """Decode a file of examples."""
        try:
            return msgspec.msgpack.decode(content, type=cls)
        except msgspec.MsgspecError as error:
            raise CollectionDamaged("the examples of the topic cannot be read", hint="give --like again") from error


def examples_of(
    positive: Sequence[Sequence[str]], negative: Sequence[Sequence[str]], languages: Sequence[str]
) -> Examples:
    """Examples from the words of pages. Topic words are those that more examples have than other pages do."""
    in_positive = Counter(word for words in positive for word in {*words} if len(word) > 3 and not word.isdigit())
    in_negative = Counter(word for words in negative for word in {*words})

    def strength(word: str) -> float:
        others = (in_negative[word] + 0.5) / (len(negative) + 1.0)
        return in_positive[word] / len(positive) * math.log(1.0 / min(others, 1.0)) if others < 1.0 else 0.0

    best = sorted(in_positive, key=lambda word: (-strength(word), word))[:_TOPIC_WORDS]
    return Examples(
        [vector_of(words) for words in positive[:MAX_EXAMPLES]],
        [vector_of(words) for words in negative[:MAX_EXAMPLES]],
        sorted({*languages} - {""}),
        best,
    )


class ExampleState(Struct, array_like=True):
    """What a crawl has learnt besides its examples: the sample of its pages, and the classifier trained with it."""

    read: int = 0
    sample: list[Vector] = field(default_factory=list)
    classifier: Classifier | None = None


class TopicExamples:
    """Relevance by a classifier. What it learns while it crawls is in `state`."""

    def __init__(self, examples: Examples, state: ExampleState | None = None) -> None:
        self._examples = examples
        self.state = state or ExampleState()
        self._centroid = _centroid(examples.positive)
        likeness = sorted(_cosine(vector, self._centroid) for vector in examples.positive)
        self._typical = likeness[len(likeness) // 2] if likeness else 1.0
        self._judge: Judge | None = None
        if examples.negative:
            self._judge = Judge(train(examples.positive, examples.negative))
        elif self.state.classifier is not None:
            self._judge = Judge(self.state.classifier)

    def relevance(self, words: Sequence[str], language: str) -> float:
        """The relevance of a page; it may become an example of what is not on the topic."""
        page = vector_of(words)
        if not self._examples.negative:
            self._learn(page)
        if language and self._examples.languages and language not in self._examples.languages:
            return _OTHER_LANGUAGE
        if self._judge is not None:
            return self._judge.probability(page)
        near = _cosine(page, self._centroid) / self._typical if self._typical else 0.0
        return 1.0 / (1.0 + math.exp(-_SHARP * (near - 1.0)))

    def _learn(self, page: Vector) -> None:
        state = self.state
        state.read += 1
        stride = max(_AGAIN // _BACKGROUND, 1) if state.read > _BACKGROUND else 1
        if state.read % stride == 0:
            state.sample.append(_shortened(page))
            del state.sample[:-_BACKGROUND]
        if (len(state.sample) == _FIRST and state.classifier is None) or state.read % _AGAIN == 0:
            self._train()

    def _train(self) -> None:
        ranked = sorted(self.state.sample, key=lambda page: _cosine(page, self._centroid))
        negative = ranked[: max(len(ranked) // 2, 1)]
        self.state.classifier = train(self._examples.positive, negative)
        self._judge = Judge(self.state.classifier)


def _centroid(pages: Sequence[Vector]) -> dict[int, float]:
    total: dict[int, float] = {}
    for page in pages:
        length = math.sqrt(sum(weight * weight for weight in page.weights)) or 1.0
        for place, weight in zip(page.places, page.weights, strict=True):
            total[place] = total.get(place, 0.0) + weight / length
    length = math.sqrt(sum(weight * weight for weight in total.values())) or 1.0
    return {place: weight / length for place, weight in total.items()}


def _cosine(page: Vector, centroid: dict[int, float]) -> float:
    length = math.sqrt(sum(weight * weight for weight in page.weights)) or 1.0
    pairs = zip(page.places, page.weights, strict=True)
    return sum(weight * centroid.get(place, 0.0) for place, weight in pairs) / length


def _shortened(page: Vector) -> Vector:
    if len(page.places) <= _WORDS_KEPT:
        return page
    least = sorted(page.weights, reverse=True)[_WORDS_KEPT - 1]
    kept = [(place, weight) for place, weight in zip(page.places, page.weights, strict=True) if weight >= least]
    return Vector([place for place, _ in kept[:_WORDS_KEPT]], [weight for _, weight in kept[:_WORDS_KEPT]])

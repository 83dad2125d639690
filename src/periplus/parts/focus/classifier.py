"""Classifies pages by their words: likeness to examples (`Classifier`), distance from the topic (`LayerClassifier`).

`Classifier` is logistic regression over hashed words. A page is a vector of 2^18 places: each word of its main text
counts 1 + ln tf at the place of its hash, times its rarity among the examples, and the vector has length 1. Weights are
found by stochastic gradient descent; Platt's method turns margins into probabilities, on parts that were held out.
Pages are given by their main text, or the classifier would learn a site's navigation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import ConfigError

PLACES: Final = 1 << 18
"""Places of words: 260,000, so that the words of some hundred pages rarely share one."""
EPOCHS: Final = 10
"""Passes over the examples."""
MAX_DISTINCT: Final = 2_000
"""Different words of a page that count, the most frequent: it bounds time and memory."""
_FOLDS: Final = 5
"""Parts of the examples that are held out, one after the other, for calibration."""
_RATE: Final = 0.5
"""Step of the descent in the first pass."""
_DECAY: Final = 0.1
"""How the step shrinks: rate / (1 + decay * pass)."""
_MIN_CALIBRATED: Final = 10
"""Examples of each side below which the parts held out are too small to calibrate with."""
_STEEPNESS: Final = 6.0
"""Slope of the probability where it cannot be measured: margins of unit vectors are small."""
_PLATT_STEPS: Final = 200
"""Steps of the fit of two numbers: it has converged after some fifty."""

Floats = NDArray[np.float64]


class Vector(Struct, frozen=True, array_like=True):
    """The words of a page: places in ascending order, and the weight 1 + ln tf of each."""

    places: list[int]
    weights: list[float]


def vector_of(words: Sequence[str]) -> Vector:
    """The words of a text as a vector, not yet weighted by rarity."""
    counts: Counter[int] = Counter()
    for word, count in Counter(words).most_common(MAX_DISTINCT):
        counts[xxh3_64_intdigest(word.encode()) % PLACES] += count
    places = sorted(counts)
    return Vector(places, [1.0 + math.log(counts[place]) for place in places])


class Classifier(Struct, frozen=True, array_like=True):
    """A trained classifier: weights of the places that occurred, and the two numbers of its calibration.

    `places` are ascending. Words that no example has count nothing.
    """

    places: list[int]
    idf: list[float]
    weights: list[float]
    bias: float
    slope: float
    shift: float


class Judge:
    """A classifier ready to judge pages."""

    def __init__(self, classifier: Classifier) -> None:
        self._idf = np.zeros(PLACES)
        self._weights = np.zeros(PLACES)
        places = np.array(classifier.places, np.int64)
        self._idf[places] = classifier.idf
        self._weights[places] = classifier.weights
        self._classifier = classifier

    def margin(self, page: Vector) -> float:
        """How far a page is on the side of the positive examples."""
        places, values = _weighted(page, self._idf)
        return float(values @ self._weights[places]) + self._classifier.bias if len(places) else self._classifier.bias

    def probability(self, page: Vector) -> float:
        """The probability that a page is like the positive examples."""
        return _sigmoid(self._classifier.slope * self.margin(page) + self._classifier.shift)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(value, -30.0), 30.0)))


def _weighted(page: Vector, idf: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The places of a page and its values, of length 1."""
    places = np.array(page.places, np.int64)
    values = np.array(page.weights) * idf[places]
    length = math.sqrt(float(values @ values))
    return places, values / length if length else values


def train(positive: Sequence[Vector], negative: Sequence[Vector], seed: int = 0) -> Classifier:
    """Train on examples of both sides, and calibrate if there are enough of them. The same examples give the same."""
    if not positive or not negative:
        raise ConfigError("a topic needs at least one example on each side", hint="give pages with --like and --unlike")
    examples = [(page, 1.0) for page in positive] + [(page, 0.0) for page in negative]
    idf = _rarity(examples)
    weighted = [(*_weighted(page, idf), target) for page, target in examples]
    weights, bias = _descend(weighted, seed)
    slope, shift = _STEEPNESS, 0.0
    if min(len(positive), len(negative)) >= _MIN_CALIBRATED:
        slope, shift = _platt(*_held_out(weighted, seed))
    places = np.flatnonzero(idf)
    return Classifier(places.tolist(), idf[places].tolist(), weights[places].tolist(), bias, slope, shift)


_Weighted = tuple[NDArray[np.int64], Floats, float]


def _rarity(examples: Sequence[tuple[Vector, float]]) -> Floats:
    pages = np.zeros(PLACES)
    for page, _ in examples:
        pages[page.places] += 1.0
    return np.where(pages > 0.0, np.log((1.0 + len(examples)) / (1.0 + pages)) + 1.0, 0.0)


def _descend(examples: Sequence[_Weighted], seed: int) -> tuple[Floats, float]:
    """Stochastic gradient descent; both sides weigh the same, however many examples each has."""
    weights, bias = np.zeros(PLACES), 0.0
    positives = sum(target for _, _, target in examples)
    balance = {1.0: 0.5 * len(examples) / max(positives, 1.0), 0.0: 0.5 * len(examples) / (len(examples) - positives)}
    order = list(range(len(examples)))
    random = Random(seed)  # noqa: S311 - the order of examples, not a secret
    for epoch in range(EPOCHS):
        random.shuffle(order)
        rate = _RATE / (1.0 + _DECAY * epoch)
        for number in order:
            places, values, target = examples[number]
            step = rate * balance[target] * (target - _sigmoid(float(values @ weights[places]) + bias))
            weights[places] += step * values
            bias += step * 0.1
    return weights, bias


def _held_out(examples: Sequence[_Weighted], seed: int) -> tuple[Floats, Floats]:
    """The margin of each example by a classifier that was trained without its part, and the targets."""
    margins, targets = [], []
    for fold in range(_FOLDS):
        rest = [example for number, example in enumerate(examples) if number % _FOLDS != fold]
        weights, bias = _descend(rest, seed)
        for places, values, target in examples[fold::_FOLDS]:
            margins.append(float(values @ weights[places]) + bias)
            targets.append(target)
    return np.array(margins), np.array(targets)


def _platt(margins: Floats, targets: Floats) -> tuple[float, float]:
    """The slope and shift that make margins probabilities (Platt 1999), by Newton's method on smoothed targets."""
    positives = float(targets.sum())
    negatives = len(targets) - positives
    wanted = np.where(targets > 0.5, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
    slope, shift = 1.0, 0.0
    for _ in range(_PLATT_STEPS):
        guess = 1.0 / (1.0 + np.exp(-np.clip(slope * margins + shift, -30.0, 30.0)))
        error, spread = guess - wanted, guess * (1.0 - guess) + 1e-9
        gradient = np.array([float(error @ margins), float(error.sum())])
        cross = float(spread @ margins)
        hessian = np.array([[float(spread @ margins**2) + 1e-6, cross], [cross, float(spread.sum()) + 1e-6]])
        slope_step, shift_step = np.linalg.solve(hessian, gradient)
        slope, shift = slope - float(slope_step), shift - float(shift_step)
        if abs(slope_step) + abs(shift_step) < 1e-9:
            break
    return (slope, shift) if slope > 0.0 else (_STEEPNESS, 0.0)


LAYERS: Final = 5
"""Layers 0 to 4. Farther than four links from the topic, words say nothing about the distance."""
LAYER_PLACES: Final = 1 << 13
"""Places of words: 8,192, so that all counts of a class fit a core's cache."""
_MAX_DISTINCT: Final = 300
"""Different words of a page that count, the most frequent."""
_SMOOTH: Final = 0.5
"""Added to each count."""

TermCounts = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Places of the words of a page, and how much each counts: 1 + ln of its frequency."""


def counts_of(words: Sequence[str]) -> TermCounts:
    """The words of a page by their places."""
    found: Counter[int] = Counter()
    for word, count in Counter(words).most_common(_MAX_DISTINCT):
        found[xxh3_64_intdigest(word.encode()) % LAYER_PLACES] += count
    places = np.array(sorted(found), np.int64)
    return places, np.array([1.0 + math.log(found[place]) for place in places.tolist()])


class LayerClassifier:
    """Naive Bayes over the layers of a context graph and the rest of the web, all held equally probable.

    In a context graph (Diligenti et al. 2000) pages on the topic are layer 0, pages that link to them layer 1, and so
    on up to layer 4; a page unlike all of them is beyond the last. A crawl follows the links of pages in near layers
    first. The layers need backward links, which a crawl does not have: `periplus simulate focused` takes them from a
    finished collection.
    """

    def __init__(self, layers: Sequence[Sequence[TermCounts]]) -> None:
        """`layers` are example pages of each layer; the last class is the rest."""
        totals = np.full((len(layers), LAYER_PLACES), _SMOOTH)
        for number, pages in enumerate(layers):
            for places, counts in pages:
                totals[number, places] += counts
        self._logarithms = np.log(totals / totals.sum(axis=1, keepdims=True))
        self._logarithms[[not pages for pages in layers]] = -math.inf

    def layer(self, page: TermCounts) -> int:
        """The most probable layer of a page."""
        places, counts = page
        if not len(places):
            return len(self._logarithms) - 1
        return int(np.argmax(self._logarithms[:, places] @ counts))


def distances(targets: Sequence[int], sources_of: Sequence[Sequence[int]]) -> list[int]:
    """How many links each page is away from the nearest target; `LAYERS`: more than the last layer."""
    found = [LAYERS] * len(sources_of)
    edge = list(dict.fromkeys(targets))
    for layer in range(LAYERS):
        for page in edge:
            found[page] = layer
        edge = list(dict.fromkeys(source for page in edge for source in sources_of[page] if found[source] == LAYERS))
    return found

"""Trains and evaluates the spam model: logistic regression with an L2 penalty on the knots of all curves.

Each feature gets knots at quantiles of its known values; the value of an example is spread over the two knots around
it, so the regression's weights are the heights of the curve. It is fitted by Newton's method (iteratively reweighted
least squares) with conjugate gradients. The features of several pages of a host are averaged after they were spread, as
the model does with their heights.

The model of the package is trained on the lab's farm, on generated sites and on documentation; it has no n-grams and no
human labels. `periplus spam train` trains another from labels and a collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, hstack

from periplus.model import UsageError
from periplus.urls import domain_of

from .features import (
    FEATURES,
    GRAPH_FEATURES,
    NAME_FEATURES,
    OPEN,
    SUFFIXES,
    Features,
    name_features,
    name_grams,
    suffix_kind,
)
from .model import MAX_KNOTS, Curve, Model

Vector = NDArray[np.float64]

KNOTS: Final = 9
"""Knots of a curve: eight pieces; with twice as many the recall at few false positives was lower on real labels."""
PENALTY: Final = 1.0
"""The L2 penalty of a knot or kind."""
GRAM_PENALTY: Final = 10.0
"""The L2 penalty of an n-gram, of which there are thousands: 4 and 20 were worse on real labels, grouped by domain."""
LEAST_HOSTS: Final = 3
"""Hosts that have an n-gram, below which it is left out."""
MAX_GRAMS: Final = 8192
"""N-grams of a model, at most; those of most hosts are kept."""
SMOOTHNESS: Final = 2.0
"""The penalty of a difference between neighbouring knots: a curve bends where the labels insist on it."""
MAX_ITERATIONS: Final = 50
_TOLERANCE: Final = 1e-4
_MAX_STEPS: Final = 200
"""Steps of conjugate gradients in an iteration."""
_KINDS: Final = (*SUFFIXES, OPEN)
CURVES: Final = (*FEATURES, *NAME_FEATURES, *GRAPH_FEATURES)
"""The features that can have a curve."""


class Example(Struct, frozen=True):
    """A host with a label: the features of its pages and of its place among others; `page_weight` as of `shrinkage`."""

    host: str
    is_spam: bool
    pages: tuple[Features, ...] = ()
    features: Features = {}
    page_weight: float = 1.0


class TrainingSettings(Struct, frozen=True):
    """What a model may learn from: which features, the kinds of suffixes, and the n-grams of names.

    `prior` is the share of spam to assume where it is not that of the examples.
    """

    features: tuple[str, ...] = CURVES
    has_kinds: bool = True
    has_grams: bool = True
    penalty: float = PENALTY
    smoothness: float = SMOOTHNESS
    prior: float | None = None
    trained_on: str = ""


def train(examples: Sequence[Example], settings: TrainingSettings | None = None) -> Model:
    """A model of these examples, of which some must be spam and some not."""
    settings = settings or TrainingSettings()
    labels = np.array([example.is_spam for example in examples], float)
    if not 0 < labels.sum() < len(labels):
        raise UsageError(
            f"{len(labels)} labelled hosts, {int(labels.sum())} of them spam: both kinds are needed",
            hint="the file of labels has a column `host` and a column `label`, with the words spam and nonspam",
        )
    examples = [replace(each, features=name_features(each.host) | each.features) for each in examples]
    knots = _all_knots(examples, settings)
    blocks, means = zip(*[_centred(_spread(examples, name, at)) for name, at in knots.items()], strict=True)
    kinds = _kinds(examples) if settings.has_kinds else np.zeros((len(examples), 0))
    grams = _vocabulary(examples) if settings.has_grams else []
    ones = csr_array(np.ones((len(examples), 1)))
    rows = csr_array(hstack([csr_array(np.hstack([*blocks, kinds])), _gram_rows(examples, grams), ones]))
    curved = sum(map(len, knots.values())) + kinds.shape[1]
    penalties = np.concatenate([np.full(curved, settings.penalty), np.full(len(grams), GRAM_PENALTY), np.zeros(1)])
    bends = _bends([*map(len, knots.values())], rows.shape[1])
    weights = _fitted(rows, labels, penalties, csr_array(settings.smoothness * (bends.T @ bends)))
    if settings.prior is not None:
        weights[-1] += _log_odds(settings.prior) - _log_odds(float(labels.mean()))
    at = 0
    for mean in means:
        weights[at : at + len(mean)] -= mean @ weights[at : at + len(mean)]
        at += len(mean)
    return _model(weights, knots, kinds.shape[1], grams, settings.trained_on)


def _model(weights: Vector, knots: dict[str, Vector], kinds: int, grams: Sequence[str], trained_on: str) -> Model:
    rounded = [round(float(weight), 4) for weight in weights]
    curves, at = {}, 0
    for name, places in knots.items():
        curves[name] = Curve(tuple(places.tolist()), tuple(rounded[at : at + len(places)]))
        at += len(places)
    named = dict(zip(_KINDS, rounded[at : at + kinds], strict=False))
    weighted = zip(grams, rounded[at + kinds : -1], strict=True)
    return Model(rounded[-1], curves, named, {gram: weight for gram, weight in weighted if weight}, trained_on)


# the design


def _values(examples: Sequence[Example], name: str) -> tuple[NDArray[np.intp], Vector, Vector]:
    """Known values of a feature: the number of the example, the value, and its weight in the example."""
    owners, values, weights = [], [], []
    for number, example in enumerate(examples):
        if name in FEATURES:
            known = [value for page in example.pages if (value := page.get(name)) is not None]
            weight = example.page_weight / max(len(known), 1)
        else:
            found = example.features.get(name)
            known, weight = ([] if found is None else [found]), 1.0
        owners += [number] * len(known)
        values += known
        weights += [weight] * len(known)
    return np.array(owners, np.intp), np.array(values, float), np.array(weights, float)


def _all_knots(examples: Sequence[Example], settings: TrainingSettings) -> dict[str, Vector]:
    """Where each curve bends: at quantiles of its values, if there are different ones."""
    knots = {}
    for name in settings.features:
        values = _values(examples, name)[1]
        places = np.unique(np.round(np.quantile(values, np.linspace(0, 1, KNOTS)), 6)) if len(values) else values
        if 1 < len(places) <= MAX_KNOTS:
            knots[name] = places
    return knots


def _spread(examples: Sequence[Example], name: str, knots: Vector) -> Vector:
    """The values of a feature as weights of knots, a row for each example."""
    owners, values, weights = _values(examples, name)
    block = np.zeros((len(examples), len(knots)))
    inside = np.clip(values, knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    share = (inside - knots[left]) / (knots[left + 1] - knots[left])
    np.add.at(block, (owners, left), (1.0 - share) * weights)
    np.add.at(block, (owners, left + 1), share * weights)
    return block


def _centred(block: Vector) -> tuple[Vector, Vector]:
    """A feature's columns less their mean where it is known, and that mean.

    So an unknown feature counts as an average one: without this, a curve would also learn that it is known.
    """
    mean: Vector = block.sum(axis=0) / block.sum()
    return block - block.sum(axis=1, keepdims=True) * mean, mean


def _kinds(examples: Sequence[Example]) -> Vector:
    return np.array([[suffix_kind(example.host) == kind for kind in _KINDS] for example in examples], float)


def _vocabulary(examples: Iterable[Example]) -> list[str]:
    counts = Counter(gram for example in examples for gram in name_grams(example.host))
    common = sorted((-count, gram) for gram, count in counts.items() if count >= LEAST_HOSTS)
    return sorted(gram for _, gram in common[:MAX_GRAMS])


def _gram_rows(examples: Sequence[Example], grams: Sequence[str]) -> csr_array:
    number = {gram: at for at, gram in enumerate(grams)}
    found = [sorted(number[gram] for gram in name_grams(each.host) if gram in number) for each in examples]
    ends = np.cumsum([0, *map(len, found)])
    columns = np.array([at for row in found for at in row], np.int64)
    return csr_array((np.ones(len(columns)), columns, ends), shape=(len(examples), len(grams)))


def _bends(sizes: Sequence[int], width: int) -> csr_array:
    """The differences between neighbouring knots of each curve, as rows."""
    ends = np.cumsum(sizes)
    firsts = np.setdiff1d(np.arange(ends[-1] if len(ends) else 0), ends - 1)
    numbers = np.arange(len(firsts))
    values = np.repeat([1.0, -1.0], len(firsts))
    places = (np.tile(numbers, 2), np.concatenate([firsts, firsts + 1]))
    return csr_array((values, places), shape=(len(firsts), width))


def _log_odds(share: float) -> float:
    return float(np.log(share / (1.0 - share)))


# the fit


def _fitted(rows: csr_array, labels: Vector, penalties: Vector, smoothing: csr_array) -> Vector:
    """The weights that minimise the penalised log loss."""
    columns = csr_array(rows.T)
    squares = columns.multiply(columns).tocsr()
    weights = np.zeros(rows.shape[1])
    for _ in range(MAX_ITERATIONS):
        chances = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -30.0, 30.0)))
        slopes = columns @ (chances - labels) + penalties * weights + smoothing @ weights
        curvature = chances * (1.0 - chances)
        scale = squares @ curvature + penalties + smoothing.diagonal() + 1e-9

        def times(vector: Vector, curvature: Vector = curvature) -> Vector:
            return np.asarray(columns @ (curvature * (rows @ vector)) + penalties * vector + smoothing @ vector)

        step = _solved(times, -slopes, scale)
        weights += step
        if np.abs(step).max() < _TOLERANCE:
            break
    return weights


def _solved(times: Callable[[Vector], Vector], right: Vector, scale: Vector) -> Vector:
    """The solution of a positive definite system by conjugate gradients, scaled by its diagonal."""
    solution = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / scale
    direction, energy = scaled.copy(), float(residual @ scaled)
    enough = energy * 1e-8
    for _ in range(_MAX_STEPS):
        if energy <= enough:
            break
        image = times(direction)
        length = energy / float(direction @ image)
        solution += length * direction
        residual -= length * image
        scaled = residual / scale
        before, energy = energy, float(residual @ scaled)
        direction = scaled + energy / before * direction
    return solution


class Evaluation(Struct, frozen=True):
    """How well a model separates spam from other hosts, on examples that it was not trained on.

    `auc` is the area under the ROC curve.
    """

    auc: float
    recall_at_1: float
    """Share of the spam found where 1 % of the other hosts are misjudged."""
    recall_at_5: float


def cross_validated(
    examples: Sequence[Example],
    settings: TrainingSettings | None = None,
    *,
    folds: int = 10,
    seed: int = 0,
    by_domain: bool = False,
) -> Evaluation:
    """Train and judge `folds` times, each example judged once by a model that was trained without it.

    With `by_domain` all hosts of a registrable domain are in one part: otherwise n-grams recognise a domain whose other
    hosts they were trained on.
    """
    parts = _parts(examples, folds, Random(seed), by_domain=by_domain)  # noqa: S311 - not for secrets
    scores = np.zeros(len(examples))
    for part in range(folds):
        model = train([each for each, of in zip(examples, parts, strict=True) if of != part], settings)
        for number, (example, of) in enumerate(zip(examples, parts, strict=True)):
            if of == part:
                weights = model.name_parts(example.host) + model.page_parts(example.features)
                pages = [model.page_logit(page) - model.intercept for page in example.pages]
                content = example.page_weight * sum(pages) / max(len(pages), 1)
                scores[number] = model.intercept + content + sum(each.weight for each in weights)
    return evaluated([example.is_spam for example in examples], scores)


def evaluated(labels: ArrayLike, scores: ArrayLike) -> Evaluation:
    """The measures of these scores."""
    is_spam, heights = np.asarray(labels, bool), np.asarray(scores, float)
    spam, others = np.sort(heights[is_spam]), np.sort(heights[~is_spam])
    below, upto = np.searchsorted(others, spam, "left"), np.searchsorted(others, spam, "right")
    auc = float((below + upto).sum() / 2 / (len(spam) * len(others)))

    def recall(share: float) -> float:
        return float((spam > np.quantile(others, 1.0 - share)).mean())

    return Evaluation(auc, recall(0.01), recall(0.05))


def _parts(examples: Sequence[Example], folds: int, chance: Random, *, by_domain: bool) -> list[int]:
    """The part of each example: spam and others dealt out evenly, or all hosts of a domain together."""
    if by_domain:
        domains = [domain_of(example.host) or example.host for example in examples]
        of = {domain: chance.randrange(folds) for domain in sorted({*domains})}
        return [of[domain] for domain in domains]
    parts = [0] * len(examples)
    for is_spam in (False, True):
        numbers = [number for number, example in enumerate(examples) if example.is_spam is is_spam]
        chance.shuffle(numbers)
        for place, number in enumerate(numbers):
            parts[number] = place % folds
    return parts

"""How well a model separates spam from other hosts: the area under the ROC curve, and recall at few false positives.

`cross_validated` trains on nine tenths and judges the last, ten times. With `by_domain` all hosts of a registrable
domain are in one part: otherwise n-grams recognise a domain whose other hosts they were trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from ...urls import domain_of
from .training import Example, TrainingSettings, train


class Evaluation(Struct, frozen=True):
    """What a model is worth on examples that it was not trained on."""

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
    """Train and judge `folds` times, each example judged once by a model that does not know it."""
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

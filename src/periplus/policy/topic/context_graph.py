"""Context graphs (Diligenti et al. 2000): how many links is a page away from the topic, by its words?

Pages on the topic are layer 0, pages that link to them layer 1, and so on back to layer 4. A naive Bayes classifier
over hashed words tells the layers apart; what resembles none of them is beyond the last. A crawl follows the links of
pages in near layers first. The layers need links backwards, which a crawl does not know: `periplus simulate focused`
takes them from a finished collection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

LAYERS: Final = 5
"""Layers 0 to 4. Farther than four links from the topic, words say nothing about the distance."""
PLACES: Final = 1 << 13
"""Places of words: 8,192, so that all counts of a class fit a core's cache."""
_MAX_DISTINCT: Final = 300
"""Different words of a page that count, the most frequent."""
_SMOOTH: Final = 0.5
"""Added to each count."""

Counts = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Places of the words of a page, and how much each counts: 1 + ln of its frequency."""


def counts_of(words: Sequence[str]) -> Counts:
    """The words of a page by their places."""
    found: Counter[int] = Counter()
    for word, count in Counter(words).most_common(_MAX_DISTINCT):
        found[xxh3_64_intdigest(word.encode()) % PLACES] += count
    places = np.array(sorted(found), np.int64)
    return places, np.array([1.0 + math.log(found[place]) for place in places.tolist()])


class LayerClassifier:
    """Naive Bayes over the layers and the rest of the web. All are held equally probable."""

    def __init__(self, layers: Sequence[Sequence[Counts]]) -> None:
        """`layers` are example pages of each layer; the last class is the rest."""
        totals = np.full((len(layers), PLACES), _SMOOTH)
        for number, pages in enumerate(layers):
            for places, counts in pages:
                totals[number, places] += counts
        self._logarithms = np.log(totals / totals.sum(axis=1, keepdims=True))
        self._logarithms[[not pages for pages in layers]] = -math.inf

    def layer(self, page: Counts) -> int:
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

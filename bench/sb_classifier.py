"""SB-CLASSIFIER as its paper has it (Gauquier, Manolescu & Senellart, EDBT 2026), for comparison; reimplemented.

Each new link gets an action, the cluster of its tag path: 2-grams of path elements, hashed to 4,096 places, joined to
the nearest centroid if their cosine is at least .75. An action is chosen by mean reward + 2 sqrt(2) sqrt(ln t / n), a
link of it at random. URLs are classified by logistic regression over character 2-grams: the first ten by HEAD requests,
which count, later ones by what was learnt from them and from fetched URLs. Links classified as targets are fetched at
once; those of them that are targets are the reward of the page.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct

PLACES_BITS: Final = 12
_WORD_BITS: Final = 15
_FACTOR: Final = 766_245_317
_LIKE: Final = 0.75
_ALPHA: Final = 2.0 * math.sqrt(2.0)
_BATCH: Final = 10
_EPSILON: Final = 1e-6
_PENALTY: Final = 1e-4
_BEGIN: Final = 1000.0
"""Steps before the first in the schedule of rates 1 / (penalty * step), as scikit-learn begins with this penalty."""


class SbLink(Struct, frozen=True):
    """A link that a page has: where to, and its path with ids and classes."""

    url: str
    path: str


class SbSite(Struct, frozen=True):
    """What the crawler may ask: the kind of a URL ("html", "target" or "none"), and the links of a page."""

    seed: str
    kind: Callable[[str], str]
    links: Callable[[str], Sequence[SbLink]]
    goal: int


class _UrlClassifier:
    """Logistic regression over 2-grams of characters, by stochastic gradient descent; one pass over each batch."""

    def __init__(self) -> None:
        self._weights = np.zeros(95 * 95)
        self._bias, self._step = 0.0, 0
        self.labelled: list[tuple[str, bool]] = []
        self.is_trained = False

    def add(self, url: str, *, is_target: bool) -> None:
        self.labelled.append((url, is_target))

    def train(self) -> None:
        for url, is_target in self.labelled:
            self._step += 1
            rate = 1.0 / (_PENALTY * (_BEGIN + self._step))
            places, counts = _bigrams(url)
            margin = float(self._weights[places] @ counts) + self._bias
            error = float(is_target) - 1.0 / (1.0 + math.exp(-min(max(margin, -30.0), 30.0)))
            self._weights *= max(0.0, 1.0 - rate * _PENALTY)
            self._weights[places] += rate * error * counts
            self._bias += 0.01 * rate * error
        self.labelled, self.is_trained = [], True

    def is_target(self, url: str) -> bool:
        places, counts = _bigrams(url)
        return float(self._weights[places] @ counts) + self._bias > 0.0


def _bigrams(url: str) -> tuple[np.ndarray, np.ndarray]:
    codes = [min(max(ord(each) - 32, 0), 94) for each in url.lower()]
    counts = Counter(one * 95 + other for one, other in pairwise(codes))
    return np.fromiter(counts, np.int64), np.fromiter(counts.values(), np.float64)


class _Actions:
    """Clusters of tag paths, with the mean reward of each, and the links that wait."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._places: dict[str, int] = {}
        self._sizes = np.zeros(1 << PLACES_BITS, np.float32)
        self._centroids = np.zeros((64, 1 << PLACES_BITS), np.float32)
        self._lengths = np.zeros(64, np.float32)
        self.members: list[int] = []
        self.means: list[float] = []
        self.chosen: list[int] = []
        self.waiting: list[list[SbLink]] = []

    def _vector(self, path: str) -> np.ndarray:
        elements = ["[", *path.split("/"), "]"]
        grams = Counter(pairwise(elements))
        vector = np.zeros(1 << PLACES_BITS, np.float32)
        for pair, count in grams.items():
            gram = "/".join(pair)
            place = self._places.get(gram)
            if place is None:
                number = len(self._places)
                place = (number * _FACTOR % (1 << _WORD_BITS)) >> (_WORD_BITS - PLACES_BITS)
                self._places[gram] = place
                self._sizes[place] += 1
            vector[place] += count / (len(elements) - 1)
        return vector / np.maximum(self._sizes, 1.0)  # the mean over all grams at a place

    def of(self, path: str) -> int:
        """The action of a path, whose centroid moves; or a new one."""
        vector = self._vector(path)
        count = len(self.members)
        if count:
            length = float(np.linalg.norm(vector))
            likeness = self._centroids[:count] @ vector / np.maximum(self._lengths[:count] * length, 1e-12)
            best = int(np.argmax(likeness))
            if likeness[best] >= _LIKE:
                self.members[best] += 1
                self._centroids[best] += (vector - self._centroids[best]) / self.members[best]
                self._lengths[best] = np.linalg.norm(self._centroids[best])
                return best
        if count == len(self._centroids):
            self._centroids = np.concatenate((self._centroids, np.zeros_like(self._centroids)))
            self._lengths = np.concatenate((self._lengths, np.zeros_like(self._lengths)))
        self._centroids[count], self._lengths[count] = vector, np.linalg.norm(vector)
        self.members.append(1)
        self.means.append(0.0)
        self.chosen.append(0)
        self.waiting.append([])
        return count

    def choose(self, requests: int) -> tuple[int, SbLink] | None:
        """The awake action with the largest bound, and a link of it; `None`: all are asleep."""
        awake = [number for number, links in enumerate(self.waiting) if links]
        if not awake:
            return None
        bound = math.log(max(requests, 1))
        best = max(
            awake, key=lambda each: self.means[each] + _ALPHA * math.sqrt(bound / (self.chosen[each] + _EPSILON))
        )
        links = self.waiting[best]
        place = self._chance.randrange(len(links))
        links[place], links[-1] = links[-1], links[place]
        return best, links.pop()

    def reward(self, action: int, reward: float) -> None:
        """A page of an action was fetched."""
        self.chosen[action] += 1
        self.means[action] += (reward - self.means[action]) / self.chosen[action]


class SbCrawl:
    """A crawl of a site until `goal` targets were fetched. `requests` counts HEAD and GET."""

    def __init__(self, site: SbSite, seed: int) -> None:
        self._site = site
        self._classifier = _UrlClassifier()
        self._actions = _Actions(Random(seed))
        self._seen = {site.seed}
        self._guessed: set[str] = set()
        self.requests = self.heads = self.found = 0

    def run(self) -> int:
        """Requests until the goal, or until nothing waits."""
        self._visit(SbLink(self._site.seed, ""), None)
        while not self._is_done and (chosen := self._actions.choose(self.requests)) is not None:
            action, link = chosen
            self._visit(link, action)
        return self.requests

    @property
    def _is_done(self) -> bool:
        return self.found >= self._site.goal

    def _visit(self, first: SbLink, action: int | None) -> None:
        """Fetch a page, and at once what its links are classified as targets; pages among those are visited too."""
        stack = [(first, action)]
        while stack and not self._is_done:
            link, action = stack.pop()
            kind = self._fetch(link.url)
            if kind != "html":
                continue
            reward = 0
            for each in self._site.links(link.url):
                if each.url in self._seen or self._is_done:
                    continue
                self._seen.add(each.url)
                match self._classify(each.url):
                    case "html":
                        self._actions.waiting[self._actions.of(each.path)].append(each)
                    case "target" if self._site.kind(each.url) == "html":
                        stack.append((each, self._actions.of(each.path)))
                    case "target":
                        reward += self._fetch(each.url) == "target"
            if action is not None:
                self._actions.reward(action, reward)

    def _fetch(self, url: str) -> str:
        self.requests += 1
        kind = self._site.kind(url)
        self.found += kind == "target"
        if url in self._guessed and kind != "none":
            self._classifier.add(url, is_target=kind == "target")
        return kind

    def _classify(self, url: str) -> str:
        classifier = self._classifier
        if len(classifier.labelled) >= _BATCH:
            classifier.train()
        if classifier.is_trained:
            self._guessed.add(url)
            return "target" if classifier.is_target(url) else "html"
        self.requests += 1
        self.heads += 1
        kind = self._site.kind(url)
        if kind != "none":
            classifier.add(url, is_target=kind == "target")
        return kind

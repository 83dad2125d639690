"""Scores of URLs in memory, for orderings that learn: a dict of scores, and links as pairs of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from periplus.model import KnownLinks, Stage, Url, UrlScore


class MemoryUrlScores:
    """`UrlScores` in memory. URLs are numbered in the order in which they came."""

    def __init__(self) -> None:
        self._scores: dict[Url, UrlScore] = {}
        self._numbers: dict[Url, int] = {}
        self._urls: list[Url] = []
        self._in_order: list[UrlScore] = []
        self._sources = array("i")
        self._targets = array("i")

    def get(self, urls: Sequence[Url]) -> list[UrlScore | None]:
        """The score of each, aligned with `urls`."""
        find = self._scores.get
        return [find(url) for url in urls]

    @property
    def held(self) -> Mapping[Url, UrlScore]:
        """All of them."""
        return self._scores

    def put(self, scores: Sequence[tuple[Url, UrlScore]]) -> None:
        """Keep these."""
        known = self._scores
        for url, score in scores:
            before = known.get(url)
            if before is score:
                continue
            known[url] = score
            if before is None:
                self._numbers[url] = len(self._urls)
                self._urls.append(url)
                self._in_order.append(score)
            else:
                self._in_order[self._numbers[url]] = score

    def link(self, links: Sequence[tuple[Url, Url]]) -> None:
        """Store links; those with an end without a score are left out."""
        number = self._numbers.get
        last, start = None, None
        for source, target in links:
            if source is not last:  # mostly, all are of one page
                last, start = source, number(source)
            end = number(target)
            if start is not None and end is not None:
                self._sources.append(start)
                self._targets.append(end)

    def known(self) -> KnownLinks:
        """All links and scores, as arrays of numbers."""
        scores = self._in_order
        return KnownLinks(
            np.array(self._sources, np.int32),
            np.array(self._targets, np.int32),
            np.array([score.worth for score in scores], np.float64),
            np.array([score.stage for score in scores], np.uint8),
            np.array([score.level for score in scores], np.uint8),
            np.array([score.is_seed for score in scores], np.bool_),
        )

    def numbered(self, numbers: Sequence[int]) -> list[tuple[Url, UrlScore]]:
        """The URLs to which the last call of `known` gave these numbers."""
        return [(self._urls[number], self._in_order[number]) for number in numbers]

    def revalue(self, worth: NDArray[np.float64]) -> None:
        """Set the new score of each URL that `known` numbered."""
        for score, value in zip(self._in_order, worth.tolist(), strict=True):
            score.worth = value

    @property
    def pooled(self) -> int:
        """How many URLs wait for the next batch."""
        return sum(score.stage == Stage.POOLED for score in self._in_order)

"""What an ordering that learns knows of each URL, in memory: a dict of standings, and links as pairs of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from periplus.model import KnownLinks, Stage, Standing, Url


class MemoryStandings:
    """`Standings` that live as long as the process. URLs are numbered in the order in which they came."""

    def __init__(self) -> None:
        self._standings: dict[Url, Standing] = {}
        self._numbers: dict[Url, int] = {}
        self._urls: list[Url] = []
        self._in_order: list[Standing] = []
        self._sources = array("i")
        self._targets = array("i")

    def get(self, urls: Sequence[Url]) -> list[Standing | None]:
        """The standing of each, aligned with `urls`."""
        find = self._standings.get
        return [find(url) for url in urls]

    def put(self, standings: Sequence[tuple[Url, Standing]]) -> None:
        """Keep these."""
        known = self._standings
        for url, standing in standings:
            before = known.get(url)
            if before is standing:
                continue
            known[url] = standing
            if before is None:
                self._numbers[url] = len(self._urls)
                self._urls.append(url)
                self._in_order.append(standing)
            else:
                self._in_order[self._numbers[url]] = standing

    def link(self, links: Sequence[tuple[Url, Url]]) -> None:
        """Keep links; those whose end has no standing are left out."""
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
        """All of it, as numbers."""
        standings = self._in_order
        return KnownLinks(
            np.array(self._sources, np.int32),
            np.array(self._targets, np.int32),
            np.array([standing.worth for standing in standings], np.float64),
            np.array([standing.stage for standing in standings], np.uint8),
            np.array([standing.level for standing in standings], np.uint8),
            np.array([standing.is_seed for standing in standings], np.bool_),
        )

    def numbered(self, numbers: Sequence[int]) -> list[tuple[Url, Standing]]:
        """Those that `known`, when last asked, gave these numbers."""
        return [(self._urls[number], self._in_order[number]) for number in numbers]

    def revalue(self, worth: NDArray[np.float64]) -> None:
        """Give each that `known` numbered its new worth."""
        for standing, value in zip(self._in_order, worth.tolist(), strict=True):
            standing.worth = value

    @property
    def pooled(self) -> int:
        """How many wait for the next batch."""
        return sum(standing.stage == Stage.POOLED for standing in self._in_order)

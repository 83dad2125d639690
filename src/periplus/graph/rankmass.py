"""RankMass on a graph that is known: how much PageRank a partial crawl is sure to hold (Cho & Schonfeld, VLDB 2007).

A crawl that knows no more than the pages it has fetched can still bound from below the personalised PageRank it has
collected, by the probability of the paths it knows. `neighbour_bound` is the guarantee for all pages within some
clicks of the trusted ones; `rank_mass` is the greedy order that collects faster, and the reference for the ordering
that computes it while it crawls.
"""

from __future__ import annotations

from heapq import heappop, heappush

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from .edges import Ids, Ranks, checked_damping, checked_edges, distribution


class RankMass(msgspec.Struct, frozen=True):
    """A greedy crawl: the pages in order, and the rank mass that is guaranteed once each has been fetched."""

    pages: tuple[int, ...]
    mass: tuple[float, ...]
    """mass[i] holds until the page after pages[i] is fetched; the last is the mass when the crawl stopped."""


def neighbour_bound(levels: int, damping: float = 0.85) -> float:
    """The least share of personalised PageRank on pages within `levels` clicks of the trusted pages."""
    checked_damping(damping, 1.0)
    if levels < 0:
        raise ValueError(f"there are no pages within {levels} clicks")
    return float(1 - damping ** (levels + 1))


def rank_mass(
    sources: ArrayLike,
    targets: ArrayLike,
    n: int,
    damping: float = 0.85,
    *,
    trusted: ArrayLike | None = None,
    epsilon: float = 0.1,
    most_steps: int = 10_000_000,
) -> RankMass:
    """Fetch the page with the largest known path mass, pass it on, until 1 - epsilon of all mass is guaranteed.

    `trusted` is the jump (uniform by default). A page without links passes its mass to the trusted pages, as in
    `pagerank`, so that the guarantee is one on `pagerank(..., jump=trusted)`. `most_steps` bounds the work.
    """
    checked_damping(damping, epsilon)
    paths = _Paths(sources, targets, n, damping, trusted)
    pages: list[int] = []
    mass: list[float] = []
    fetched: set[int] = set()
    collected = 0.0
    for _ in range(most_steps):
        page = paths.largest()
        if page is None or collected >= 1 - epsilon:
            break
        collected += paths.pass_on(page)
        if page in fetched:
            mass[-1] = collected
        else:
            fetched.add(page)
            pages.append(page)
            mass.append(collected)
    return RankMass(tuple(pages), tuple(mass))


class _Paths:
    """The probability of all known paths that end at each page and were not followed further yet."""

    def __init__(
        self, sources: ArrayLike, targets: ArrayLike, n: int, damping: float, trusted: ArrayLike | None
    ) -> None:
        heads, tails = checked_edges(sources, targets, n)
        self._links = coo_array((np.ones(len(heads)), (heads, tails)), shape=(n, n)).tocsr()
        self._degree = np.bincount(heads, minlength=n)
        self._damping = damping
        leap = distribution(trusted, n, "trusted")
        self._roots = np.flatnonzero(leap)
        self._leap = leap[self._roots]
        self._mass = (1 - damping) * leap
        self._queue: list[tuple[float, int]] = []
        self._enqueue(self._roots)

    def largest(self) -> int | None:
        """The page with most, the first of equals; None when nobody has anything."""
        while self._queue:
            entry, page = self._queue[0]
            if -entry == self._mass[page] > 0:
                return page
            heappop(self._queue)  # an older entry of a page that has grown or paid since
        return None

    def pass_on(self, page: int) -> float:
        """Follow the page's links; what it had is collected, and its part `damping` goes on."""
        here = float(self._mass[page])
        self._mass[page] = 0.0
        heirs, shares = self._heirs(page)
        self._mass[heirs] += self._damping * here * shares
        self._enqueue(heirs)
        return here

    def _heirs(self, page: int) -> tuple[Ids, Ranks]:
        if not self._degree[page]:
            return self._roots, self._leap
        span = slice(self._links.indptr[page], self._links.indptr[page + 1])
        return self._links.indices[span], self._links.data[span] / self._degree[page]

    def _enqueue(self, pages: Ids) -> None:
        for page in pages.tolist():
            heappush(self._queue, (-float(self._mass[page]), page))

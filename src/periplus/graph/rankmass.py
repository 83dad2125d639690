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

from .edges import checked_damping, checked_edges, distribution


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
    heads, tails = checked_edges(sources, targets, n)
    leap = distribution(trusted, n, "trusted")
    links = coo_array((np.ones(len(heads)), (heads, tails)), shape=(n, n)).tocsr()
    degree = np.bincount(heads, minlength=n)
    roots = np.flatnonzero(leap)
    path = (1 - damping) * leap
    queue: list[tuple[float, int]] = []
    for page in roots.tolist():
        heappush(queue, (-float(path[page]), page))
    pages: list[int] = []
    mass: list[float] = []
    collected, fetched = 0.0, np.zeros(n, np.bool_)
    for _ in range(most_steps):
        if not queue or collected >= 1 - epsilon:
            break
        stale, page = heappop(queue)
        here = float(path[page])
        if -stale != here or not here:
            continue  # an older, smaller entry of a page that has grown or paid since
        collected += here
        path[page] = 0.0
        if not fetched[page]:
            fetched[page] = True
            pages.append(page)
            mass.append(collected)
        mass[-1] = collected
        span = slice(links.indptr[page], links.indptr[page + 1])
        heirs, shares = (links.indices[span], links.data[span] / degree[page]) if degree[page] else (roots, leap[roots])
        path[heirs] += damping * here * shares
        for heir in heirs.tolist():
            heappush(queue, (-float(path[heir]), heir))
    return RankMass(tuple(pages), tuple(mass))

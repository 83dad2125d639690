"""How many clicks from the seeds: the depth that breadth-first crawls and the plots of PageRank by depth are about."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from .edges import checked_edges, checked_ids

_UNREACHED = -1


def depths(sources: ArrayLike, targets: ArrayLike, n: int, seeds: ArrayLike) -> NDArray[np.int32]:
    """Clicks from the nearest seed to each page: 0 for seeds, -1 for pages that no path reaches.

    A page in front of all seeds makes one search of many. Its tree gives the depths by doubling: after k rounds a
    page has counted the 2^k pages above it, so that a chain of a million pages takes twenty rounds, not a million.
    """
    heads, tails = checked_edges(sources, targets, n)
    starts = np.unique(checked_ids(seeds, n, "seeds"))
    depth = np.full(n, _UNREACHED, np.int32)
    if not len(starts):
        return depth
    front = np.full(len(starts), n, starts.dtype)
    ends = (np.concatenate([heads, front]), np.concatenate([tails, starts]))
    edges = coo_array((np.ones(len(ends[0])), ends), shape=(n + 1, n + 1))
    edges.has_canonical_format = True  # else scipy would sort every row and add up repeated edges
    reached, above = breadth_first_order(edges.tocsr(), n, directed=True, return_predecessors=True)
    above[above < 0] = n  # no page above: the front itself, and what was not reached
    counted = np.zeros(n + 1, np.int32)
    counted[reached[1:]] = 1
    while (above != n).any():
        counted += counted[above]
        above = above[above]
    pages = reached[1:]
    depth[pages] = counted[pages] - 1
    return depth

"""Edges, vectors and settings as callers give them, checked once and in the form that the arithmetic wants.

`depths` counts clicks from the seeds, for breadth-first crawls and the plots of PageRank by depth.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

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


Ids: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Ranks: TypeAlias = NDArray[np.float64]

_NARROW = np.iinfo(np.int32).max


def checked_edges(sources: ArrayLike, targets: ArrayLike, n: int) -> tuple[Ids, Ids]:
    """Both ends of every edge as arrays of one width: 4 bytes an id wherever they suffice, half the traffic."""
    if n < 0:
        raise ValueError(f"n must not be negative, got {n} pages")
    heads, tails = checked_ids(sources, n, "sources"), checked_ids(targets, n, "targets")
    if len(heads) != len(tails):
        raise ValueError(f"every edge has two ends: {len(heads)} sources, {len(tails)} targets")
    return heads, tails


def checked_ids(given: ArrayLike, n: int, what: str) -> Ids:
    """Whole numbers from 0 to n - 1 in one dimension; an empty list is a list of ids too."""
    ids = np.asarray(given)
    if ids.ndim != 1:
        raise ValueError(f"{what} must have one dimension, not {ids.ndim}")
    if ids.size == 0:
        return np.zeros(0, np.int32)
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"{what} must be whole numbers, not {ids.dtype}")
    lowest, highest = int(ids.min()), int(ids.max())
    if lowest < 0 or highest >= n:
        wrong = lowest if lowest < 0 else highest
        raise ValueError(f"{what} hold the page {wrong}, but the pages are numbered from 0 to {n - 1}")
    return np.ascontiguousarray(ids, np.int32) if n <= _NARROW else np.ascontiguousarray(ids, np.int64)


def checked_weights(given: ArrayLike, length: int, what: str) -> Ranks:
    """`length` finite numbers, none of them negative."""
    weights = np.ascontiguousarray(given, dtype=np.float64)
    if weights.shape != (length,):
        raise ValueError(f"{what} must be {length} numbers, but have the shape {weights.shape}")
    if length and not (np.isfinite(weights).all() and weights.min() >= 0):
        raise ValueError(f"{what} must be finite and not negative")
    return weights


def distribution(given: ArrayLike | None, n: int, what: str) -> Ranks:
    """A vector scaled to the sum 1; uniform if none is given."""
    if given is None:
        return np.full(n, 1 / n) if n else np.zeros(0)
    weights = checked_weights(given, n, what)
    largest = float(weights.max(initial=0))
    if n and largest == 0:
        raise ValueError(f"{what} must not be all zeros")
    weights = weights / largest if n else weights  # a sum of huge numbers would overflow
    return weights / weights.sum() if n else weights


def checked_damping(damping: float, tolerance: float) -> None:
    """Damping 1 has no unique answer, and a tolerance of 0 is never reached in floating point."""
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be at least 0 and below 1, not {damping}")
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, not {tolerance}")

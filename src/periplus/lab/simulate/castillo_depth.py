"""PageRank by the distance from a home page: Figure 12 of Castillo et al. (2004)."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.graph import depths, pagerank

from .web import Web

NEAR = 3
"""Clicks. Three or four of them away from the home page, the paper finds, PageRank hardly falls any more."""
_FEW = 30
"""Minimum number of pages at a depth for a meaningful mean: there the profile ends."""


class DepthProfile(Struct, frozen=True):
    """The mean PageRank of the pages at each depth, in multiples of the mean of all; index 0 are home pages.

    `near` is Spearman's correlation of depth and PageRank over pages 1 to `NEAR` clicks away, `far` beyond; NaN where
    there are hardly any.
    """

    mean_rank: list[float]
    pages: list[int]
    near: float
    far: float


def depth_profile(web: Web) -> DepthProfile:
    """How PageRank falls with depth."""
    sources, targets = web.edges
    depth = depths(sources, targets, len(web), web.seeds)
    rank = pagerank(sources, targets, len(web)) * len(web)
    reached = depth >= 0
    pages = np.bincount(depth[reached])
    sums = np.bincount(depth[reached], weights=rank[reached])
    few = 2 + np.flatnonzero(pages[2:] < _FEW)
    shown = int(few[0]) if len(few) else len(pages)
    return DepthProfile(
        (sums[:shown] / pages[:shown]).tolist(),
        pages[:shown].tolist(),
        _correlation(depth, rank, 1, NEAR),
        _correlation(depth, rank, NEAR + 1, len(web)),
    )


def _correlation(depth: NDArray[np.int32], rank: NDArray[np.float64], low: int, high: int) -> float:
    from scipy.stats import spearmanr  # takes a second to load, and only this figure needs it

    chosen = (depth >= low) & (depth <= high)
    if np.count_nonzero(chosen) < _FEW or len(np.unique(depth[chosen])) < 2:
        return float("nan")
    return float(spearmanr(depth[chosen], rank[chosen])[0])

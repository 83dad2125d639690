"""PageRank of edges in blocks, as the smallest caller of `periplus.graph.pagerank_of_products`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from periplus.graph import Ranks, pagerank_of_products


def pagerank_of_blocks(
    blocks: Iterable[tuple[ArrayLike, ArrayLike]],
    n: int,
    damping: float = 0.85,
    *,
    jump: ArrayLike | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-10,
) -> Ranks:
    """Return the ranks of `n` pages; `blocks` are read once for each product."""
    strength = np.zeros(n)
    for sources, _ in blocks:
        np.add.at(strength, np.asarray(sources, np.intp), 1.0)

    def spread(held: np.ndarray) -> np.ndarray:
        passed = np.zeros_like(held)
        for sources, targets in blocks:
            np.add.at(passed, np.asarray(targets, np.intp), held[np.asarray(sources, np.intp)])
        return passed

    return pagerank_of_products(spread, strength, damping, jump=jump, start=start, tolerance=tolerance)

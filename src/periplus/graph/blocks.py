"""PageRank of a graph whose edges never are in memory at once: vectors in memory, edges read block by block.

Memory is about ten vectors of one number a page, whatever the number of edges; time is one reading of all edges for
each of about 60 products. Everything is in double precision: here reading is the cost, and single precision would
only add rounds. Where blocks come from is no matter of this room; `periplus.store.EdgeFile` yields them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .edges import Ranks, checked_edges
from .krylov import Numbers
from .products import pagerank_of_products

Blocks: TypeAlias = Iterable[tuple[ArrayLike, ArrayLike]]


def pagerank_of_blocks(
    blocks: Blocks,
    n: int,
    damping: float = 0.85,
    *,
    jump: ArrayLike | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-10,
) -> Ranks:
    """What `pagerank` answers for all edges of all blocks, each a pair of arrays (sources, targets).

    `blocks` is iterated once for each product, so a generator will not do: a list, or an object that begins anew.
    """
    if isinstance(blocks, Iterator):
        raise ValueError("blocks are read again and again: give a list or an object that begins anew, not an iterator")
    strength = np.zeros(n)
    for block in blocks:
        np.add.at(strength, checked_edges(*block, n)[0], 1.0)

    def spread(held: Numbers) -> Numbers:
        passed = np.zeros_like(held)
        for sources, targets in blocks:
            np.add.at(passed, np.asarray(targets, np.intp), held[np.asarray(sources, np.intp)])
        return passed

    return pagerank_of_products(spread, strength, damping, jump=jump, start=start, tolerance=tolerance)

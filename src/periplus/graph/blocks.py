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

from .edges import Ranks, checked_damping, checked_edges, distribution
from .krylov import Solve
from .refine import refine, warm_start

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
    checked_damping(damping, tolerance)
    if isinstance(blocks, Iterator):
        raise ValueError("blocks are read again and again: give a list or an object that begins anew, not an iterator")
    leap = distribution(jump, n, "jump")
    if not n or not damping:
        return leap
    strength = np.zeros(n)
    for block in blocks:
        np.add.at(strength, checked_edges(*block, n)[0], 1.0)
    live = strength > 0
    scale = np.divide(damping, strength, out=np.zeros(n), where=live)

    def spread(x: Ranks) -> Ranks:
        passed, scaled = np.zeros(n), x * scale
        for sources, targets in blocks:
            np.add.at(passed, np.asarray(targets, np.intp), scaled[np.asarray(sources, np.intp)])
        return passed

    def push(x: Ranks) -> Ranks:
        return spread(x) * live

    def correct(residual: Ranks, reduction: float, solve: Solve) -> Ranks:
        return solve(push, residual, reduction, damping)

    guess = None if start is None else warm_start(start, leap, np.flatnonzero(live), damping) * live
    guess, _ = refine(push, correct, leap * live, guess, damping, tolerance)
    ranks = leap + spread(guess)
    ranks /= ranks.sum()
    return ranks

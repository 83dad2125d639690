"""PageRank when only products with the links can be had: of edges on disk, or dealt out among many machines.

The caller gives `spread`, which sums what pages hold over the links that lead to each page, and the number of links
of every page. Memory here is about ten vectors of one number a page; `spread` is asked for about 60 products. Where the
edges are, and what multiplies, does not matter here.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from .edges import Ranks, checked_damping, checked_weights, distribution
from .krylov import MOST_DAMPING_IN_SINGLE, Numbers, Solve, solved_in_single
from .refine import refine, warm_start


class Spread(Protocol):
    """What reaches each page, if every link to it brings what its other end holds."""

    def __call__(self, held: Numbers) -> Numbers:
        """A new array, in the precision of the one given."""
        ...


def pagerank_of_products(
    spread: Spread,
    strength: ArrayLike,
    damping: float = 0.85,
    *,
    jump: ArrayLike | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-10,
    single: bool = False,
) -> Ranks:
    """What `pagerank` answers, where `strength` has the number of links of each page, one that is given twice twice.

    With `single` most products are in single precision, which halves what they read and send, for one or two rounds
    more: the error is measured in double precision all the same.
    """
    checked_damping(damping, tolerance)
    links = checked_weights(strength, np.size(strength), "strength")
    leap = distribution(jump, len(links), "jump")
    if not len(links) or not damping:
        return leap
    live = links > 0
    dead = np.flatnonzero(~live)
    scale = np.divide(damping, links, out=np.zeros(len(links)), where=live)

    def push(x: Numbers) -> Numbers:
        passed = spread((x * scale).astype(x.dtype, copy=False))
        passed[dead] = 0
        return passed

    def correct(residual: Ranks, reduction: float, solve: Solve) -> Ranks:
        if single and damping <= MOST_DAMPING_IN_SINGLE:
            return solved_in_single(push, residual, reduction, damping, solve)
        return solve(push, residual, reduction, damping)

    guess = None if start is None else warm_start(start, leap, np.flatnonzero(live), damping) * live
    guess, _ = refine(push, correct, leap * live, guess, damping, tolerance)
    ranks = leap + spread(guess * scale)
    ranks /= ranks.sum()
    return ranks

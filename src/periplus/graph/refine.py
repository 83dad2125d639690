"""Corrections until the error is provably small: the outer loop that PageRank in memory and on disk share.

PageRank x with jump v and d = damping is y / sum(y), where y = v + dPy and the columns of P that belong to pages
without links are zero: when dangling mass jumps like everyone else, its only effect is the scale (Del Corso, Gulli &
Romani, Internet Mathematics 2(3), 2005). For any guess x the residual r = (v + dPx) - x bounds the error of the guess,
|y - x| <= |r| / (1 - d) in the sum norm, because dP shrinks every vector by d. So the answer's error is known, not
hoped for, whatever produced the guess: a solver in single precision, or the ranks of yesterday's graph.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .edges import Ranks, checked_weights
from .krylov import Solve, absolute_sum, bicgstab, power_series

_LEAST_GAIN = 0.5
"""A round of the quick way that gains less than this was no gain: from then on the sure way."""


def refine(
    push: Callable[[Ranks], Ranks],
    correct: Callable[[Ranks, float, Solve], Ranks],
    jump: Ranks,
    start: Ranks | None,
    damping: float,
    tolerance: float,
) -> Ranks:
    """A guess whose image jump + dPx, divided by its sum, is off by at most `tolerance` in all.

    `push(x)` is dPx in double precision; `correct(r, reduction, solve)` is a cheap answer to (I - dP)e = r.
    """
    guess = np.zeros_like(jump) if start is None else start
    residual = jump if start is None else push(start) + jump - start
    error = _error(residual, guess, damping)
    solve: Solve = bicgstab
    for _ in range(_most_rounds(error, damping, tolerance)):
        if error <= tolerance:
            break
        candidate = guess + correct(residual, min(0.5, 0.5 * tolerance / error), solve)
        remaining = push(candidate) + jump - candidate
        left = _error(remaining, candidate, damping)
        if left > _LEAST_GAIN * error:
            solve = power_series
        if left < error:
            guess, residual, error = candidate, remaining, left
    return guess


def warm_start(start: ArrayLike, jump: Ranks, live: NDArray[np.integer], damping: float) -> Ranks:
    """Ranks of an earlier, perhaps smaller graph as a guess for this one: new pages get what a jump gives them."""
    n, known = len(jump), np.asarray(start, dtype=np.float64)
    if known.ndim != 1 or len(known) > n:
        raise ValueError(f"start must be at most {n} numbers, but has the shape {known.shape}")
    known = checked_weights(known, len(known), "start")
    guess = jump * (1 - damping)
    guess[: len(known)] = known
    total = guess.sum()
    if total == 0:
        return jump.copy()
    guess /= total
    scaled: Ranks = guess / (1 - damping * guess[live].sum())
    return scaled


def _error(residual: Ranks, guess: Ranks, damping: float) -> float:
    """A bound on the absolute error of image / sum(image), where image = jump + dPx is one product past the guess x.

    |y - image| <= d |r| / (1 - d); scaling to the sum 1 can double that; and the jump's sum being 1, that of the image
    is 1 + d sum(x), where x is what pages with links have.
    """
    total = 1 + damping * max(0.0, float(guess.sum()))
    return 2 * damping / (1 - damping) * absolute_sum(residual) / total


def _most_rounds(error: float, damping: float, tolerance: float) -> int:
    """Every round of the sure way at least halves the error, up to what rounding leaves."""
    return 8 + ceil(log(max(error / tolerance, 1)) / log(2)) if damping else 0

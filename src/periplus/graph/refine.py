"""Corrections until the error is provably small: the outer loop that PageRank in memory and on disk share.

PageRank x with jump v and d = damping is y / sum(y), where y = v + dPy and the columns of P that belong to pages
without links are zero: when dangling mass jumps like everyone else, its only effect is the scale (Del Corso, Gulli &
Romani, Internet Mathematics 2(3), 2005). For any guess x the residual r = (v + dPx) - x bounds the error of the guess,
|y - x| <= |r| / (1 - d) in the sum norm, because dP shrinks every vector by d. So the answer's error is known, not
hoped for, whatever produced the guess: a solver in single precision, or the ranks of yesterday's graph.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .edges import Ranks, checked_weights
from .krylov import Solve, absolute_sum, bicgstab, power_series

_LEAST_GAIN = 0.5
"""A round of the quick way that leaves more of the error than this has failed: from then on the sure way."""


def refine(
    push: Callable[[Ranks], Ranks],
    correct: Callable[[Ranks, float, Solve], Ranks],
    jump: Ranks,
    start: Ranks | None,
    damping: float,
    tolerance: float,
) -> tuple[Ranks, Ranks]:
    """A guess x and its image jump + dPx; the image, divided by its sum, is off by at most `tolerance` in all.

    `push(x)` is dPx in double precision; `correct(r, reduction, solve)` is a cheap answer to (I - dP)e = r.
    """
    guess = np.zeros_like(jump) if start is None else start
    residual = jump if start is None else push(start) + jump - start
    error = _error(residual, guess, damping)
    solve: Solve = bicgstab
    while error > tolerance:
        candidate = guess + correct(residual, min(_LEAST_GAIN / 2, tolerance / error / 2), solve)
        remaining = push(candidate) + jump - candidate
        before, left = error, _error(remaining, candidate, damping)
        if left < error:
            guess, residual, error = candidate, remaining, left
        if left > _LEAST_GAIN * before:
            if solve is power_series:
                break  # only rounding is left: the tolerance asks for more than double precision has
            solve = power_series
    return guess, guess + residual


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

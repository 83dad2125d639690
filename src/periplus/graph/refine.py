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
    step: Callable[[Ranks], Ranks],
    correct: Callable[[Ranks, float, Solve], Ranks],
    jump: Ranks,
    start: Ranks | None,
    live: NDArray[np.bool_],
    damping: float,
    tolerance: float,
) -> Ranks:
    """Ranks that sum to 1 with a total absolute error of at most `tolerance`.

    `step(x)` is jump + dPx in double precision; `correct(r, reduction, solve)` is a cheap answer to (I - dP)e = r.
    """
    guess = np.zeros_like(jump) if start is None else start
    image = jump.copy() if start is None else step(start)
    error, solve = _error(image, guess, live, damping), bicgstab
    for _ in range(_most_rounds(error, damping, tolerance)):
        if error <= tolerance:
            break
        candidate = guess + correct(image - guess, min(0.5, 0.5 * tolerance / error), solve)
        better = step(candidate)
        left = _error(better, candidate, live, damping)
        if left > _LEAST_GAIN * error:
            solve = power_series
        if left < error:
            guess, image, error = candidate, better, left
    image /= image.sum()
    return image


def warm_start(start: ArrayLike, jump: Ranks, live: NDArray[np.bool_], damping: float) -> Ranks:
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


def _error(image: Ranks, guess: Ranks, live: NDArray[np.bool_], damping: float) -> float:
    """A bound on the absolute error of image / sum(image). What dangling pages were thought to have passes nothing on.

    The image is one product closer than the guess (factor d), and scaling to the sum 1 can double the error.
    """
    residual = absolute_sum((image - guess)[live])
    return 2 * damping / (1 - damping) * residual / float(image.sum())


def _most_rounds(error: float, damping: float, tolerance: float) -> int:
    """Every round of the sure way at least halves the error, up to what rounding leaves."""
    return 8 + ceil(log(max(error / tolerance, 1)) / log(2)) if damping else 0

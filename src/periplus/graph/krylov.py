"""Two ways to solve (I - dP)x = b when only products with the matrix can be had: one quick, one sure.

BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992) needs 50 to 60 products on web graphs where power
iteration needs 130 to 150 (Gleich, Zhukov & Berkhin 2004 found the same), but promises nothing. The power series
b + dPb + (dP)^2 b + ... gains a factor d a product, always. Both work in the precision of `b`, and both return what
they have when they may go no further: the caller measures, in double precision, how good that is.

The caller passes `spread`, which sums for each page the values of the pages that link to it, and the number of links of
every page. Memory here is about ten vectors of one number a page; `spread` is called for about 60 products. Where the
edges are stored, and what multiplies, does not matter here.

PageRank x with jump v and d = damping is y / sum(y), where y = v + dPy and the columns of P that belong to pages
without links are zero: when dangling mass jumps like everyone else, its only effect is the scale (Del Corso, Gulli &
Romani, Internet Mathematics 2(3), 2005). For any guess x the residual r = (v + dPx) - x bounds the error of the guess,
|y - x| <= |r| / (1 - d) in the sum norm, because dP shrinks every vector by d. So the answer's error is known, not
hoped for, whatever produced the guess: a solver in single precision, or the ranks of yesterday's graph.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite, log
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .edges import Ranks, checked_damping, checked_weights, distribution


class Spread(Protocol):
    """Sums for each page the values of the pages that link to it, once for each link."""

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
    """The result of `pagerank`, where `strength` has the number of links of each page, repeated links included.

    With `single` most products are in single precision, which halves what they read and send, for one or two rounds
    more: the error is still measured in double precision.
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


Numbers = TypeVar("Numbers", NDArray[np.float32], NDArray[np.float64])

_LOST = 1e3
"""Factor by which a residual may grow before the quick method is given up: it does not recover from more."""

_SINGLE = 2e-5
"""The smallest residual that one round in single precision can reach before rounding errors dominate."""
MOST_DAMPING_IN_SINGLE = 0.999
"""Closer to 1 rounding grows by 1 / (1 - damping) to what single precision cannot hold."""


class Solve(Protocol):
    """A way to solve: x with |b - (I - dP)x| at most about reduction * |b|, in the sum norm."""

    def __call__(self, push: Callable[[Numbers], Numbers], b: Numbers, reduction: float, damping: float) -> Numbers:
        """`push` is x -> dPx, a new array in the precision of `b`."""
        ...


def absolute_sum(x: Numbers) -> float:
    """The sum norm: the one in which dP shrinks every vector by d, so that residuals bound errors."""
    return float(np.abs(x).sum())


def bicgstab(push: Callable[[Numbers], Numbers], b: Numbers, reduction: float, damping: float) -> Numbers:
    """The fast method. Stops early where it breaks down (a division by zero), with the result so far.

    The usual shadow is `b` itself, which is uniform at first, and uniform is a left eigenvector of dP where all pages
    have links: the method would break down at once. So `b` is made uneven by numbers that are the same on every call.
    """
    shadow = b * np.random.default_rng(0).random(len(b), dtype=b.dtype.type)
    x, residual, direction, scratch = np.zeros_like(b), b.copy(), b.copy(), np.empty_like(b)
    enough, lost = reduction * absolute_sum(b), _LOST * absolute_sum(b)
    rho = _dot(shadow, residual)
    for _ in range(_most_products(reduction, damping) // 2):
        image = push(direction)
        np.subtract(direction, image, out=image)
        alpha = _ratio(rho, _dot(shadow, image))
        if alpha is None:
            break
        x += np.multiply(direction, alpha, out=scratch)
        residual -= np.multiply(image, alpha, out=scratch)
        turned = push(residual)
        np.subtract(residual, turned, out=turned)
        omega = _ratio(_dot(turned, residual), _dot(turned, turned))
        if not omega:
            break
        x += np.multiply(residual, omega, out=scratch)
        residual -= np.multiply(turned, omega, out=scratch)
        rho, before = _dot(shadow, residual), rho
        beta = _ratio(rho * alpha, before * omega)
        left = float(np.abs(residual, out=scratch).sum())
        if beta is None or not enough < left < lost:
            break
        image *= omega
        direction -= image
        direction *= beta
        direction += residual
    return x


def power_series(push: Callable[[Numbers], Numbers], b: Numbers, reduction: float, damping: float) -> Numbers:
    """The safe method: as many terms as reduce the residual to `reduction`, whatever the graph."""
    x, term = b.copy(), b
    enough = reduction * absolute_sum(b)
    for _ in range(_most_products(reduction, damping)):
        term = push(term)
        x += term
        if absolute_sum(term) <= enough:
            break
    return x


def solved_in_single(
    push: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    b: NDArray[np.float64],
    reduction: float,
    damping: float,
    solve: Solve,
) -> NDArray[np.float64]:
    """The same in single precision, as far as that can go. Scaled before it is rounded: tiny squares would vanish."""
    unit = absolute_sum(b) / max(1, len(b)) or 1.0
    wanted = (b / unit).astype(np.float32)
    return solve(push, wanted, max(reduction, _SINGLE), damping).astype(np.float64) * unit


def _most_products(reduction: float, damping: float) -> int:
    """The steps of the power series at worst; the fast method must be faster than that."""
    return 2 + ceil(log(reduction) / log(damping)) if 0 < damping < 1 and reduction < 1 else 2


def _dot(a: Numbers, b: Numbers) -> float:
    """On one core: the library behind `@` wakes its threads for a vector, and on a busy machine waits for them."""
    return float(np.einsum("i,i->", a, b))


def _ratio(above: float, below: float) -> float | None:
    ratio = above / below if below else float("nan")
    return ratio if isfinite(ratio) else None

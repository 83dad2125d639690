"""Two ways to solve (I - dP)x = b when only products with the matrix can be had: one quick, one sure.

BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992) needs 50 to 60 products on web graphs where power
iteration needs 130 to 150 (Gleich, Zhukov & Berkhin 2004 found the same), but promises nothing. The power series
b + dPb + (dP)^2 b + ... gains a factor d a product, always. Both work in the precision of `b`, and both return what
they have when they may go no further: the caller measures, in double precision, how good that is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite, log
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

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

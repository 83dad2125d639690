"""The error bound holds whatever the solver does: quick, slow or wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.each_case import each_case
from tests.reference.edge_blocks import pagerank_of_blocks

from periplus.graph import Ranks, pagerank
from periplus.graph.krylov import Solve, bicgstab, power_series, refine

N = 50
JUMP = np.full(N, 1 / N)


def web() -> Ranks:
    """The probabilities of a small web: column i says where page i leads."""
    chance = np.random.default_rng(2)
    passed = (chance.random((N, N)) < 0.1) + np.eye(N)
    return np.asarray(passed / passed.sum(axis=0))


def residual(passed: Ranks, x: Ranks, jump: Ranks = JUMP) -> float:
    return float(np.abs(jump - (x - 0.85 * (passed @ x))).sum())


@each_case("reduction", [0.5, 1e-3, 1e-9])
@each_case("solve", [bicgstab, power_series])
def test_the_residual_is_reduced(solve: Solve, reduction: float) -> None:
    """As far as was asked, in double precision; all pages have links here, and the jump is uniform."""
    passed = web()
    assert residual(passed, solve(lambda x: 0.85 * (passed @ x), JUMP, reduction, 0.85)) <= 1.1 * reduction


@pytest.mark.parametrize("solve", [bicgstab, power_series])
def test_single_precision_stays_single(solve: Solve) -> None:
    """Nothing on the way widens the numbers, and three digits are had."""
    passed = web().astype(np.float32)
    x = solve(lambda x: np.float32(0.85) * (passed @ x), JUMP.astype(np.float32), 1e-3, 0.85)
    assert x.dtype == np.float32
    assert residual(web(), x.astype(np.float64)) <= 1.1e-3


def test_the_quick_way_can_fail_and_the_answer_not() -> None:
    """BiCGSTAB sees nothing of a cycle that is entered at one page; PageRank does."""
    cycle, entry, pages = np.roll(np.eye(N), 1, axis=0), np.eye(1, N)[0], np.arange(N)
    assert residual(cycle, bicgstab(lambda x: 0.85 * (cycle @ x), entry, 1e-9, 0.85), entry) > 0.1
    exact = 0.85**pages / (0.85**pages).sum()
    edges = pages, (pages + 1) % N
    assert np.abs(pagerank(*edges, N, jump=entry) - exact).sum() < 1e-10
    assert np.abs(pagerank_of_blocks([edges], N, jump=entry) - exact).sum() < 1e-10


@pytest.mark.parametrize("solve", [bicgstab, power_series])
def test_nothing_to_solve(solve: Solve) -> None:
    """A residual of zeros, or none at all, is no division by zero."""
    assert not solve(lambda x: 0.85 * x, np.zeros(N), 1e-3, 0.85).any()
    assert solve(lambda x: x, np.zeros(0), 1e-3, 0.85).shape == (0,)


@each_case("wrong", [0.0, 1.0, -1e6])
def test_a_solver_that_fails_is_left(wrong: float) -> None:
    """Quick answers that are not answers cost time, not truth: the sure way takes over."""
    used: list[Solve] = []
    passed = web()

    def push(x: Ranks) -> Ranks:
        return np.asarray(0.85 * (passed @ x))

    def correct(residual: Ranks, reduction: float, solve: Solve) -> Ranks:
        used.append(solve)
        return np.full(N, wrong) if solve is bicgstab else solve(push, residual, reduction, 0.85)

    _, image = refine(push, correct, JUMP, None, 0.85, 1e-12)
    exact = np.linalg.solve(np.eye(N) - 0.85 * passed, 0.15 * JUMP)
    assert np.abs(image / image.sum() - exact).sum() <= 1e-12
    assert used[0] is bicgstab
    assert used[-1] is power_series


def test_more_than_double_precision_has_is_not_waited_for() -> None:
    """A tolerance below rounding ends with the best there is."""
    chance = np.random.default_rng(1)
    sources, targets = chance.integers(0, 500, (2, 2000))
    assert np.abs(pagerank(sources, targets, 500, tolerance=1e-30) - pagerank(sources, targets, 500)).sum() < 1e-10

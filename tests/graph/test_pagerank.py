"""PageRank: its definition, its edges of every kind, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from tests.each_case import each_case
from tests.reference.edge_blocks import pagerank_of_blocks

from periplus.graph import Ranks, pagerank

STAR = ([1, 2, 3, 0], [0, 0, 0, 1], 4)


def dense(
    sources: ArrayLike,
    targets: ArrayLike,
    n: int,
    damping: float = 0.85,
    jump: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Ranks:
    """The definition, solved as a dense system."""
    heads, tails = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    leap = np.full(n, 1 / n) if jump is None else np.asarray(jump) / np.sum(jump)
    passed = np.zeros((n, n))
    np.add.at(passed, (tails, heads), np.ones(len(heads)) if weights is None else np.asarray(weights, np.float64))
    totals = passed.sum(axis=0)
    passed = np.where(totals > 0, passed / np.where(totals > 0, totals, 1), leap[:, None])
    return np.linalg.solve(np.eye(n) - damping * passed, (1 - damping) * leap)


def random_graph(seed: int, n: int, edges: int) -> tuple[np.ndarray, np.ndarray, int]:
    chance = np.random.default_rng(seed)
    sources = chance.integers(0, n, edges)
    targets = (n * chance.random(edges) ** 3).astype(np.int64)
    return sources, targets, n


def test_two_pages_that_link_to_each_other() -> None:
    """Alike pages have like ranks."""
    assert pagerank([0, 1], [1, 0], 2) == pytest.approx([0.5, 0.5], abs=1e-15)


def test_dangling_mass_is_spread_over_all() -> None:
    """0 -> 1, and 1 has no links: x0 = (1-d)/2 + d x1/2, by hand."""
    first = (0.15 / 2 + 0.85 / 2) / (1 + 0.85 / 2)
    assert pagerank([0], [1], 2) == pytest.approx([first, 1 - first], abs=1e-12)


def test_an_edge_given_twice_counts_twice() -> None:
    """0 -> 1, 1, 2 passes two thirds to 1; so do weights 2 and 1."""
    twice = pagerank([0, 0, 0, 1, 2], [1, 1, 2, 0, 0], 3)
    assert twice == pytest.approx(dense([0, 0, 0, 1, 2], [1, 1, 2, 0, 0], 3), abs=1e-12)
    assert twice == pytest.approx(pagerank([0, 0, 1, 2], [1, 2, 0, 0], 3, weights=[2, 1, 5, 7]), abs=1e-12)


def test_no_pages_no_ranks() -> None:
    """The empty graph has the empty answer."""
    assert pagerank([], [], 0).shape == (0,)
    assert pagerank_of_blocks([], 0).shape == (0,)


def test_no_links_uniform_ranks() -> None:
    """All pages dangling: everyone jumps."""
    assert pagerank([], [], 4) == pytest.approx([0.25] * 4)
    assert pagerank_of_blocks([], 4) == pytest.approx([0.25] * 4)
    assert pagerank([0], [1], 2, weights=[0.0]) == pytest.approx([0.5, 0.5])


def test_self_links_keep_rank() -> None:
    """A page that links to itself alone keeps what it gets."""
    edges = [0, 1, 2], [0, 0, 1]
    assert pagerank(*edges, 3) == pytest.approx(dense(*edges, 3), abs=1e-12)


def test_without_damping_only_the_jump_counts() -> None:
    """Damping 0 is the jump itself."""
    assert pagerank([0, 1], [1, 0], 2, damping=0, jump=[3, 1]) == pytest.approx([0.75, 0.25])


@each_case("damping", [0.1, 0.5, 0.85, 0.99, 0.9999, 0.99999])
@each_case("seed", range(4))
def test_equal_to_the_dense_solution(seed: int, damping: float) -> None:
    """Random graphs with many dangling pages and hubs, at any damping."""
    sources, targets, n = random_graph(seed, 300, 600)
    assert np.abs(pagerank(sources, targets, n, damping) - dense(sources, targets, n, damping)).max() < 1e-10


@each_case("n", [2, 3, 50, 5000])
def test_cycles_and_chains(n: int) -> None:
    """The slowest graphs for power iteration: a cycle is uniform; a chain adds up its past."""
    pages = np.arange(n)
    assert np.abs(pagerank(pages, (pages + 1) % n, n) - 1 / n).max() < 1e-10
    chain = np.cumsum(0.85**pages)
    assert np.abs(pagerank(pages[:-1], pages[1:], n) - chain / chain.sum()).max() < 1e-10


def test_many_sites_without_outlinks() -> None:
    """Closed groups converge no faster than d; their answer is as exact as any."""
    pages = np.arange(3000)
    sources, targets = np.concatenate([pages, pages]), np.concatenate([pages ^ 1, pages - pages % 30])
    small = np.arange(30)
    group = dense(np.concatenate([small, small]), np.concatenate([small ^ 1, np.zeros(30, int)]), 30) / 100
    assert np.abs(pagerank(sources, targets, 3000) - np.tile(group, 100)).max() < 1e-12


def test_the_jump_personalises() -> None:
    """Ranks from one page's point of view; what it cannot reach has none."""
    sources, targets = [0, 1, 2, 3], [1, 0, 0, 2]
    ranks = pagerank(sources, targets, 4, jump=[1, 0, 0, 0])
    assert ranks == pytest.approx(dense(sources, targets, 4, jump=[1, 0, 0, 0]), abs=1e-12)
    assert ranks[2:].tolist() == [0, 0]


@each_case("huge", [1e-300, 1.0, 1e300])
def test_weights_of_any_size(huge: float) -> None:
    """Only proportions count, however large or small the numbers."""
    sources, targets, n = random_graph(5, 100, 400)
    weights = np.random.default_rng(6).random(400)
    expected = dense(sources, targets, n, weights=weights)
    assert np.abs(pagerank(sources, targets, n, weights=weights * huge) - expected).max() < 1e-10


@each_case("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_any_whole_numbers(kind: type) -> None:
    """Ids of any width, and slices of other arrays."""
    ends: np.ndarray = np.array([STAR[0], STAR[1]], dtype=kind).T
    assert pagerank(ends[:, 0], ends[:, 1], 4) == pytest.approx(dense(*STAR), abs=1e-12)


@each_case("start", [[0.7, 0.1, 0.1, 0.1], [0.5, 0.5], [], [0, 0, 0, 0], [1e9, 0, 0, 0]])
def test_start_changes_nothing_but_time(start: list[float]) -> None:
    """Whatever the first guess, also one for fewer pages, the answer is the same."""
    assert pagerank(*STAR, start=start) == pytest.approx(dense(*STAR), abs=1e-11)
    assert pagerank_of_blocks([STAR[:2]], 4, start=start) == pytest.approx(dense(*STAR), abs=1e-11)


def test_arguments_are_left_alone() -> None:
    """No array of the caller is written to."""
    sources, targets, n = random_graph(1, 50, 200)
    jump, start, weights = np.ones(n), np.full(n, 1 / n), np.ones(200)
    arrays = (sources, targets, jump, start, weights)
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    pagerank(sources, targets, n, jump=jump, start=start, weights=weights)
    pagerank_of_blocks([(sources, targets)], n, jump=jump, start=start)
    assert all((array == copy).all() for array, copy in zip(arrays, before, strict=True))


class Counted:
    """Blocks that count how often they are read."""

    def __init__(self, sources: np.ndarray, targets: np.ndarray) -> None:
        self.edges, self.readings = (sources, targets), 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        self.readings += 1
        half = len(self.edges[0]) // 2
        yield tuple(ends[:half] for ends in self.edges)
        yield tuple(ends[half:] for ends in self.edges)


def test_a_warm_start_reads_less() -> None:
    """Ranks of the graph before its last two links make the next answer cheaper."""
    sources, targets, n = random_graph(3, 4000, 20000)
    cold, warm = Counted(sources, targets), Counted(sources, targets)
    known = pagerank(sources[:-2], targets[:-2], n)
    expected = pagerank_of_blocks(cold, n)
    assert np.abs(pagerank_of_blocks(warm, n, start=known) - expected).sum() < 2e-10
    assert warm.readings < 0.8 * cold.readings


def test_a_loose_tolerance_is_kept_and_cheap() -> None:
    """The error stays below what was asked, for fewer readings."""
    sources, targets, n = random_graph(4, 4000, 20000)
    exact = pagerank(sources, targets, n, tolerance=1e-13)
    loose, tight = Counted(sources, targets), Counted(sources, targets)
    assert np.abs(pagerank_of_blocks(loose, n, tolerance=1e-3) - exact).sum() < 1e-3
    assert np.abs(pagerank_of_blocks(tight, n) - exact).sum() < 1e-10
    assert loose.readings < tight.readings


@each_case(
    ("arguments", "text"),
    [
        (([0], [3], 3), "targets hold the page 3"),
        (([-1], [0], 3), "sources hold the page -1"),
        (([0, 1], [0], 3), "2 sources, 1 targets"),
        (([0.5], [0], 3), "whole numbers"),
        (([[0]], [0], 3), "one dimension"),
        (([0], [0], -1), "got -1 pages"),
        (([0], [0], 0), "page 0"),
        (([0], [0], 1, 1.0), "damping"),
        (([0], [0], 1, -0.1), "damping"),
        (([0], [0], 1, float("nan")), "damping"),
    ],
)
def test_what_is_not_a_graph_is_refused(arguments: tuple[object, ...], text: str) -> None:
    """The message says which argument, and what is wrong with it."""
    with pytest.raises(ValueError, match=text):
        pagerank(*arguments)  # type: ignore[arg-type]


@each_case(
    ("named", "text"),
    [
        ({"jump": [1, 2]}, "jump must be 3 numbers"),
        ({"jump": [0, 0, 0]}, "all zeros"),
        ({"jump": [1, -1, 1]}, "not negative"),
        ({"jump": [1, float("nan"), 1]}, "finite"),
        ({"weights": [1]}, "weights must be 2 numbers"),
        ({"weights": [1, float("inf")]}, "finite"),
        ({"start": [1, 1, 1, 1]}, "start"),
        ({"tolerance": 0}, "tolerance"),
    ],
)
def test_wrong_vectors_are_refused(named: dict[str, object], text: str) -> None:
    """Jumps, weights and starts have a length and a sign."""
    with pytest.raises(ValueError, match=text):
        pagerank([0, 1], [1, 2], 3, **named)  # type: ignore[arg-type]

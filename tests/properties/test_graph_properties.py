"""PageRank on graphs of every shape: what must hold whatever the links."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples
from tests.reference.edge_blocks import pagerank_of_blocks

from periplus.graph import depths, pagerank

Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    n = draw(st.integers(1, 25))
    page = st.integers(0, n - 1)
    edges = np.array(draw(st.lists(st.tuples(page, page), max_size=80)), dtype=np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1], n


dampings = st.sampled_from([0.0, 0.3, 0.85, 0.97])


def by_definition(sources: np.ndarray, targets: np.ndarray, n: int, damping: float, leap: np.ndarray) -> np.ndarray:
    passed = np.zeros((n, n))
    np.add.at(passed, (targets, sources), 1.0)
    totals = passed.sum(axis=0)
    passed = np.where(totals > 0, passed / np.maximum(totals, 1), leap[:, None])
    solved: np.ndarray = np.linalg.solve(np.eye(n) - damping * passed, (1 - damping) * leap)
    return solved


@given(graphs(), dampings)
def test_a_distribution(graph: tuple[np.ndarray, np.ndarray, int], damping: float) -> None:
    """Ranks sum to 1, and none is below what a jump alone gives."""
    ranks = pagerank(*graph, damping)
    assert abs(ranks.sum() - 1) < 1e-12
    assert ranks.min() >= (1 - damping) / graph[2] - 1e-10


@given(graphs(), dampings, st.randoms(use_true_random=False))
def test_the_definition(graph: tuple[np.ndarray, np.ndarray, int], damping: float, chance: object) -> None:
    """Equal to the solution of the dense system, for any jump."""
    sources, targets, n = graph
    leap = np.array([chance.random() + 0.01 for _ in range(n)])  # type: ignore[attr-defined]
    leap /= leap.sum()
    expected = by_definition(sources, targets, n, damping, leap)
    assert np.abs(pagerank(sources, targets, n, damping, jump=leap) - expected).sum() < 1e-10


@given(graphs(), st.randoms(use_true_random=False))
def test_order_of_edges_is_no_matter(graph: tuple[np.ndarray, np.ndarray, int], chance: object) -> None:
    """Edges are a bag."""
    sources, targets, n = graph
    order = list(range(len(sources)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    assert np.abs(pagerank(sources, targets, n) - pagerank(sources[order], targets[order], n)).sum() < 2e-10


@given(graphs(), st.integers(0, 1000))
def test_numbers_of_pages_are_no_matter(graph: tuple[np.ndarray, np.ndarray, int], seed: int) -> None:
    """Renumbered pages have the ranks they had."""
    sources, targets, n = graph
    name = np.random.default_rng(seed).permutation(n)
    assert np.abs(pagerank(name[sources], name[targets], n)[name] - pagerank(sources, targets, n)).sum() < 2e-10


@given(graphs(), dampings, st.integers(1, 30))
def test_blocks_are_no_matter(graph: tuple[np.ndarray, np.ndarray, int], damping: float, size: int) -> None:
    """In memory or block by block: the same ranks."""
    sources, targets, n = graph
    blocks = [(sources[at : at + size], targets[at : at + size]) for at in range(0, len(sources), size)]
    assert np.abs(pagerank_of_blocks(blocks, n, damping) - pagerank(sources, targets, n, damping)).sum() < 2e-10


@given(graphs(), st.lists(st.floats(0, 1e6), max_size=25))
def test_the_start_is_no_matter(graph: tuple[np.ndarray, np.ndarray, int], start: list[float]) -> None:
    """Any first guess, for all pages or some, ends at the same ranks."""
    known = start[: graph[2]]
    assert np.abs(pagerank(*graph, start=known) - pagerank(*graph)).sum() < 2e-10


@given(graphs())
def test_equal_weights_are_none(graph: tuple[np.ndarray, np.ndarray, int]) -> None:
    """Weights that are all alike change nothing."""
    assert np.abs(pagerank(*graph, weights=np.full(len(graph[0]), 7.0)) - pagerank(*graph)).sum() < 2e-10


@settings(max_examples=examples(15))
@given(graphs(), st.data())
def test_a_link_is_one_click(graph: tuple[np.ndarray, np.ndarray, int], data: st.DataObject) -> None:
    """No link skips a depth, and every page at depth k > 0 has a link from depth k - 1."""
    sources, targets, n = graph
    depth = depths(sources, targets, n, data.draw(st.lists(st.integers(0, n - 1), max_size=3)))
    reached = depth[sources] >= 0
    assert (depth[targets][reached] >= 0).all()
    assert (depth[targets][reached] <= depth[sources][reached] + 1).all()
    for page in np.flatnonzero(depth > 0):
        assert (depth[sources[targets == page]] == depth[page] - 1).any()

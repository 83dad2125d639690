"""Clicks from the seeds: breadth-first, from many seeds at once, through any depth."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from tests.each_case import each_case

from periplus.graph import depths


def one_by_one(sources: np.ndarray, targets: np.ndarray, n: int, seeds: list[int]) -> list[int]:
    links: list[list[int]] = [[] for _ in range(n)]
    for source, target in zip(sources, targets, strict=True):
        links[source].append(target)
    depth = [-1] * n
    queue = deque(dict.fromkeys(seeds))
    for seed in seeds:
        depth[seed] = 0
    while queue:
        page = queue.popleft()
        for target in links[page]:
            if depth[target] < 0:
                depth[target] = depth[page] + 1
                queue.append(target)
    return depth


@each_case("seed", range(20))
def test_equal_to_a_queue(seed: int) -> None:
    """The depths of the textbook's search, repeated edges, self-links and unreached pages included."""
    chance = np.random.default_rng(seed)
    n = int(chance.integers(1, 60))
    sources, targets = chance.integers(0, n, (2, int(chance.integers(0, 100))))
    seeds = chance.integers(0, n, 3).tolist()
    assert depths(sources, targets, n, seeds).tolist() == one_by_one(sources, targets, n, seeds)


def test_a_long_chain() -> None:
    """A trap of 200,000 pages in a row is counted in a few rounds."""
    pages = np.arange(200_000)
    assert (depths(pages[:-1], pages[1:], len(pages), [0]) == pages).all()


def test_no_seeds_nothing_reached() -> None:
    """-1 means that no path leads there."""
    assert depths([0], [1], 2, []).tolist() == [-1, -1]
    assert depths([], [], 0, []).shape == (0,)
    assert depths([], [], 2, [1, 1]).tolist() == [-1, 0]


def test_unknown_seeds_are_refused() -> None:
    """A seed is a page."""
    with pytest.raises(ValueError, match="seeds hold the page 2"):
        depths([0], [1], 2, [2])

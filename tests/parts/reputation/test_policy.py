"""Scores of domains, and their budgets."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.graph import pagerank, trust, unique_edges
from periplus.parts.reputation.policy import budgets_of, networks, of_listed, star

EDGES = [(0, 1), (1, 0), (0, 2), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 4), (4, 6), (6, 4), (5, 6), (6, 5)]
"""Seven domains: 0 and 1 are seeds; 4, 5 and 6 are a farm that one good domain links to."""
SOURCES, TARGETS = (np.array(ends, np.int64) for ends in zip(*EDGES, strict=True))
SEEDS = np.array([0, 1])


def test_scores_of_seven_domains() -> None:
    """PageRank puts the farm first, trust the seeds; in-degree and anti-trust as computed elsewhere."""
    ranks = pagerank(SOURCES, TARGETS, 7)
    assert ranks == pytest.approx([0.0995, 0.0637, 0.0908, 0.0600, 0.2467, 0.2196, 0.2196], abs=5e-5)
    trusted = trust(SOURCES, TARGETS, 7, SEEDS)
    assert trusted == pytest.approx([0.1971, 0.1588, 0.1513, 0.0643, 0.1729, 0.1278, 0.1278], abs=5e-5)
    against = trust(TARGETS, SOURCES, 7, np.array([5]))
    assert against == pytest.approx([0.1198, 0.0923, 0.0973, 0.0509, 0.1908, 0.2771, 0.1718], abs=5e-5)
    assert star(TARGETS, 7).tolist() == [2, 1, 2, 1, 3, 2, 2]


def test_budgets_of_seven_domains() -> None:
    """Linear between the base and the largest, which the highest score gets."""
    by_trust = budgets_of(trust(SOURCES, TARGETS, 7, SEEDS), 10, 10_000)
    assert by_trust.tolist() == [10000, 8056, 7675, 3267, 8773, 6487, 6487]
    assert budgets_of(star(TARGETS, 7), 10, 10_000).tolist() == [6670, 3340, 6670, 3340, 10000, 6670, 6670]
    assert budgets_of(np.zeros(3), 10, 10_000).tolist() == [10, 10, 10]
    assert trust(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, np.zeros(0, np.int64)).tolist() == []


def test_domains_of_one_network_count_once() -> None:
    """The farm's domains share a network, so they are one supporter."""
    network = np.array([0, 1, 2, 3, 4, 4, 4])
    assert networks(SOURCES, TARGETS, 7, network).tolist() == [2, 1, 2, 1, 2, 1, 1]


def test_edges_are_unique() -> None:
    """A link that many pages have is one edge, and a domain does not link to itself."""
    sources, targets = unique_edges(np.array([2, 0, 2, 1, 2]), np.array([1, 0, 1, 0, 0]), 3)
    assert list(zip(sources.tolist(), targets.tolist(), strict=True)) == [(1, 0), (2, 0), (2, 1)]


def test_listed_domains_share_the_score_of_the_list() -> None:
    """Naming two domains in sitemaps gives each half; a domain with a score of its own keeps it."""
    scores = of_listed(np.array([0.6, 0.0, 0.0, 0.4]), np.array([0, 0, 0, 0]), np.array([1, 2, 1, 3]))
    assert scores.tolist() == pytest.approx([0.6, 0.2, 0.2, 0.4])

"""Scores of domains, their budgets, and the passes in which their pages are fetched."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.each_case import each_case

from periplus.graph import pagerank, trust, unique_edges
from periplus.model import CollectionDamaged
from periplus.parts.reputation.known import KnownReputation, domain_hash
from periplus.parts.reputation.policy import budgets_of, networks, of_listed, star
from periplus.policy.domain_budgets import (
    MAX_CREDIT,
    DiscountCredit,
    host_is_admitted,
    max_active_hosts,
    octave_of,
    pass_of,
)

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


@each_case(
    ("k", "number"), [(1, 0), (10, 0), (11, 1), (30, 1), (31, 2), (70, 2), (71, 3), (150, 3), (151, 4), (10_000, 9)]
)
def test_pass_of_a_page(k: int, number: int) -> None:
    """The check values for a budget of 10, which follow max(0, ceil(log2(k / B + 1)) - 1)."""
    assert pass_of(k, 10) == number == max(0, math.ceil(math.log2(k / 10 + 1)) - 1)


def test_octaves_order_domains_by_use_of_their_budgets() -> None:
    """The first page of a large budget is before that of a small one; an unlimited domain is before all."""
    assert [octave_of(k, 10) for k in (1, 2, 3, 5, 6, 10, 11, 31)] == [-3, -2, -1, -1, 0, 0, 1, 2]
    assert octave_of(1, 10_000) == -13
    assert octave_of(10**9, math.inf) == -20 == octave_of(1, 2.0**30)
    assert pass_of(10**12, math.inf) == 0


def test_infinite_island_is_complete_after_pass_6() -> None:
    """500 pages of a domain with the smallest budget are fetched within seven passes."""
    assert pass_of(500, 10) <= 6


def test_hosts_are_admitted_like_the_harmonic_series() -> None:
    """Of n hosts 64 * (1 + ln(n / 64)) are admitted; one that was refused stays refused, however often it is found."""
    admitted, refused = 0, list[str]()
    for number in range(20_000):
        if host_is_admitted(f"h{number}.farm.test", admitted, 64):
            admitted += 1
        elif len(refused) < 50:
            refused.append(f"h{number}.farm.test")
    assert admitted == pytest.approx(64 * (1 + math.log(20_000 / 64)), rel=0.15)
    assert not any(host_is_admitted(host, admitted, 64) for host in refused)


def test_active_hosts_grow_with_the_root_of_a_budget() -> None:
    assert [max_active_hosts(budget, 10_000) for budget in (10, 100, 10_000, math.inf)] == [16, 40, 400, 400]


def test_known_reputation_is_looked_up_and_stored() -> None:
    """What was written is read back; unknown domains have none; other bytes are refused."""
    names = [f"d{number}.test" for number in range(500)]
    hashes = np.array([domain_hash(name) for name in names], np.uint64)
    known = KnownReputation(hashes, np.arange(500, dtype=np.uint32), np.linspace(0, 1, 500, dtype=np.float32))
    again = KnownReputation.read(known.written())
    assert [again.budget(name) for name in names] == list(range(500))
    assert again.score("d499.test") == 1.0
    assert again.budget("other.test") is None
    with pytest.raises(CollectionDamaged):
        KnownReputation.read(b"something else")


def test_one_request_in_twenty_may_go_to_spam() -> None:
    """19 requests to others earn one; what is not used is kept, but not without end."""
    credit, allowed = DiscountCredit(0.05), []
    for _ in range(20):
        credit.count(is_discounted=False)
        allowed.append(credit.is_enough)
    assert allowed.index(True) in (18, 19)
    credit.count(is_discounted=True)
    assert credit.credit < 1.0
    for _ in range(10_000):
        credit.count(is_discounted=False)
    assert credit.credit == MAX_CREDIT


def test_a_share_of_one_does_not_limit() -> None:
    """All requests may go to spam."""
    credit = DiscountCredit(1.0)
    for _ in range(100):
        credit.count(is_discounted=True)
    assert credit.is_enough

"""OPIC and RankMass on known graphs: the values and guarantees of their papers."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.graph import depths, neighbour_bound, opic, pagerank, rank_mass

SMALL = ([0, 0, 1, 2, 3, 3], [1, 2, 2, 0, 0, 2], 4)


@pytest.fixture(scope="module")
def web() -> tuple[np.ndarray, np.ndarray, int]:
    chance = np.random.default_rng(7)
    return chance.integers(0, 2000, 12000), (2000 * chance.random(12000) ** 3).astype(np.int64), 2000


@pytest.mark.parametrize("visits", [10, 100, 1000, 10000])
def test_opic_converges(visits: int) -> None:
    """Importance tends to (.4, .2, .4, 0), with an error of at most 1 / G."""
    found = opic(*SMALL, visits)
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - [0.4, 0.2, 0.4, 0]).max() <= 10 / visits


def test_opic_keeps_all_cash() -> None:
    """Pages without links give to all: nothing is lost, and nobody has nothing."""
    found = opic([0, 1], [1, 2], 3, 500)
    assert found.sum() == pytest.approx(1)
    assert found.min() > 0.1
    assert opic([0], [1], 2, 0) == pytest.approx([0.5, 0.5])
    assert opic([], [], 0, 5).shape == (0,)


def test_opic_counts_an_edge_given_twice() -> None:
    """As PageRank does: 0 -> 1, 1, 2 pays two thirds to 1."""
    found = opic([0, 0, 0, 1, 2], [1, 1, 2, 0, 0], 3, 3000)
    assert found == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=1e-2)


def test_neighbour_bound() -> None:
    """1 - d^(L+1): the trusted pages alone hold at least 1 - d."""
    assert neighbour_bound(0) == pytest.approx(0.15)
    assert neighbour_bound(13) == pytest.approx(1 - 0.85**14)
    assert neighbour_bound(1, 0.5) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="clicks"):
        neighbour_bound(-1)


@pytest.mark.parametrize("levels", range(5))
def test_neighbours_hold_what_is_promised(web: tuple[np.ndarray, np.ndarray, int], levels: int) -> None:
    """The personalised PageRank within L clicks of a seed is never below the bound."""
    jump = np.zeros(web[2])
    jump[5] = 1
    near = depths(*web, [5])
    mass = pagerank(*web, jump=jump)[(near >= 0) & (near <= levels)].sum()
    assert mass >= neighbour_bound(levels) - 1e-10


@pytest.mark.parametrize("trusted", [None, 5])
def test_rank_mass_is_a_lower_bound(web: tuple[np.ndarray, np.ndarray, int], trusted: int | None) -> None:
    """After each page, what is guaranteed is at most what the pages fetched so far truly hold."""
    jump = None if trusted is None else np.eye(1, web[2], trusted)[0]
    crawl = rank_mass(*web, trusted=jump, epsilon=0.1)
    held = np.cumsum(pagerank(*web, jump=jump)[list(crawl.pages)])
    assert (held >= np.array(crawl.mass) - 1e-10).all()
    assert len(set(crawl.pages)) == len(crawl.pages) == len(crawl.mass)
    assert list(crawl.mass) == sorted(crawl.mass)
    assert crawl.mass[-1] >= 0.9
    assert trusted is None or crawl.pages[0] == trusted


def test_rank_mass_needs_fewer_pages_than_neighbours(web: tuple[np.ndarray, np.ndarray, int]) -> None:
    """What the greedy order is for: the same guarantee after a part of the pages."""
    jump = np.eye(1, web[2], 5)[0]
    crawl = rank_mass(*web, trusted=jump, epsilon=0.1)
    levels = next(levels for levels in range(100) if neighbour_bound(levels) >= 0.9)
    within = depths(*web, [5])
    assert len(crawl.pages) < 0.8 * ((within >= 0) & (within <= levels)).sum()


def test_rank_mass_stops() -> None:
    """Where no mass is left, where enough is guaranteed, and where the work was bounded."""
    assert rank_mass([], [], 0).pages == ()
    assert rank_mass([0, 1], [1, 0], 2, epsilon=0.999).pages == (0,)
    assert len(rank_mass([0, 1], [1, 0], 2, epsilon=1e-9, most_steps=3).pages) == 2
    alone = rank_mass([], [], 3, trusted=[0, 1, 0], epsilon=1e-6)
    assert alone.pages == (1,)
    assert alone.mass[0] >= 1 - 1e-6

"""The graph of sites: what is counted, what is left out, and the ranks of sites both ways."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.graph import pagerank, site_graph, site_mass, site_pagerank

SITE = [0, 0, 1, 1, 2]
SOURCES, TARGETS = [0, 0, 0, 1, 2, 4, 4], [1, 2, 3, 3, 0, 4, 0]


def pairs(*, within: bool) -> dict[tuple[int, int], float]:
    found = site_graph(SOURCES, TARGETS, SITE, 3, within=within)
    assert len(found.sources) == len(found.targets) == len(found.weights)
    return dict(zip(zip(found.sources.tolist(), found.targets.tolist(), strict=True), found.weights, strict=True))


def test_links_between_sites_are_counted() -> None:
    """Each pair once, with the number of page links; links within a site only on request."""
    assert pairs(within=False) == {(0, 1): 3, (1, 0): 1, (2, 0): 1}
    assert pairs(within=True) == {(0, 0): 1, (0, 1): 3, (1, 0): 1, (2, 0): 1, (2, 2): 1}


def test_rank_of_sites_weighs_page_links() -> None:
    """A site passes rank on by the number of its links: three of four to site 1."""
    ranks = site_pagerank([0, 0, 0, 0, 2, 3], [1, 1, 1, 3, 0, 0], [0, 1, 1, 2], 3)
    expected = pagerank([0, 0, 0, 0, 1, 2], [1, 1, 1, 2, 0, 0], 3)
    assert ranks == pytest.approx(expected, abs=1e-12)
    alone = site_pagerank(SOURCES, TARGETS, SITE, 3, jump=[0, 0, 1])
    assert alone[2] > site_pagerank(SOURCES, TARGETS, SITE, 3)[2]


def test_mass_of_a_site_is_the_sum_of_its_pages() -> None:
    """Also for a site without pages."""
    ranks = pagerank(SOURCES, TARGETS, 5)
    mass = site_mass(ranks, SITE, 4)
    assert mass == pytest.approx([ranks[0] + ranks[1], ranks[2] + ranks[3], ranks[4], 0])
    assert mass.sum() == pytest.approx(1)


def test_no_sites() -> None:
    """Nothing in, nothing out."""
    assert site_pagerank([], [], [], 0).shape == (0,)
    assert site_mass(np.zeros(0), [], 0).shape == (0,)


def test_what_does_not_fit_is_refused() -> None:
    """A page of an unknown site, an edge of an unknown page, a rank too few."""
    with pytest.raises(ValueError, match="site_of_page"):
        site_graph([0], [1], [0, 5], 2)
    with pytest.raises(ValueError, match="targets"):
        site_graph([0], [2], [0, 1], 2)
    with pytest.raises(ValueError, match="every page"):
        site_mass([0.5], [0, 1], 2)

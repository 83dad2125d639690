"""PriorityRank: sitemap files as nodes of the graph, with the values computed by hand for a site of four pages."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.graph import SitemapVertex, pagerank, priority_rank

LINKS = ([0, 0, 1, 2], [1, 2, 0, 1], 4)
"""A root, two pages that links reach, and an orphan."""
ALL = [0, 1, 2, 3]


@each_case(
    ("priorities", "expected", "file"),
    [
        (None, [0.3280, 0.3027, 0.1636, 0.0707], 0.1350),
        ([0.5] * 4, [0.3280, 0.3027, 0.1636, 0.0707], 0.1350),
        ([0.0] * 4, [0.3280, 0.3027, 0.1636, 0.0707], 0.1350),
        ([1, 0.5, 0.5, 0.8], [0.3341, 0.2933, 0.1585, 0.0764], 0.1376),
    ],
)
def test_known_values(priorities: list[float] | None, expected: list[float], file: float) -> None:
    """Uniform and given priorities; the file holds what the pages do not."""
    ranks = priority_rank(*LINKS, [SitemapVertex(0, ALL, priorities)])
    assert ranks == pytest.approx(expected, abs=6e-5)
    assert 1 - ranks.sum() == pytest.approx(file, abs=6e-5)


def test_an_orphan_rises_with_its_priority() -> None:
    """From no links at all to a rank that grows with what the site says."""
    shares = [priority_rank(*LINKS, [SitemapVertex(0, ALL, [1, 1, 1, own])])[3] for own in (0.1, 0.5, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] < shares[2]


def test_without_sitemaps_it_is_pagerank() -> None:
    """No files, no change."""
    assert priority_rank(*LINKS, []) == pytest.approx(pagerank(*LINKS), abs=1e-12)


def test_files_hang_from_their_index() -> None:
    """root -> index -> two files -> pages, as a weighted graph built by hand."""
    index = SitemapVertex(0, [])
    files = [index, SitemapVertex(0, [1, 3], [1, 3], index=0), SitemapVertex(0, [2], index=0)]
    by_hand = pagerank(
        [*LINKS[0], 0, 4, 4, 5, 5, 6],
        [*LINKS[1], 4, 5, 6, 1, 3, 2],
        7,
        weights=[1] * 4 + [1, 1, 1, 1, 3, 1],
    )
    assert priority_rank(*LINKS, files) == pytest.approx(by_hand[:4], abs=1e-12)


def test_sites_with_roots_of_their_own() -> None:
    """Two sites, each with its file: a file says nothing about the other site's pages."""
    sources, targets = [0, 1, 2, 3], [1, 0, 3, 2]
    one = priority_rank(sources, targets, 4, [SitemapVertex(0, [1])])
    assert one[2] == pytest.approx(one[3])
    both = priority_rank(sources, targets, 4, [SitemapVertex(0, [1]), SitemapVertex(2, [3])])
    assert both[:2] == pytest.approx(both[2:])


@each_case(
    ("file", "text"),
    [
        (SitemapVertex(9, [0]), "root"),
        (SitemapVertex(0, [9]), "pages of sitemap 0"),
        (SitemapVertex(0, [1], [0.5, 0.5]), "priorities of sitemap 0"),
        (SitemapVertex(0, [1], [-1.0]), "negative"),
        (SitemapVertex(0, [1], index=0), "not another file"),
        (SitemapVertex(0, [1], index=3), "not another file"),
    ],
)
def test_wrong_files_are_refused(file: SitemapVertex, text: str) -> None:
    """The message says which file and what of it."""
    with pytest.raises(ValueError, match=text):
        priority_rank(*LINKS, [file])

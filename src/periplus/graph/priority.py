"""PriorityRank: PageRank that reaches pages which only a sitemap knows (Schonfeld & Shivakumar, WWW 2009, section 5).

A sitemap says that pages exist and, by their priorities, which of them matter; links say the rest. Each sitemap file
becomes a node of the graph: its site's root page links to it as to any page, and it links to the pages it lists in
proportion to their priorities. An orphan so gets a rank, and a larger one for a larger priority, while a page's links
still count. An index is a file that lists files: root -> index -> files -> pages.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from .edges import Ids, Ranks, checked_edges, checked_ids, checked_weights
from .pagerank import pagerank


class SitemapVertex(msgspec.Struct, frozen=True):
    """One sitemap file: the page or index that refers to it, and the pages it lists."""

    root: int
    """The page that links to it: the home page of its site."""
    pages: Sequence[int]
    """The pages it lists; none for an index."""
    priorities: Sequence[float] | None = None
    """One for each page; None, or zeros only, makes them all alike."""
    index: int | None = None
    """The position, in the list of files, of the index that lists this file: then only the index links to it."""


def priority_rank(
    sources: ArrayLike,
    targets: ArrayLike,
    n: int,
    sitemaps: Sequence[SitemapVertex],
    damping: float = 0.85,
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-10,
) -> Ranks:
    """The rank of each of `n` pages in the graph with `sitemaps` added, with a uniform jump over pages and files.

    What the files themselves hold is left out: the ranks sum to less than 1.
    """
    heads, tails = checked_edges(sources, targets, n)
    parts = [_links_of_file(sitemaps, position, n) for position in range(len(sitemaps))]
    ranks = pagerank(
        np.concatenate([heads, *(froms for froms, _, _ in parts)]),
        np.concatenate([tails, *(tos for _, tos, _ in parts)]),
        n + len(sitemaps),
        damping,
        weights=np.concatenate([np.ones(len(heads)), *(weights for _, _, weights in parts)]),
        start=start,
        tolerance=tolerance,
    )
    return ranks[:n]


def _links_of_file(sitemaps: Sequence[SitemapVertex], position: int, n: int) -> tuple[Ids, Ids, Ranks]:
    """The edge to a file, and those from it, with their weights."""
    file, node = sitemaps[position], n + position
    pages = checked_ids(file.pages, n, f"the pages of sitemap {position}")
    weights = np.ones(len(pages))
    if file.priorities is not None:
        given = checked_weights(file.priorities, len(pages), f"the priorities of sitemap {position}")
        weights = given if given.any() else weights
    above = _above(sitemaps, position, n)
    froms = np.concatenate([[above], np.full(len(pages), node, np.int64)])
    return froms.astype(np.int64), np.concatenate([[node], pages]).astype(np.int64), np.concatenate([[1.0], weights])


def _above(sitemaps: Sequence[SitemapVertex], position: int, n: int) -> int:
    file = sitemaps[position]
    if file.index is None:
        return int(checked_ids([file.root], n, f"the root of sitemap {position}")[0])
    if not 0 <= file.index < len(sitemaps) or file.index == position:
        raise ValueError(f"sitemap {position} names {file.index} as its index, which is not another file of the list")
    return n + file.index

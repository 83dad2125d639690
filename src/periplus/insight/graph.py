"""PageRank of the pages and sites of a collection, clicks from its seeds, and links between pages of a site.

URLs are numbered by their fingerprints (`periplus.urls`). A link counts for the URL it names, even if the crawl knows
that page by another. `links` decides which links count and holds them in memory, `parted_links` in
partitions on disk. Both give blocks of links to the functions here, so both have the same results. The arithmetic is in
`periplus.graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.store.tables import Spooled

from .executors import Workplace
from .links import Block, Hashes, NumberedLinks, Numbers, Ranks, WholeLinks, places
from .parted_links import parted_links

__all__ = ["Ranked", "Seen", "places", "ranked"]

TOLERANCE: Final = 1e-6
"""The sum of all errors, of ranks that sum to 1."""
FRAME: Final = 0.3
"""A link that more than this share of a site's pages have is of the site's frame, not of a page."""
_FEW: Final = 2
"""A site of two pages has no frame."""


class Seen(Struct, frozen=True):
    """The URLs that are to be ranked: fingerprints, the numbers of their sites, which were read, which are seeds."""

    keys: Hashes
    sites: Numbers
    is_page: NDArray[np.bool_]
    is_seed: NDArray[np.bool_]

    @property
    def site_count(self) -> int:
        """Sites are numbered from 0."""
        return int(self.sites.max(initial=-1)) + 1


class Ranked(Struct, frozen=True):
    """What links make of each of these URLs, and of each site.

    `own_links` are links to pages of the same site that are not of its frame. `clicks` are those from the nearest seed;
    -1: no path leads there.
    """

    pagerank: Ranks
    inlinks: Numbers
    own_links: Numbers
    clicks: Numbers
    of_sites: Ranks


def ranked(
    tables: Path,
    spooled: Sequence[Spooled],
    seen: Seen,
    workplace: Workplace | None = None,
    tolerance: float = TOLERANCE,
) -> Ranked:
    """Rank URLs by all links and redirects of a collection: in this memory, or at a workplace."""
    if workplace is None:
        return _ranked(WholeLinks(tables, spooled), seen, tolerance)
    with parted_links(tables, spooled, workplace) as links:
        return _ranked(links, seen, tolerance)


def _ranked(links: NumberedLinks, seen: Seen, tolerance: float) -> Ranked:
    at = links.places(seen.keys)
    is_there = at >= 0
    sites = np.full(links.count, -1, np.int32)
    sites[at[is_there]] = seen.sites[is_there]
    inlinks = links.inlinks()
    own = _own_links(links, inlinks, sites, np.bincount(seen.sites[seen.is_page], minlength=seen.site_count))
    clicks = _clicks(links, at[is_there & seen.is_seed])
    of_sites = _site_ranks(links, sites, seen.site_count)
    ranks = links.pagerank(tolerance)

    def of(values: NDArray[Any], nothing: int) -> NDArray[Any]:
        return np.where(is_there, np.append(values, nothing)[at], nothing).astype(values.dtype)

    return Ranked(of(ranks, 0), of(inlinks, 0), of(own, 0), of(clicks, -1), of_sites)


# links that are not of the frame


def _own_links(links: NumberedLinks, inlinks: Numbers, sites: Numbers, pages: NDArray[np.int64]) -> Numbers:
    bound = np.maximum(_FEW, FRAME * np.append(pages, 0)[sites])
    is_own = (inlinks <= bound) & (sites >= 0)
    own = np.zeros(links.count, np.int32)
    for pages_of, counts in links.each(_own_in, (is_own, sites)):
        own[pages_of] += counts
    return own


def _own_in(block: Block, shared: tuple[NDArray[np.bool_], Numbers]) -> tuple[NDArray[np.int64], Numbers]:
    """Which pages have links of their own among these, and how many."""
    is_own, sites = shared
    kept = is_own[block.tails]
    kept &= sites[block.heads] == sites[block.tails]
    heads = block.heads[kept]
    if len(heads) * 4 < len(sites):  # of few links, no vector of all URLs
        some, counts = np.unique(heads, return_counts=True)
        return some.astype(np.int64), counts.astype(np.int32)
    counted = np.bincount(heads, minlength=len(sites)).astype(np.int32)
    found = np.flatnonzero(counted)
    return found, counted[found]


# clicks


def _clicks(links: NumberedLinks, seeds: NDArray[np.int64]) -> Numbers:
    """Breadth first, a pass over all links for each click: no path of the web is long, but for traps."""
    clicks = np.full(links.count, -1, np.int32)
    clicks[seeds] = 0
    depth, found = 0, len(seeds)
    while found:
        steps = list(links.each(_step, (clicks, depth)))
        depth, found = depth + 1, 0
        for step in steps:
            clicks[step] = depth
            found += len(step)
    return clicks


def _step(block: Block, shared: tuple[Numbers, int]) -> NDArray[np.int64]:
    """Pages that are linked from pages at a depth and not reached yet."""
    clicks, depth = shared
    is_found = np.zeros(block.count, np.bool_)
    is_found[block.tails[clicks[block.heads] == depth] - block.first] = True
    is_found &= clicks[block.first : block.first + block.count] < 0
    return np.flatnonzero(is_found) + block.first


# sites


def _site_ranks(links: NumberedLinks, sites: Numbers, count: int) -> Ranks:
    """PageRank of sites, where a site passes its rank on in proportion to the number of its links to others."""
    from periplus.graph import pagerank  # its libraries take a second to load

    found = list(links.each(_between, (sites, count)))
    pairs, numbers = np.unique(np.concatenate([pairs for pairs, _ in found]), return_inverse=True)
    weights = np.bincount(numbers, np.concatenate([times for _, times in found]), len(pairs))
    heads, tails = np.divmod(pairs, max(count, 1))
    return pagerank(heads, tails, count, weights=weights, tolerance=TOLERANCE)


def _between(block: Block, shared: tuple[Numbers, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each pair of sites with links between them, as one number, and how many links there are."""
    sites, count = shared
    froms, tos = sites[block.heads], sites[block.tails]
    apart = np.flatnonzero((froms != tos) & (froms >= 0) & (tos >= 0))
    pairs, links = np.unique(froms[apart].astype(np.int64) * count + tos[apart], return_counts=True)
    return pairs, links

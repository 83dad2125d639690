"""Sites instead of pages: the graph between them, its PageRank, and the rank that the pages of a site hold together."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from .edges import Ids, Ranks, checked_edges, checked_ids
from .pagerank import pagerank


class SiteEdges(msgspec.Struct, frozen=True):
    """Each pair of sites that is linked, once, with the number of page links between them."""

    sources: Ids
    targets: Ids
    weights: Ranks


def site_graph(
    sources: ArrayLike, targets: ArrayLike, site_of_page: ArrayLike, n_sites: int, *, within: bool = False
) -> SiteEdges:
    """The graph of sites behind a graph of pages; links from a site to itself only if `within`.

    Most links of the web stay on their site: counted, they would say how large a site is, not how well linked.
    """
    site = checked_ids(site_of_page, n_sites, "site_of_page")
    heads, tails = checked_edges(sources, targets, len(site))
    froms, tos = site[heads], site[tails]
    if not within:
        between = froms != tos
        froms, tos = froms[between], tos[between]
    pairs = coo_array((np.ones(len(froms)), (froms, tos)), shape=(n_sites, n_sites)).tocsr().tocoo()  # adds repeats up
    return SiteEdges(pairs.row, pairs.col, pairs.data)


def site_pagerank(
    sources: ArrayLike,
    targets: ArrayLike,
    site_of_page: ArrayLike,
    n_sites: int,
    damping: float = 0.85,
    *,
    within: bool = False,
    jump: ArrayLike | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-10,
) -> Ranks:
    """PageRank of sites, where a site passes its rank on in proportion to the number of its page links."""
    edges = site_graph(sources, targets, site_of_page, n_sites, within=within)
    return pagerank(
        edges.sources,
        edges.targets,
        n_sites,
        damping,
        weights=edges.weights,
        jump=jump,
        start=start,
        tolerance=tolerance,
    )


def site_mass(ranks: ArrayLike, site_of_page: ArrayLike, n_sites: int) -> Ranks:
    """The ranks of the pages of each site, added up."""
    site = checked_ids(site_of_page, n_sites, "site_of_page")
    values = np.asarray(ranks, dtype=np.float64)
    if values.shape != site.shape:
        raise ValueError(f"every page has a rank and a site: {values.shape} ranks, {site.shape} sites")
    return np.bincount(site, weights=values, minlength=n_sites).astype(np.float64, copy=False)

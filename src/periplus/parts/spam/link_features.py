"""What the links between domains say of each: trust, anti-trust, spam mass, the ranks of supporters, farm shape.

An edge joins two domains once, however many links do. Trust is PageRank whose jumps go to the seeds (TrustRank,
Gyongyi, Garcia-Molina & Pedersen 2004), anti-trust the same on reversed edges from known spam (Krishnan & Raj 2006).
Spam mass is the share of a domain's PageRank that does not come from the seeds (Gyongyi et al. 2006). The ranks of many
supporters should follow a power law (SpamRank, Benczur et al. 2005). In a farm, those that link to a domain are linked
back, and link to each other. None of them decides alone: they are features.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.sparse import csr_array

from periplus.graph import pagerank, trust

from .features import Features

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]

TRUSTED_SHARE: Final = 0.85
"""The share of all good domains that the seeds stand for (gamma of spam mass)."""
LEAST_IN_LINKS: Final = 5
"""In-linking domains below which shares of them are unknown."""
LEAST_CLUSTERED: Final = 20
"""In-linking domains below which links between them are not counted."""
MAX_CLUSTERED: Final = 20_000
"""Domains whose in-neighbours are compared, those with the most reciprocal links first: about 0.2 ms each."""
MAX_NEIGHBOURS: Final = 64
"""In-neighbours of a domain that are compared, evenly spaced."""
_MANY_LINKS: Final = 1024
"""Links of an in-neighbour from which the others are looked up among them, instead of reading them all."""
LEAST_SUPPORTERS: Final = 200
"""In-linking domains below which the distribution of their ranks says nothing."""
_BINS: Final = 20
_TOLERANCE: Final = 1e-9


class DomainGraph(Struct, frozen=True):
    """Domains numbered from 0, which links to which (each pair once, none to itself), the seeds, and known spam."""

    sources: Numbers
    targets: Numbers
    count: int
    seeds: Numbers
    spam: Numbers


class LinkFeatures(Struct, frozen=True):
    """Columns, a value a domain; not a number where it is unknown. `edges`: how many there are in all.

    The ranks of trust and anti-trust are the shares of all domains that have less.
    """

    edges: int
    in_degree: Numbers
    ranks: Values
    trust: Values
    trust_rank: Values
    anti_trust_rank: Values
    spam_mass: Values
    reciprocity: Values
    clustering: Values
    supporter_penalty: Values

    def of(self, number: int) -> Features:
        """The features of one domain."""
        return {name: None if np.isnan(value) else float(value) for name, value in self._row(number)}

    def _row(self, number: int) -> list[tuple[str, float]]:
        has_links = self.in_degree[number] >= LEAST_IN_LINKS
        in_share = self.in_degree[number] / max(self.edges, 1)
        support = np.log(in_share / max(self.trust[number], 1e-12)) if has_links else np.nan
        return [
            ("support", float(support)),
            ("reciprocity", float(self.reciprocity[number])),
            ("clustering", float(self.clustering[number])),
            ("trust_rank", float(self.trust_rank[number])),
            ("anti_trust_rank", float(self.anti_trust_rank[number])),
            ("spam_mass", float(self.spam_mass[number]) if has_links else np.nan),
            ("supporter_penalty", float(self.supporter_penalty[number])),
        ]


def link_features(graph: DomainGraph) -> LinkFeatures:
    """The link features of all domains."""
    ranks = pagerank(graph.sources, graph.targets, graph.count, tolerance=_TOLERANCE)
    trusted = trust_of(graph)
    in_degree = np.bincount(graph.targets, minlength=graph.count)
    edges = csr_array((np.ones(len(graph.sources)), (graph.sources, graph.targets)), shape=(graph.count,) * 2)
    reciprocity = _reciprocity(edges, in_degree)
    against = anti_trust_of(graph)
    unknown = np.full(graph.count, np.nan)
    return LinkFeatures(
        len(graph.sources),
        in_degree,
        ranks,
        trusted,
        shares_below(trusted) if graph.count > 1 else unknown,
        shares_below(against) if against.any() else unknown,
        spam_mass(ranks, trusted),
        reciprocity,
        _clustering(edges, in_degree, reciprocity),
        supporter_penalties(edges, in_degree, ranks),
    )


def shares_below(values: Values) -> Values:
    """For each value the share of all that are less."""
    return np.searchsorted(np.sort(values), values) / max(len(values), 1)


def trust_of(graph: DomainGraph) -> Values:
    """PageRank whose jumps, and those of domains without links, go to the seeds; zeros without seeds."""
    return trust(graph.sources, graph.targets, graph.count, graph.seeds) if len(graph.seeds) else np.zeros(graph.count)


def anti_trust_of(graph: DomainGraph) -> Values:
    """Anti-trust: propagates from known spam over reversed edges."""
    return trust(graph.targets, graph.sources, graph.count, graph.spam) if len(graph.spam) else np.zeros(graph.count)


def spam_mass(ranks: Values, trusted: Values) -> Values:
    """The share of each PageRank that does not come from the seeds; below 0 for what is near them."""
    return 1.0 - TRUSTED_SHARE * trusted / ranks


def supporter_penalties(edges: csr_array, in_degree: Numbers, ranks: Values) -> Values:
    """How far the ranks of a domain's many supporters are from a power law: 0 none, 1 no likeness at all."""
    penalties = np.full(len(ranks), np.nan)
    columns = csr_array(edges.T)
    for number in np.flatnonzero(in_degree >= LEAST_SUPPORTERS):
        supporters = columns.indices[columns.indptr[number] : columns.indptr[number + 1]]
        penalties[number] = _penalty(ranks[supporters])
    return penalties


def _penalty(ranks: Values) -> float:
    """1 + the correlation of log counts with log ranks over 20 bins, which is -1 for a power law."""
    counts, borders = np.histogram(np.log(ranks), _BINS)
    filled = counts > 0
    if filled.sum() < 3:
        return 1.0
    middles = ((borders[1:] + borders[:-1]) / 2)[filled]
    return float(np.clip(1.0 + np.corrcoef(middles, np.log(counts[filled]))[0, 1], 0.0, 1.0))


def _reciprocity(edges: csr_array, in_degree: Numbers) -> Values:
    """The share of the domains linking to each that it links back to."""
    mutual = np.asarray(edges.multiply(edges.T).sum(axis=0)).ravel()
    return np.where(in_degree >= LEAST_IN_LINKS, mutual / np.maximum(in_degree, 1), np.nan)


def _clustering(edges: csr_array, in_degree: Numbers, reciprocity: Values) -> Values:
    """The share of pairs of in-neighbours that links join, where there are enough of them."""
    clustering = np.full(len(in_degree), np.nan)
    many = np.flatnonzero(in_degree >= LEAST_CLUSTERED)
    chosen = many[np.argsort(-reciprocity[many], kind="stable")][:MAX_CLUSTERED]
    columns = csr_array(edges.T)
    is_near = np.zeros(len(in_degree), np.bool_)
    for number in chosen.tolist():
        near = columns.indices[columns.indptr[number] : columns.indptr[number + 1]]
        some = near[np.linspace(0, len(near) - 1, min(len(near), MAX_NEIGHBOURS)).astype(np.int64)]
        is_near[some] = True
        clustering[number] = _links_within(edges, some, is_near) / (len(some) * (len(some) - 1))
        is_near[some] = False
    return clustering


def _links_within(edges: csr_array, some: NDArray[np.int32], is_some: NDArray[np.bool_]) -> int:
    """How many links join some domains, in ascending order. One that links to everything costs no more than others."""
    rows = [edges.indices[edges.indptr[one] : edges.indptr[one + 1]] for one in some.tolist()]
    joined = int(is_some[np.concatenate([row for row in rows if len(row) < _MANY_LINKS] or [some[:0]])].sum())
    for row in rows:
        if len(row) >= _MANY_LINKS:
            at = np.minimum(np.searchsorted(row, some), len(row) - 1)
            joined += int((row[at] == some).sum())
    return joined


def inverse_pagerank(graph: DomainGraph) -> Values:
    """PageRank on reversed edges: domains from which many others are reached, the candidates for seeds of trust."""
    return np.asarray(pagerank(graph.targets, graph.sources, graph.count, tolerance=_TOLERANCE))

"""Scores of domains by the links between them, and the budgets that follow.

The domain graph has an edge from a to b if any page of a links to any page of b without `nofollow`, `ugc` or
`sponsored`; each edge counts once, however many pages have the link. Scores:

* `star`: the number of other domains that link to a domain (STAR, in IRLbot: Lee et al. 2008).
* `networks`: the same, but domains whose addresses share a network count once: many domains are cheap, many networks
  are not.
* `trust` (the default): PageRank that starts at the domains of the seeds and returns there (TrustRank: Gyongyi,
  Garcia-Molina & Pedersen 2004). A farm can make any number of links among its own domains, but not links from
  the seeds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from periplus.graph import unique_edges

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


def star(targets: Numbers, n: int) -> Scores:
    """The number of domains that link to each of `n` domains; edges are unique."""
    return np.bincount(targets, minlength=n).astype(np.float64)


def networks(sources: Numbers, targets: Numbers, n: int, network: Numbers) -> Scores:
    """The number of networks from which each of `n` domains is linked. `network` numbers that of each domain."""
    if not len(sources):
        return np.zeros(n)
    keys = np.unique(targets * (int(network.max()) + 1) + network[sources])
    return np.bincount(keys // (int(network.max()) + 1), minlength=n).astype(np.float64)


def of_listed(scores: Scores, listing: Numbers, listed: Numbers) -> Scores:
    """Scores in which domains without one get a share of those whose sitemaps list them.

    The sitemaps of domain `listing[i]` list pages of domain `listed[i]`. A domain divides its score among those that it
    lists, so that naming many gives each of them little.
    """
    if not len(listing):
        return scores
    listing, listed = unique_edges(listing, listed, len(scores))
    share = scores / np.maximum(np.bincount(listing, minlength=len(scores)), 1)
    gained = np.zeros_like(scores)
    np.maximum.at(gained, listed, share[listing])
    return np.where(scores > 0, scores, gained)


def budgets_of(scores: NDArray[np.float64], base: int, largest: int) -> NDArray[np.int64]:
    """A budget for each score: `base` for 0, `largest` for the highest, linear between, in whole pages."""
    highest = float(scores.max(initial=0.0))
    if highest <= 0:
        return np.full(len(scores), base, np.int64)
    return np.floor(base + (largest - base) * (scores / highest)).astype(np.int64)

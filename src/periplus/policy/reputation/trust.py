"""Scores of domains by the links between them.

The domain graph has an edge from a to b if any page of a links to any page of b without `nofollow`, `ugc` or
`sponsored`; each edge counts once, however many pages have the link.

* `star`: the number of other domains that link to a domain (STAR, in IRLbot: Lee et al. 2008).
* `networks`: the same, but domains whose addresses share a network count once: many domains are cheap, many networks
  are not.
* `trust` (the default): PageRank that starts at the domains of the seeds and returns there (TrustRank: Gyongyi,
  Garcia-Molina & Pedersen 2004). A farm can make any number of links among its own domains, but not links from
  the seeds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

DAMPING: Final = 0.85
"""Probability of following a link: the usual value of PageRank."""
TOLERANCE: Final = 1e-9
"""Sum of all errors of the trust of all domains."""

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


def unique_edges(sources: Numbers, targets: Numbers, n: int) -> tuple[Numbers, Numbers]:
    """Each pair of different domains once, in the order of sources and targets, which are below `n`."""
    keys = np.unique(sources[sources != targets] * n + targets[sources != targets])
    return keys // max(n, 1), keys % max(n, 1)


def trust(sources: Numbers, targets: Numbers, n: int, seeds: Numbers) -> Scores:
    """Personalised PageRank of `n` domains from the seeds' domains; edges are unique. Uniform without seeds."""
    jump = np.zeros(n)
    jump[seeds] = 1.0
    if not n:
        return jump
    from ...graph import pagerank  # its libraries take a second to load, and a crawl does not need them

    return pagerank(sources, targets, n, DAMPING, jump=jump if len(seeds) else None, tolerance=TOLERANCE)


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

"""Trust: the PageRank of a graph that starts at some nodes and returns there (TrustRank: Gyongyi et al. 2004).

On reversed edges, from nodes that are known to be bad, it is anti-trust (Krishnan & Raj 2006).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .edges import Ranks
from .pagerank import pagerank

DAMPING = 0.85
"""Probability of following a link: the usual value of PageRank."""
TOLERANCE = 1e-9
"""Sum of all errors of the trust of all nodes."""

_Numbers = NDArray[np.int64]


def unique_edges(sources: _Numbers, targets: _Numbers, n: int) -> tuple[_Numbers, _Numbers]:
    """Each pair of different nodes once, in the order of sources and targets, which are below `n`."""
    keys = np.unique(sources[sources != targets] * n + targets[sources != targets])
    return keys // max(n, 1), keys % max(n, 1)


def trust(sources: _Numbers, targets: _Numbers, n: int, seeds: _Numbers) -> Ranks:
    """Personalised PageRank of `n` nodes from the seeds; edges are unique. Uniform without seeds."""
    jump = np.zeros(n)
    jump[seeds] = 1.0
    if not n:
        return jump
    return pagerank(sources, targets, n, DAMPING, jump=jump if len(seeds) else None, tolerance=TOLERANCE)

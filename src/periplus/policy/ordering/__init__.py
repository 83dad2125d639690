"""Orderings: how much is a URL wanted, and which site is next?

An ordering scores a discovery (larger is sooner); `level_of` folds the score into a byte, by which queues on disk are
sorted; `site_key` places a site among those that may be visited now. That is the two-level scheduler of Castillo,
Marin, Rodriguez & Baeza-Yates (2004): a heap of sites over a queue for each site. Orderings are chosen by name, and
each has a page in docs/policies with its paper and its curve.

Some decide when a URL is found and need to know nothing else: `breadth_first`, `largest_site`, `random`, `optimal`.
Some learn from every link (`model.Learning`): `indegree`, `opic`, `opic_adaptive`, `rankmass`, `partial`. Some look at
all links from time to time (`model.Ranking`): `partial`, `batch`, `rankmass`, `rankmass_windowed`. A new one is a class
with these methods and a line in `registry`. Those of a crawl with a topic are in `parts.focus`. `Scored` is a program's
own function.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .importance import (
        LAST_LEVEL,
        RISES,
        ZERO_LEVEL,
        BreadthFirst,
        ByWorth,
        LargestSite,
        RandomOrder,
        Scored,
        level_of,
        levels_of,
        lowered,
    )
    from .registry import ALIASES, make_ordering, ordering, orderings
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "ALIASES",
    "LAST_LEVEL",
    "RISES",
    "ZERO_LEVEL",
    "BreadthFirst",
    "ByWorth",
    "LargestSite",
    "RandomOrder",
    "Scored",
    "level_of",
    "levels_of",
    "lowered",
    "make_ordering",
    "ordering",
    "orderings",
]

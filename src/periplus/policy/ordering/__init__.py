"""How much do we want this URL, and which site is next?

An ordering scores a discovery (larger is sooner); `level_of` folds the score into a byte, by which queues on disk are
sorted; `site_key` places a site among those that may be visited now. That is the two-level scheduler of Castillo,
Marin, Rodriguez & Baeza-Yates (2004): a heap of sites over a queue for each site. Orderings are chosen by name:
`breadth_first`, `largest_site`, `random`.

An ordering that learns from links (in-degree, cash, mass) is a class with the same two methods and a line in
`registry`.
"""

from .breadth_first import BreadthFirst
from .largest_site import LargestSite
from .levels import LAST_LEVEL, ZERO_LEVEL, level_of
from .random_order import RandomOrder
from .registry import ordering, orderings

__all__ = [
    "LAST_LEVEL",
    "ZERO_LEVEL",
    "BreadthFirst",
    "LargestSite",
    "RandomOrder",
    "level_of",
    "ordering",
    "orderings",
]

"""Useful links: the few pages that stand for most of a site, worked out from its URLs alone.

The Berkeley report on web site metadata asked whether sitemaps say enough to choose them: a prefix that many URLs share
is likely a place worth going to. `ulinks` is its algorithm (`exact=True`), and by default a better one that repairs
what the report found wanting: `names` (one place, several names), `shapes` (lists of items), `facets` (the same
categories under every city), `folding` (the algorithm itself), `choosing` (weights, pages that are there, diversity).
`sampling` keeps memory bounded whatever a site lists; `statistics` counts the tree. `crawled` and `titles` read what a
collection knows: its pages, and what others call them. Nothing here fetches.
"""

from .choosing import IsPage, Ulink, chosen_ulinks, exact_ulinks, ulinks
from .sampling import SAMPLE, Listed, Sample
from .statistics import TreeStatistics, tree_statistics

__all__ = [
    "SAMPLE",
    "IsPage",
    "Listed",
    "Sample",
    "TreeStatistics",
    "Ulink",
    "chosen_ulinks",
    "exact_ulinks",
    "tree_statistics",
    "ulinks",
]

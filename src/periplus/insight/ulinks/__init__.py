"""Useful links: the few pages that represent most of a site, computed from its URLs alone.

The Berkeley report on web site metadata asked whether sitemaps are enough to choose them: a prefix that many URLs share
is probably an important place. `ulinks` is its algorithm (`exact=True`), and by default an improved one that fixes the
weaknesses the report found: `names` (one place, several names), `shapes` (lists of items), `facets` (the same
categories under every city), `folding` (the algorithm itself), `choosing` (weights, existing pages, diversity).
`sampling` bounds memory for any site; `statistics` counts the tree. `crawled` and `titles` read pages and link texts
from a collection. Nothing here fetches.
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

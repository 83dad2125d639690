"""Useful links: the few pages that represent most of a site, computed from its URLs alone.

The Berkeley report on web site metadata asked whether sitemaps are enough to choose them: a prefix that many URLs share
is probably an important place. `ulinks` is its algorithm (`exact=True`), and by default an improved one that fixes the
weaknesses the report found: `sampling` (one place with several names; bounded memory for any site), `branches` (lists
of items), `choosing` (the algorithm itself; the same categories under every city; weights, existing pages, diversity).
`titles` reads pages and link texts from a collection. Nothing here fetches.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .branches import TreeStatistics, tree_statistics
    from .choosing import IsPage, Ulink, chosen_ulinks, exact_ulinks, ulinks
    from .sampling import SAMPLE, Listed, Sample
else:
    __getattr__ = lazy_exports(__name__)

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

"""Link structure: PageRank and depth of the pages of a graph.

A graph here is two arrays of the same length, the page that links and the page that is linked to, with pages numbered
from 0; an edge given twice counts twice. `pagerank` ranks a graph in memory, `pagerank_of_products` one whose
edges are on disk or on several machines, given a function that multiplies by its links. `priority_rank` also ranks
pages that only a sitemap lists; `trust` is PageRank from seeds. `depths` counts clicks from the seeds.

Nothing here knows URLs, files or time: numbers in, numbers out. A wrong argument raises a `ValueError` that names it.
"""

from .edges import Ids, Ranks, depths
from .krylov import pagerank_of_products
from .pagerank import pagerank
from .priority import SitemapVertex, priority_rank
from .trust import trust, unique_edges

__all__ = [
    "Ids",
    "Ranks",
    "SitemapVertex",
    "depths",
    "pagerank",
    "pagerank_of_products",
    "priority_rank",
    "trust",
    "unique_edges",
]

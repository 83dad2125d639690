"""Link structure: what the shape of a web says about the worth of its pages.

A graph here is two arrays of the same length, the page that links and the page that is linked to, with pages numbered
from 0; an edge given twice counts twice. `pagerank` answers for graphs in memory, `pagerank_of_blocks` for those whose
edges are on disk, `pagerank_of_products` for whoever can multiply by its links, `site_pagerank` for sites instead of
pages, `priority_rank` for pages that only a sitemap knows. `depths` counts clicks from the seeds. `opic` and
`rank_mass` are references: the plain form, on a graph that is known, of what the orderings of a crawl compute while
they discover it.

Nothing here knows URLs, files or time: numbers in, numbers out. Wrong arguments are a `ValueError` that says which.
"""

from .blocks import pagerank_of_blocks
from .depth import depths
from .edges import Ids, Ranks, Vector
from .opic import opic
from .pagerank import pagerank
from .priority import SitemapFile, priority_rank
from .products import Spread, pagerank_of_products
from .rankmass import RankMass, neighbour_bound, rank_mass
from .sites import SiteEdges, site_graph, site_mass, site_pagerank

__all__ = [
    "Ids",
    "RankMass",
    "Ranks",
    "SiteEdges",
    "SitemapFile",
    "Spread",
    "Vector",
    "depths",
    "neighbour_bound",
    "opic",
    "pagerank",
    "pagerank_of_blocks",
    "pagerank_of_products",
    "priority_rank",
    "rank_mass",
    "site_graph",
    "site_mass",
    "site_pagerank",
]

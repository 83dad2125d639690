"""What a crawl tells, worked out from what it wrote down, and from texts that somebody has.

`duplicates` finds texts that say nearly the same: all pairs of some texts, and the clusters of a collection's pages
with the URL by which to know each. `survey` counts what the robots.txt files and sitemaps of many domains say; `listed`
gives every URL that they list, once. `changes` tells what happened to pages from one time to another, and compares any
two versions of one. `ulinks` chooses the few pages that stand for most of a site. Nothing here fetches, and nothing of
a collection is changed.

`views` lets a collection be asked in SQL, `measures` tells how good each source of URLs is, `graph` and `clusters` what
links and near-duplicates make of its pages; `audit` judges a site for its owner, `report` makes one page of everything.
They load DuckDB, and so are imported only by who wants them. Where links or sketches are more than one memory holds,
jobs reckon with partitions of them at a `workplace`; `executors` do these jobs on this machine, `periplus.cluster` on
many.
"""

from . import changes, duplicates, listed, survey, ulinks

__all__ = ["changes", "duplicates", "listed", "survey", "ulinks"]

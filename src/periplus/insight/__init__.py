"""What a crawl tells, worked out from what it wrote down, and from texts that somebody has.

`duplicates` finds texts that say nearly the same: all pairs of some texts, and the clusters of a collection's pages
with the URL by which to know each. `survey` counts what the robots.txt files and sitemaps of many domains say; `listed`
gives every URL that they list, once. `changes` tells what happened to pages from one time to another, and compares any
two versions of one. Nothing here fetches, and nothing of a collection is changed.
"""

from . import changes, duplicates, listed, survey

__all__ = ["changes", "duplicates", "listed", "survey"]

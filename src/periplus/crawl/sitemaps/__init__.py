"""Sitemaps in the crawl: which files are fetched when, and how the URLs they list are queued.

`discovery` finds files (named by robots.txt, the user, an index, a page) and keeps a node of each in the `store`. The
file itself waits in the queue of its site, in the lane of files, and is fetched as politely as a page. When it has
arrived, `scheduler` reads it step by step (`file`, `parser`), and what it lists goes in slices to the listings of
each site, where an entry costs a few bytes. The queue of a site is filled from them, one slice at a time, whenever it
runs empty, so that neither memory nor the work of a step grows with what a site lists. The rules (which children are
followed, which host may list URLs of which, when a file is read again) are in `policy.sitemaps`. In a crawl for files
`held_seeds` are fetched only where a site lists none.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import SitemapRules, SitemapSettings
    from .file import SitemapFile, unpack_slice
    from .held_seeds import HeldSeeds
    from .scheduler import SitemapScheduler
    from .store import SitemapState, UnfinishedFile
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "HeldSeeds",
    "SitemapFile",
    "SitemapRules",
    "SitemapScheduler",
    "SitemapSettings",
    "SitemapState",
    "UnfinishedFile",
    "unpack_slice",
]

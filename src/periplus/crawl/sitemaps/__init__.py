"""What sites publish about themselves, in the crawl: which files are fetched when, and what becomes of what they list.

A `Forester` is told of files (by robots.txt, by a person, by an index, by a page) and keeps a node of each in the
state. The file itself waits in the queue of its site, in the lane of files, and is fetched as politely as a page. While
its bytes arrive they are read (`reading`), and what the file lists goes in slices to the `Listings` of each site
(`slices`): there it costs next to nothing. The queue of a site is fed from them, one slice at a time, whenever it runs
dry, so that neither memory nor the work of a step grows with what a site lists. What the rules are (which children are
followed, who may speak for whom, when a file is read again) is said in `policy.sitemaps`.
"""

from .forester import Forester, ForesterSettings
from .naming import SitemapSettings
from .reading import FileInProgress
from .slices import Slice, pack, unpack_slice

__all__ = ["FileInProgress", "Forester", "ForesterSettings", "SitemapSettings", "Slice", "pack", "unpack_slice"]

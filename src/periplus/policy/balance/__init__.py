"""Discovery against Sitemaps: from which of a site's two queues is the next page taken?

Schonfeld & Shivakumar ("Sitemaps: above and beyond the crawl of duty", WWW 2009, section 6, Figure 8) give each
site a quota of pages, split it between the two sources, and after each quota look at the results of the *lowest-scored*
pages of either: that share is what one more page from there would bring. The source whose last pages were worth more
gets a step more of the next quota. The split settles where the last page of either is worth the same, which is the
best there is for any two falling curves.

`SiteBalance` is that for one site: `choose` a queue, say what was `took`, say what was `learnt` of it later. Its
`record` is kept with the site, in the middle of an epoch too. `history` is for people: how the budget moved, and why.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .settings import BalanceSettings
    from .site_balance import HISTORY, BalanceRecord, Epoch, Move, SiteBalance
else:
    __getattr__ = lazy_exports(__name__)

__all__ = ["HISTORY", "BalanceRecord", "BalanceSettings", "Epoch", "Move", "SiteBalance"]

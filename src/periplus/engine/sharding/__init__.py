"""A crawl in shards: one coordinator that decides for all of them, and the transport over pipes.

`ShardedCrawl` (`crawl`) is what a program runs. A single shard runs in the calling process. With several, a team of
shards is started: as processes of this machine (`processes`), or as Ray actors (`periplus_ray`). Both run the
same `worker` loop for each shard, carry the same `messages`, and ask the same `coordinator` for decisions: page budget,
visit budgets, address shares (`claims`), restarts, and the end of the crawl. `builds` says which versions may run
together: a worker can be continued by another interpreter, whose program is `joining`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .claims import ClaimRegistry
    from .coordinator import Coordinator, PageBudget
    from .crawl import CrawlLimits, Gather, ShardedCrawl
    from .worker import tune_garbage_collection
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "ClaimRegistry",
    "Coordinator",
    "CrawlLimits",
    "Gather",
    "PageBudget",
    "ShardedCrawl",
    "tune_garbage_collection",
]

"""Builds objects from settings: the only package that knows which class implements which port.

A collection is a folder: `collection` plans, finds and locks it, and `layout` names the paths in it; `facts` looks up
what is known of it. `shards` puts one shard of it together, and restores it to where the last process left it;
`opening` opens a crawl with as many of them as the collection has. `seeds` reads the seeds that users give. `resizing`
changes the number of shards of a collection, after `resting` has applied and delivered everything pending.

`refreshing` fetches the pages of a collection again. `jobs` learn from its tables; `background` starts them beside a
crawl.

`inspecting` looks for damage, `repairing` repairs it: `rebuilding` gives archived answers to the state machine of a
shard, and adds to the tables what these lack.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .inspecting import Part
    from .layout import Layout, meta_of
    from .opening import budget, check_ordering, open_crawl, settle
    from .refreshing import (
        Refreshed,
        RefreshPlan,
        Selection,
        begin_refresh,
        end_refresh,
        for_new_pages,
        for_revisits,
        refresh,
    )
    from .repairing import Repaired, repair
    from .resizing import MAX_SHARDS, Plan, Resized, Step, check_whole, plan_of, request, requested, resize
    from .resting import bring_to_rest
    from .seeds import seeds_from, with_scheme
    from .shards import ShardMaker, open_shard, weights_of
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "MAX_SHARDS",
    "Layout",
    "Part",
    "Plan",
    "RefreshPlan",
    "Refreshed",
    "Repaired",
    "Resized",
    "Selection",
    "ShardMaker",
    "Step",
    "begin_refresh",
    "bring_to_rest",
    "budget",
    "check_ordering",
    "check_whole",
    "end_refresh",
    "for_new_pages",
    "for_revisits",
    "meta_of",
    "open_crawl",
    "open_shard",
    "plan_of",
    "refresh",
    "repair",
    "request",
    "requested",
    "resize",
    "seeds_from",
    "settle",
    "weights_of",
    "with_scheme",
]

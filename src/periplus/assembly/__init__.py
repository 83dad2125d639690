"""From settings to objects: the only place that knows which class plays which part.

A collection is a folder (`layout` says what lies where). `shards` puts one shard of it together, and brings it to where
the last process left it; `opening` makes a crawl of as many of them as the collection has. `seeds` reads what people
write to begin with.
"""

from .layout import Layout, marked
from .opening import budget, check_ordering, open_crawl, settle
from .seeds import seeds_from, with_scheme
from .shards import ShardMaker, open_shard, weigher_of

__all__ = [
    "Layout",
    "ShardMaker",
    "budget",
    "check_ordering",
    "marked",
    "open_crawl",
    "open_shard",
    "seeds_from",
    "settle",
    "weigher_of",
    "with_scheme",
]

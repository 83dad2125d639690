"""Shards as processes of this machine: one for each core, and this one, which brings batches from one to another.

`Crawl` is what a program runs. With one shard there is no other process: it runs right here. With several, a `Team`
starts a process for each (`serving` is the life in there), brings everything to where it belongs (`messages` are the
words), deals out the pages that may be fetched, and sees when all is done. A shard that dies is started again and goes
on from its last commit; batches that it had not acknowledged are brought again. Pages never travel, only discoveries
and numbers. When this process dies, its shards notice, make everything durable, and end.
"""

from .crawl import Crawl, Gather, MakeShard
from .serving import collect_less

__all__ = ["Crawl", "Gather", "MakeShard", "collect_less"]

"""The crawl itself: from seeds to a collection.

`frontier` knows who may be visited now, `scheduler` decides what is fetched next, `fetch` is the wire, `engine` the one
loop that waits, `shard` all of that for some of the sites, and `local` runs shards as processes of this machine. Inside
this room each leans only on those named before it.
"""

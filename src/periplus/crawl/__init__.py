"""The crawl itself: from seeds to a collection.

`frontier` knows which sites may be visited now, `scheduler` decides what is fetched next, `fetch` is the wire, `engine`
the one loop that waits, `shard` all of that for some of the sites, and `sharding` runs several shards: the coordinator,
and processes of this machine. Inside this room each imports only those named before it.
"""

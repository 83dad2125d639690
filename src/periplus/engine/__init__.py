"""The crawl itself: from seeds to a collection.

`frontier` decides which URL is fetched next and when, `fetch` is the wire, `machine` the state machine of a shard,
`pipeline` reads its answers, `comparison` compares pages with their last version, `engine` is the loop that drives it,
`shard` all of that for some of the sites, and `sharding` runs several shards: the coordinator, and processes of this
machine. docs/architecture.md has the layers.
"""

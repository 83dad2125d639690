"""The crawl itself: from seeds to a collection.

Begin with `Machine.apply` in `machine`, a page long: a shard of a crawl is a state machine, and this is all that can
happen to it. An input goes in (`inputs`), the state changes, and effects come out: fetch this, record that. It reads no
clock and opens nothing, so the log of inputs is all that recovery needs, and the simulator runs the same lines.

What it calls comes next. `frontier` decides which URL is fetched next and when, by politeness, robots.txt and order;
`pipeline` reads answers (`links` their links) and compares pages with their last version (`comparison`); `router` gives
discoveries to the shard that has their site. `sitemaps` reads what sites publish about themselves and queues what they
list, `revisit` decides when pages are visited again, and `part` is the protocol of all other features (`parts`).

Around it: `engine` is the loop that waits, archives, logs (`log`), applies and commits; `fetch` is the wire, `shard`
all of that for some of the sites, and `sharding` runs several shards: the coordinator, and processes of this machine.
`settings` and `machine_settings` are what they obey, `stats` and `overview` what they report; `standstill` notices a
crawl that does not move, and `plugins` loads a program's own functions. docs/internals.md continues from here.
"""

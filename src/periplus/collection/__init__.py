"""Builds objects from settings: the only package that knows which class implements which port.

A collection is a folder: `collection` plans, finds and locks it, and `layout` names the paths in it; `facts` looks up
what is known of it. `shards` puts one shard of it together, and restores it to where the last process left it;
`opening` opens a crawl with as many of them as the collection has. `seeds` reads the seeds that users give. `resizing`
changes the number of shards of a collection, after `resting` has applied and delivered everything pending.

`jobs` learn from its tables; `background` starts them beside a crawl.

`inspecting` looks for damage, `repairing` repairs it: `rebuilding` gives archived answers to the state machine of a
shard, and adds to the tables what these lack.
"""

"""What the tables of a collection show. Nothing here fetches, and no collection is changed.

`views` answers SQL queries about a collection, `query_pool` those of viewers and agents, in processes with limits
(`query_worker`); `measures` computes how good each source of URLs is; `listed` returns every URL that sitemaps list,
once; `graph` computes PageRank and `clusters` near-duplicates. Where links or sketches do not fit in memory, jobs
process partitions of them in a folder; `executors` run the jobs on this machine, `periplus_ray` on many.
"""

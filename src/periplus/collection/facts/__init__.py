"""What is known of a collection, a site, a URL or a listed URL, read from what the shards have committed.

Nothing here disturbs a crawl that is running. `lookup` answers for a collection, a site and a URL; `freshness` and
`sources` hold the parts of its answers. `listed_urls` is for URLs that a site's sitemaps list: which file lists them,
and whether a crawl would fetch them. `site_list` finds a site by its name, and has what waits in the queues.
`lines` phrases all of it, with `freshness_words` for its part, and `tables` has its tables.
"""

"""What is known of a collection, a site or a URL, read from what the shards have committed.

Nothing here disturbs a crawl that is running. `lookup` answers for a collection, a site and a URL, with what each part
says of it; `balance` has how the budget of a site moved. `site_list` finds a site by its name, and has what waits in
the queues. `lines` phrases all of it, with `freshness_words` for its part, and `tables` has its tables.
"""

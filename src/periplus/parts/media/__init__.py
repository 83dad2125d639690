"""Crawls for files instead of pages: seeds that are fetched only if their sites list none of the files.

`held_seeds` holds the seeds of such a crawl back until the sitemaps of their sites are read. The types of files are in
`policy.filters`.
"""

"""Mirrors: hosts, or parts of hosts, that show the same pages as another host.

`job` finds them in the tables of a collection, and domains that are parked (`parked`), which show one page on many
hosts; `policy` compares hosts and renames the URLs of those that are not kept; `part` does that in a crawl.
After Bharat & Broder (1999). The crawl reads the result as a learnt file.
"""

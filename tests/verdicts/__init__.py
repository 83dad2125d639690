"""Small webs with known truth that tempt a crawl to a wrong verdict: what it must find, and what it may waste.

`webs` draws a web of each kind from a seed, `crawled` crawls it in virtual time, `soak` runs seeds without an end.
"""

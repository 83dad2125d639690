"""Cloaking and redirection spam: pages that show browsers something else, and hosts that send their readers away.

`part` compares few pages with what browsers get, by probes; `policy` decides from the copies. After Wu & Davison (2005,
2006). A comparison costs a site one to five requests, at most 1 % of the pages of a crawl.
"""

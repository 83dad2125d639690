"""Crawls for files: which links of a site lead to files of the wanted types, learnt from where the links stand.

Read in this order: `tag_paths` finds the elements around each link; `bandit` groups links by these paths and by their
URLs, learns what requests for each group bring, and says which group is worth the next request; `ordering` is the
ordering of that name; `part` is all that in a crawl. The idea is that of Gauquier, Manolescu & Senellart ("Efficient
Crawling for Scalable Web Data Acquisition", EDBT 2026); `bandit` says what is different here.

Each group has a level of its own in the queue of its site, and level 0 has the links whose names say that they lead to
a wanted file. Levels are not in order: the part chooses one for each request. What was learnt of a site is kept with
its record, at most some 30 KB. A crawl by another ordering does none of this.
"""

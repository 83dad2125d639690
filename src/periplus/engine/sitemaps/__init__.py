"""Sitemaps and feeds: which files are fetched when, what changed in them, and how the URLs they list are queued.

`discovery` finds files (named by robots.txt, the user, an index, a page) and keeps a node of each in the `store`. The
file itself waits in the queue of its site, in the lane of files, and is fetched as politely as a page. When it has
arrived, `part` reads it step by step (`file`, `parser`), and what it lists goes in slices to the listings of
each site, where an entry costs a few bytes. The queue of a site is filled from them, one slice at a time, whenever it
runs empty, so that neither memory nor the work of a step grows with what a site lists.

The other modules decide, as pure functions. `trees` says which children of an index are followed, and which hosts a
file may list (`SitemapAuthority`). Between two readings the entries of a file are remembered as fingerprints and times,
so that the next reading returns only what was added, removed or moved (`difference`). The result of a visit updates its
node (`visits`), and with it the time of the next one (`revisit`); a file that is dead or useless retires with a reason.
Entries are scored by priority, by links, or by both (`scores`), by priority only where a site's priorities differ.

In a crawl for files `held_seeds` are fetched only where a site lists none. `rows` has views of what was read.

Not here: reading the format (`formats.sitemap`), and how much of a site's budget sitemaps get (`policy.balance`).
"""

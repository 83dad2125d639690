"""Every decision of the crawler, as pure functions: no clock, no randomness except a seed, no I/O.

`filters` decides whether a URL is wanted, and by which rule not; `ordering` how much it is wanted, and which site is
next; `duplicates` which pages are near-duplicates, and by which URL to know them; `balance` how a site's budget is
shared between links and sitemaps; `domain_budgets` how much each domain gets; `weights` how much a page matters. Each
policy is small, has a name, and is described in `docs/policies.md` with the paper it follows. What only one feature
decides is with that feature, in `parts`.
"""

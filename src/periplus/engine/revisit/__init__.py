"""Revisits: which pages are visited again, and when, so that each fetch buys as much freshness as it can.

A crawler learns that a page changed when it visits the page, or from signals that may be wrong: a `lastmod` that moved,
a feed, a ping. This part estimates how often each page changes and how far each site's signals can be trusted, and
computes from that what a visit is worth now, and when it will be worth its price.

*In the crawl.* The frontier uses one class, `Revisits` (`revisits`). It reports what happened, `visited` and
`mentioned` above all, and asks for pages that are `due`. `change_history` keeps the evidence of visits and signals,
`visit_stats` the other results of visits; `visit_value` computes what a visit is worth, and lists the next visits with
their reasons; `freshness` samples the collection and measures how fresh it is; `budget` has the visits a day and the
price of a visit; `records` are what each commit holds. After a crash the same inputs lead to the same decisions.

*Estimation.* `evidence` is what is kept of a page (64 bytes; `evidence_columns` of a million), `signals` what is kept
of a site, and `distrust` whether it is believed; `estimation` makes rates and trust of all of them at once, `ledger`
those of one site. `fresh_share` estimates how many copies are fresh, from draws of rates (`change_posterior`) and of
the trust in signals (`signal_posterior`).

*Worth.* `objectives` are what may be wanted, and the policies to compare with, by name; `crawl_value` are their tables:
what a visit is worth now, and at what age it is worth a price; `allocation` shares out budgets the way the literature
and Nutch do. `gains` are other benefits of visits (new pages, cheap answers), `weights` what first visits and hubs are
worth. `page_value` computes, from the record of one page and how often it changes (`page_rates`), what a visit is
worth and when it will be worth its price.
Where a crawl has several shards, `market` moves the budget between them until they have one price.

Rates are changes a day; times are POSIX seconds and come as arguments. Everything is pure: the crawl and the simulator
call the same lines. `rows` has views of what changed, for those who look at a collection.
"""

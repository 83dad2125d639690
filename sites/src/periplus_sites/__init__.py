"""What the owner of a site does about crawlers.

`publish` writes sitemaps, archives and feeds of what changed, and `logs` reads who came for them. Both keep what they
know in the `ledger` of a site; `agents` names the crawler of a User-Agent, and `identity` checks whether an address is
that crawler's, by `address_ranges` among others. `commands` has what people type.
"""

"""The permission ledger: for every page what its site says that it may be used for, and the proof of it.

Sites state that in seven ways: rules of robots.txt, headers, elements of pages, `/.well-known/tdmrep.json`, licences
(RSL), robots directives, and by asking for a login or a payment. `statements` turns each into rows, which
`policy.permissions` combines. `part` fetches the files that pages are judged by, at most once a day each, as politely
as pages: after robots.txt of their host allows it, to public addresses only. Nothing is ever paid, accepted or
decrypted.

It is off by default: a plain crawl asks for nothing but pages, robots.txt and sitemaps.
"""

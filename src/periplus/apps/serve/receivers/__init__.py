"""Receivers: messages of sites about what changed, as signals for the crawl.

Four kinds: IndexNow (`/indexnow`), WebSub (`/websub/TOKEN`), sitemap pings (`/ping`) and a hook for programs of the
owner (`/api/changed`). The first three are open to everyone; they are there only with `serve --receive` or where a
collection has `[receivers] enabled = true`, and otherwise answered with 404.

A message is a signal, not an order: its URLs become discoveries with the source `ping`, the crawl learns for each site
how often such signals are right (`engine.revisit.signals`), and filters, robots.txt, politeness and budgets apply. An
answer is sent when the URLs are in the inbox of the collection on disk (`store.inbox`); a crawl or watch takes them
from there, whether it runs now or later.

`endpoints` has the routes. `receiving` puts the parts together and runs what happens in the background. `keys`
(IndexNow), `websub` and `reports` are the kinds; `intake` is what they need of a collection, what one sender may send,
what is counted and what is answered.
"""

from .endpoints import lifespan, routes
from .intake import MessageCounts, MessageKind, Result
from .receiving import Receivers, receivers_of
from .reports import Changed

__all__ = ["Changed", "MessageCounts", "MessageKind", "Receivers", "Result", "lifespan", "receivers_of", "routes"]

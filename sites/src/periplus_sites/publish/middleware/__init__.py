"""A published site inside a web application: its files, honest validators, and what passes by.

`live` is the state of one process: what the ledger knows, visits to count, pages to compare, and a thread that writes
them. `asgi` and `wsgi` wrap applications of the two kinds. Decisions are in `publish.serving`. A failure here is logged
once a minute and never reaches the application or its visitors.
"""

from .asgi import AsgiMiddleware
from .wsgi import WsgiMiddleware

__all__ = ["AsgiMiddleware", "WsgiMiddleware"]

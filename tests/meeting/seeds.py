"""Seeds of generated crawls that the tests run."""

from __future__ import annotations

from typing import Final

QUICK: Final = (14, 93, 104, 146)
"""A few that between them have every kind of host, several shards, another number of shards, deaths, events, parallel
requests, rendering, forms, rules for duplicate URLs, and a refresh."""
FOUND: Final = (1011, 3, 53, 5106, 5124, 5004, 5034, 5083)
"""Those that have found a bug: hosts of spam that were retired whenever a process started, seen links that were
forgotten then, (planted) a topic that was not committed, a crawl that was taken for one that stands still while spam
waited for sites that rest, while the rate allowed no request, or while the machine was suspended, a site given up that
another shard asks for its robots.txt (of this oracle), and requests of a paused crawl that was opened again."""

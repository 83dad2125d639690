"""Scrapling: one site from its home page, politely.

    scrapling_polite.py SEED FOLDER LIMIT

Runs in a virtual environment of its own.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from scrapling.fetchers import FetcherSession
from scrapling.spiders import ContentSpider

SEED, FOLDER, LIMIT = sys.argv[1:]


class Site(ContentSpider):
    """Every page that links of the site lead to, as Markdown."""

    name = "site"
    start_urls = (SEED,)
    allowed_domains = frozenset({urlsplit(SEED).netloc})
    robots_txt_obey = True
    concurrent_requests_per_domain = 1
    download_delay = 0.2
    autothrottle_enabled = True
    autothrottle_start_delay = 0.2
    output_dir = f"{FOLDER}/pages"
    max_pages = int(LIMIT)

    def configure_sessions(self, manager):
        """A name of its own in place of a browser's."""
        agent = {"User-Agent": "ConformanceBot/1.0 (+https://crawler.example/bot)"}
        manager.add("default", FetcherSession(stealthy_headers=False, headers=agent))


Site(crawldir=f"{FOLDER}/crawl", interval=1).start()

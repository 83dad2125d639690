"""Scrapy: one site from its home page, politely.

    scrapy_polite.py SEED FOLDER LIMIT [JOB]

`JOB` is the folder of a crawl that is continued; without it pages are visited again.

Runs in a virtual environment of its own.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
from urllib.parse import urlsplit

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SEED, FOLDER, LIMIT, *JOB = sys.argv[1:]


class Site(CrawlSpider):
    """Every page that links of the site lead to."""

    name = "site"
    start_urls = (SEED,)
    allowed_domains = (urlsplit(SEED).hostname,)
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response):
        """An item a page."""
        yield {"url": response.url, "title": response.css("title::text").get()}


process = AsyncCrawlerProcess(
    {
        "USER_AGENT": "ConformanceBot/1.0 (+https://crawler.example/bot)",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0.2,
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 0.2,
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "CLOSESPIDER_PAGECOUNT": int(LIMIT),
        "JOBDIR": JOB[0] if JOB else None,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": f"{FOLDER}/httpcache",
        "FEEDS": {f"{FOLDER}/pages.jsonl": {"format": "jsonlines"}},
    }
)
process.crawl(Site)
process.start()

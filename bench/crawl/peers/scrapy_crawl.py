"""Scrapy in three ways: as its tutorial writes it, with every setting that made it faster, and with a parser by hand.

    scrapy_crawl.py default|tuned|selectolax SEED

Runs in a virtual environment of its own. Nothing is stored: a page is fetched, its links are read and followed, as long
as they stay on the bench.
"""

# mypy: ignore-errors

from __future__ import annotations

import re
import sys

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.linkextractors import IGNORED_EXTENSIONS, LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

WITHIN = "http://127.0.1."
"""Manuals link to the whole web; the bench asks for none of it."""

NO_PAGES = frozenset(IGNORED_EXTENSIONS)
"""What the link extractor does not follow, the parser by hand does not follow either."""

DEFAULT = {"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False}
"""Scrapy's own defaults; only what would open a port is off."""

TUNED = {
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "DNSCACHE_ENABLED": True,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "DOWNLOAD_HANDLERS": {"http": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"},
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
        "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
    },
    "SPIDER_MIDDLEWARES": {
        "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
        "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    },
    "EXTENSIONS": {
        "scrapy.extensions.corestats.CoreStats": None,
        "scrapy.extensions.logstats.LogStats": None,
        "scrapy.extensions.throttle.AutoThrottle": None,
    },
}


class ByTheBook(CrawlSpider):
    """What the documentation shows: a rule with the default link extractor."""

    name = "default"
    rules = (Rule(LinkExtractor(allow=f"^{re.escape(WITHIN)}"), callback="read", follow=True),)

    def read(self, response):
        """A page has arrived; there is nothing to do with it."""


class Tuned(Spider):
    """The same link extractor without the machinery of rules."""

    name = "tuned"
    links = LinkExtractor(allow=f"^{re.escape(WITHIN)}")

    def parse(self, response):
        """Follow every link; the scheduler's filter drops the repeats."""
        if isinstance(response, HtmlResponse):
            for link in self.links.extract_links(response):
                yield Request(link.url)


class ByHand(Spider):
    """A parser in C (lexbor) and a URL parser in C++ (ada), with the repeats dropped before a Request is made."""

    name = "selectolax"

    def __init__(self):
        super().__init__()
        self.seen = set()

    def parse(self, response):
        """Only links never seen become requests, so that Scrapy's own filter has nothing left to do."""
        from ada_url import join_url
        from selectolax.lexbor import LexborHTMLParser

        if not isinstance(response, HtmlResponse):
            return
        base = response.url
        hrefs = {node.attributes.get("href") for node in LexborHTMLParser(response.body).css("a[href], area[href]")}
        for href in {href.partition("#")[0] for href in hrefs if href}:
            try:
                url = join_url(base, href)
            except ValueError:
                continue
            if url.startswith(WITHIN) and url not in self.seen and url.rpartition(".")[2] not in NO_PAGES:
                self.seen.add(url)
                yield Request(url, dont_filter=True)


WAYS = {"default": (ByTheBook, DEFAULT), "tuned": (Tuned, TUNED), "selectolax": (ByHand, TUNED)}


def main():
    """Crawl until there is nothing left."""
    way, seed = sys.argv[1:]
    spider, settings = WAYS[way]
    spider.start_urls = [seed]
    # The tuned way downloads with aiohttp, which needs asyncio to have started before Scrapy does.
    process = (CrawlerProcess if settings is DEFAULT else AsyncCrawlerProcess)(settings)
    process.crawl(spider)
    process.start()


if __name__ == "__main__":
    main()

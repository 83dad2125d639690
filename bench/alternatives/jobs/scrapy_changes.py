"""All pages that changed since the last crawl: Scrapy."""

# mypy: ignore-errors

import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Changes(CrawlSpider):
    name = "changes"
    start_urls = [sys.argv[1]]
    allowed_domains = [urlsplit(sys.argv[1]).hostname]
    rules = [Rule(LinkExtractor(), callback="compare", follow=True)]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0.1,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": "cache",
        "FEEDS": {"changes.txt": {"format": "csv", "overwrite": True}},
    }

    def parse_start_url(self, response):
        return self.compare(response)

    def compare(self, response):
        if "cached" not in response.flags:
            yield {"url": response.url}


process = CrawlerProcess()
process.crawl(Changes)
process.start()

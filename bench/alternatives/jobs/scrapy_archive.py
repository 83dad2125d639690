"""An archive of a site that is continued after a kill: Scrapy."""

# mypy: ignore-errors

import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Archive(CrawlSpider):
    name = "archive"
    start_urls = [sys.argv[1]]
    allowed_domains = [urlsplit(sys.argv[1]).hostname]
    rules = [Rule(LinkExtractor(), callback="keep", follow=True)]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0.1,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "JOBDIR": "job",
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": "cache",
        "FEEDS": {"pages.jsonl": {"format": "jsonlines"}},
    }

    def parse_start_url(self, response):
        return self.keep(response)

    def keep(self, response):
        yield {"url": response.url, "html": response.text}


process = CrawlerProcess()
process.crawl(Archive)
process.start()

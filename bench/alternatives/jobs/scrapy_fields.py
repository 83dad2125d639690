"""Titles and prices of a shop: Scrapy."""

# mypy: ignore-errors

import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Shop(CrawlSpider):
    name = "shop"
    start_urls = [sys.argv[1]]
    allowed_domains = [urlsplit(sys.argv[1]).hostname]
    rules = [Rule(LinkExtractor(), callback="product", follow=True)]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_DELAY": 0.1,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "FEEDS": {"items.csv": {"format": "csv", "overwrite": True}},
    }

    def product(self, response):
        if price := response.css(".price::text").get():
            yield {"title": response.css("h1::text").get(), "price": price}


process = CrawlerProcess()
process.crawl(Shop)
process.start()

"""All URLs of a site's sitemaps: Scrapy."""

# mypy: ignore-errors

import sys
from urllib.parse import urljoin

from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider


class Listed(SitemapSpider):
    name = "listed"
    sitemap_urls = [urljoin(sys.argv[1], "/robots.txt")]
    custom_settings = {"DOWNLOAD_DELAY": 0.1}

    def sitemap_filter(self, entries):
        for entry in entries:
            if entries.type == "urlset":
                print(entry["loc"], file=listed)
            else:
                yield entry


with open("urls.txt", "w") as listed:
    process = CrawlerProcess()
    process.crawl(Listed)
    process.start()

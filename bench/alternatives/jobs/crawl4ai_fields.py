"""Titles and prices of a shop: crawl4ai."""

# mypy: ignore-errors

import asyncio
import csv
import json
import sys

from crawl4ai import AsyncWebCrawler, CrawlerRunConfig, JsonCssExtractionStrategy
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy

schema = {
    "name": "product",
    "baseSelector": "body:has(.price)",
    "fields": [
        {"name": "title", "selector": "h1", "type": "text"},
        {"name": "price", "selector": ".price", "type": "text"},
    ],
}


async def main():
    config = CrawlerRunConfig(
        deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=100),
        extraction_strategy=JsonCssExtractionStrategy(schema),
        check_robots_txt=True,
        mean_delay=0.1,
        max_range=0,
        semaphore_count=1,
    )
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:
        with open("items.csv", "w", newline="") as file:
            for result in await crawler.arun(sys.argv[1], config=config):
                for item in json.loads(result.extracted_content or "[]"):
                    csv.writer(file).writerow([item["title"], item["price"]])


asyncio.run(main())

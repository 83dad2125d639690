"""An archive of a site that is continued after a kill: crawl4ai."""

# mypy: ignore-errors

import asyncio
import json
import sys

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy


async def main():
    config = CrawlerRunConfig(
        deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=100),
        check_robots_txt=True,
        cache_mode=CacheMode.ENABLED,
        mean_delay=0.1,
        max_range=0,
        semaphore_count=1,
    )
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:
        with open("pages.jsonl", "w") as file:
            for result in await crawler.arun(sys.argv[1], config=config):
                if result.success:
                    print(json.dumps({"url": result.url, "html": result.html}), file=file)


asyncio.run(main())

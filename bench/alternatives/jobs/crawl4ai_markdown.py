"""Markdown of every page of a manual: crawl4ai."""

# mypy: ignore-errors

import asyncio
import sys
from pathlib import Path

from crawl4ai import AsyncWebCrawler, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy


async def main():
    config = CrawlerRunConfig(
        deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=100),
        check_robots_txt=True,
        mean_delay=0.1,
        max_range=0,
        semaphore_count=1,
    )
    Path("pages").mkdir()
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:
        for result in await crawler.arun(sys.argv[1], config=config):
            if result.success:
                name = result.url.partition("//")[2].replace("/", "_")
                Path("pages", f"{name}.md").write_text(result.markdown)


asyncio.run(main())

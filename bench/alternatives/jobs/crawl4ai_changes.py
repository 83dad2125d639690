"""All pages that changed since the last crawl: crawl4ai."""

# mypy: ignore-errors

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from crawl4ai import AsyncWebCrawler, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy

last = Path("last.json")
known = json.loads(last.read_text()) if last.exists() else {}


async def main():
    config = CrawlerRunConfig(
        deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=100),
        check_robots_txt=True,
        mean_delay=0.1,
        max_range=0,
        semaphore_count=1,
    )
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:
        results = await crawler.arun(sys.argv[1], config=config)
    found = {one.url: hashlib.sha256(one.html.encode()).hexdigest() for one in results if one.success}
    changed = [url for url, digest in found.items() if known.get(url) != digest]
    Path("changes.txt").write_text("\n".join(changed))
    last.write_text(json.dumps(found))


asyncio.run(main())

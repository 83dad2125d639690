"""crawl4ai without a browser: one site from its home page, politely.

    crawl4ai_polite.py SEED FOLDER LIMIT continue|again

Runs in a virtual environment of its own, with CRAWL4_AI_BASE_DIRECTORY set.
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from crawl4ai import AsyncWebCrawler, BrowserConfig, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy

SEED, FOLDER, LIMIT, WAY = sys.argv[1:]
STATE = Path(FOLDER, "state.json")
AGENT = "ConformanceBot/1.0 (+https://crawler.example/bot)"


async def save(state: dict) -> None:
    """Called after each page."""
    STATE.write_text(json.dumps(state))


async def main() -> None:
    """Crawl until nothing is left."""
    config = CrawlerRunConfig(
        deep_crawl_strategy=BFSDeepCrawlStrategy(
            max_depth=100,
            max_pages=int(LIMIT),
            resume_state=json.loads(STATE.read_text()) if WAY == "continue" and STATE.exists() else None,
            on_state_change=save,
        ),
        check_robots_txt=True,
        cache_mode=CacheMode.ENABLED if WAY == "continue" else CacheMode.WRITE_ONLY,
        mean_delay=0.2,
        max_range=0,
        semaphore_count=1,
    )
    fetching = AsyncHTTPCrawlerStrategy(HTTPCrawlerConfig(headers={"User-Agent": AGENT}))
    async with AsyncWebCrawler(crawler_strategy=fetching, config=BrowserConfig(user_agent=AGENT)) as crawler:
        for result in await crawler.arun(SEED, config=config):
            print(result.url, result.success)


asyncio.run(main())

"""Crawlee for Python: one site from its home page, politely.

    crawlee_polite.py SEED FOLDER LIMIT continue|again

Runs in a virtual environment of its own.
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urlsplit

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import ThrottlingRequestManager
from crawlee.storages import RequestQueue

SEED, FOLDER, LIMIT, WAY = sys.argv[1:]


async def main() -> None:
    """Crawl until nothing is left."""
    configuration = service_locator.get_configuration()
    configuration.purge_on_start = WAY == "again"
    configuration.storage_dir = FOLDER
    throttled = ThrottlingRequestManager(
        await RequestQueue.open(), domains=[urlsplit(SEED).hostname], request_manager_opener=RequestQueue.open
    )
    crawler = ParselCrawler(
        request_manager=throttled,
        http_client=ImpitHttpClient(
            browser=None, headers={"User-Agent": "ConformanceBot/1.0 (+https://crawler.example/bot)"}
        ),
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=1, desired_concurrency=1, max_concurrency=1, max_tasks_per_minute=300
        ),
        max_requests_per_crawl=int(LIMIT),
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        await context.push_data({"url": context.request.url, "title": context.selector.css("title::text").get()})
        await context.enqueue_links()

    await crawler.run([SEED])


asyncio.run(main())

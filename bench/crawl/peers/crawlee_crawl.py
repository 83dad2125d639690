"""Crawlee for Python with its Parsel crawler, storage in memory so that no disk slows it.

    crawlee_crawl.py SEED

Runs in a virtual environment of its own.
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import logging
import re
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

WITHIN = re.compile(r"http://127\.0\.1\.")
"""Manuals link to the whole web; the bench asks for none of it."""


async def main() -> None:
    """Crawl until there is nothing left."""
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        # It starts with ten at once and grows slowly: a short run would measure only that.
        concurrency_settings=ConcurrencySettings(min_concurrency=16, desired_concurrency=32, max_concurrency=64),
        max_request_retries=0,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def follow(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="all", include=[WITHIN])

    await crawler.run(sys.argv[1:])


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())

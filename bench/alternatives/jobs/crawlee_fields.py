"""Titles and prices of a shop: Crawlee."""

# mypy: ignore-errors

import asyncio
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler


async def main():
    crawler = ParselCrawler(
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=1, desired_concurrency=1, max_concurrency=1, max_tasks_per_minute=600
        ),
    )

    @crawler.router.default_handler
    async def product(context):
        if price := context.selector.css(".price::text").get():
            await context.push_data({"title": context.selector.css("h1::text").get(), "price": price})
        await context.enqueue_links()

    await crawler.run([sys.argv[1]])
    await crawler.export_data("items.csv")


asyncio.run(main())

"""An archive of a site that is continued after a kill: Crawlee."""

# mypy: ignore-errors

import asyncio
import sys

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler

service_locator.get_configuration().purge_on_start = False


async def main():
    crawler = ParselCrawler(
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=1, desired_concurrency=1, max_concurrency=1, max_tasks_per_minute=600
        ),
    )

    @crawler.router.default_handler
    async def keep(context):
        await context.push_data({"url": context.request.url, "html": context.selector.get()})
        await context.enqueue_links()

    await crawler.run([sys.argv[1]])


asyncio.run(main())

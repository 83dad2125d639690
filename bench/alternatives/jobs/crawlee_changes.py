"""All pages that changed since the last crawl: Crawlee."""

# mypy: ignore-errors

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler

last = Path("last.json")
known = json.loads(last.read_text()) if last.exists() else {}


async def main():
    crawler = ParselCrawler(
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=1, desired_concurrency=1, max_concurrency=1, max_tasks_per_minute=600
        ),
    )
    found = {}

    @crawler.router.default_handler
    async def compare(context):
        url = context.request.url.partition("#")[0]
        found[url] = hashlib.sha256(await context.http_response.read()).hexdigest()
        await context.enqueue_links()

    await crawler.run([sys.argv[1]])
    changed = [url for url, digest in found.items() if known.get(url) != digest]
    Path("changes.txt").write_text("\n".join(changed))
    last.write_text(json.dumps(found))


asyncio.run(main())

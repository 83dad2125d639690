"""All URLs of a site's sitemaps: crawl4ai."""

# mypy: ignore-errors

import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit

from crawl4ai import AsyncUrlSeeder, SeedingConfig


async def main():
    async with AsyncUrlSeeder() as seeder:
        found = await seeder.urls(urlsplit(sys.argv[1]).netloc, SeedingConfig(source="sitemap"))
    Path("urls.txt").write_text("\n".join(one["url"] for one in found))


asyncio.run(main())

"""All URLs of a site's sitemaps: Crawlee."""

# mypy: ignore-errors

import asyncio
import sys
from urllib.parse import urljoin

from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader


async def main():
    loader = SitemapRequestLoader([urljoin(sys.argv[1], "/sitemap.xml")], ImpitHttpClient())
    with open("urls.txt", "w") as file:
        while not await loader.is_finished():
            if request := await loader.fetch_next_request():
                print(request.url, file=file)
                await loader.mark_request_as_handled(request)


asyncio.run(main())

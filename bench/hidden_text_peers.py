"""What other programs make of pages: runs in the environment of such a program, without Periplus.

    python hidden_text_peers.py PROGRAM < PAGES > TEXTS

`PAGES` is a list of HTML in JSON; `TEXTS` has by the name of an output a list with the text of each page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import redirect_stdout


def trafilatura(pages: list[str]) -> dict[str, list[str]]:
    """Text, and Markdown with images and links."""
    from trafilatura import extract  # type: ignore[import-not-found, unused-ignore]

    kept = {"output_format": "markdown", "include_images": True, "include_links": True}
    return {
        "trafilatura": [extract(page) or "" for page in pages],
        "trafilatura, Markdown": [extract(page, **kept) or "" for page in pages],
    }


def crawl4ai(pages: list[str]) -> dict[str, list[str]]:
    """The Markdown of the page, and its "fit" Markdown, without a browser."""
    return asyncio.run(_crawled(pages))


async def _crawled(pages: list[str]) -> dict[str, list[str]]:
    from crawl4ai import (  # type: ignore[import-not-found, unused-ignore]
        AsyncWebCrawler,
        CrawlerRunConfig,
        DefaultMarkdownGenerator,
        PruningContentFilter,
    )
    from crawl4ai.async_crawler_strategy import (  # type: ignore[import-not-found, unused-ignore]
        AsyncHTTPCrawlerStrategy,
    )

    generator = DefaultMarkdownGenerator(content_filter=PruningContentFilter())
    config = CrawlerRunConfig(markdown_generator=generator, verbose=False)
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy()) as crawler:
        found = [(await crawler.arun(f"raw:{page}", config=config)).markdown for page in pages]
    return {
        "crawl4ai": [one.raw_markdown for one in found],
        "crawl4ai, fit": [one.fit_markdown for one in found],
    }


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):  # crawl4ai writes its progress, and advertising, to the output
        texts = {"trafilatura": trafilatura, "crawl4ai": crawl4ai}[sys.argv[1]](json.load(sys.stdin))
    json.dump(texts, sys.stdout)

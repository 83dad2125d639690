"""Runs a Scrapy program in another process. Scrapy takes seconds to import: only that process does."""

from __future__ import annotations


def run_spider(kind: str, folder: str, start: str, items: str, proxy: str) -> None:
    """Run a spider of `scrapy_spider` to its end."""
    from bridges.scrapy.tests.scrapy_spider import main

    main(kind, folder, start, items, proxy)

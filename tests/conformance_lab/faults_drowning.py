"""Faults that drown a crawler."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.conformance_lab.small_crawler import SmallCrawler


class LeavesTheHost(SmallCrawler):
    """Follows links to every host."""

    def is_in_scope(self, url: str) -> bool:
        return urlsplit(url).scheme == "http"


FAULTS = {"leaves-the-host": LeavesTheHost}
FAILS = {}

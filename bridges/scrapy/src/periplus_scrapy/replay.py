"""Spiders over a collection, without the web: requests are answered from its archive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from periplus.collection.collection import existing
from periplus.model import CollectionDamaged, PeriplusError, Url
from periplus.store.export.captures import Capture, latest_captures
from periplus.store.warc import read_record
from periplus.urls import canonical


class NotArchived(PeriplusError):  # noqa: N818 - reads as what is the case
    """The collection has no answer to a request."""


class ReplayHandler(BaseDownloadHandler):
    """`DOWNLOAD_HANDLERS = {"http": "periplus_scrapy.ReplayHandler", "https": ...}` with `PERIPLUS_DIR`.

    A URL that is not in the collection is an error, `not-archived`. The places of all last versions are held in memory:
    some 500 bytes for each URL.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        folder = crawler.settings.get("PERIPLUS_DIR")
        if not folder:
            raise NotConfigured("PERIPLUS_DIR is not set: give the folder of a collection")
        self._archive = existing(Path(folder)).layout.warc
        self._captures = {capture.url: capture for capture in captures(Path(folder))}

    async def download_request(self, request: Request) -> Response:
        """The last version of a page."""
        url = canonical(request.url)
        capture = None if url is None else self._captures.get(url)
        if capture is None:
            raise NotArchived(
                f"not-archived: {request.url} is not in the collection", hint="crawl it, or leave the handler out"
            )
        return response_of(self._archive, capture, request)


class CollectionSpider(Spider):
    """A spider over all pages of a collection: give it `parse`, and `PERIPLUS_DIR` in its settings."""

    name = "collection"
    custom_settings = {  # noqa: RUF012 (as Scrapy has it)
        "DOWNLOAD_HANDLERS": {
            "http": "periplus_scrapy.ReplayHandler",
            "https": "periplus_scrapy.ReplayHandler",
        },
        "ROBOTSTXT_OBEY": False,
        "REDIRECT_ENABLED": False,
        "METAREFRESH_ENABLED": False,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "CONCURRENT_ITEMS": 4,  # Scrapy starts this number of tasks for every response, 100 by default
    }
    site = ""
    """Only pages of this host, if it is set."""

    async def start(self) -> AsyncIterator[Any]:
        """A request for each page."""
        for capture in captures(Path(self.settings["PERIPLUS_DIR"])):
            if not self.site or capture.url.split("/", 3)[2] == self.site:
                yield Request(capture.url, dont_filter=True)


def captures(folder: Path) -> list[Capture]:
    """The last version of every page that has a body."""
    layout = existing(folder).layout
    return [each for each in latest_captures(layout.tables, layout.spooled) if each.body_at is not None]


def response_of(archive: Path, capture: Capture, request: Request) -> Response:
    """An archived answer as Scrapy has it: status, headers and body as they came, with the flag `periplus`."""
    try:
        message = read_record(archive, capture.body_at or capture.stored).message()
    except CollectionDamaged as error:
        raise NotArchived(f"not-archived: {capture.url}: {error}", hint="periplus repair may help") from error
    headers = Headers()
    for name, value in message.fields:
        headers.appendlist(name, value)
    kind = responsetypes.from_args(headers=headers, url=request.url, body=message.body)
    return kind(
        Url(request.url), status=capture.status, headers=headers, body=message.body, flags=["periplus"], request=request
    )

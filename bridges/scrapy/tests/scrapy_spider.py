"""Scrapy programs for the tests. Each runs in a process of its own, because a reactor starts only once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scrapy import FormRequest, Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.link import Link
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from periplus_scrapy import CollectionSpider


def keep(spider: Spider, **item: Any) -> None:
    """Append an item; a process that is killed loses none that was kept."""
    with Path(spider.settings["ITEMS"]).open("a") as file:
        file.write(json.dumps(item) + "\n")


class Following(CrawlSpider):
    """Follows every link of one host."""

    name = "following"
    rules = (Rule(LinkExtractor(), callback="read", process_links="of_this_host", follow=True),)

    def of_this_host(self, links: list[Link]) -> list[Link]:
        return [link for link in links if link.url.startswith(self.start_urls[0])]

    def read(self, response: Response) -> Iterator[Any]:
        keep(self, url=response.url)
        return iter(())

    def parse_start_url(self, response: Response, **kwargs: Any) -> Any:
        return self.read(response)


class Asking(Spider):
    """Asks for what a frontier of URLs alone cannot hold, and for what goes wrong."""

    name = "asking"

    def parse(self, response: Response) -> Iterator[Any]:
        keep(self, step="start", status=response.status)
        base = response.url
        yield Request(base + "moved", self.read, cb_kwargs={"step": "moved"})
        yield Request(base + "busy", self.read, cb_kwargs={"step": "busy"})
        yield Request(base + "private/x", self.read, cb_kwargs={"step": "private"})
        yield Request(base + "missing", self.read, errback=self.failed, cb_kwargs={"step": "missing"})
        yield FormRequest(base + "form", formdata={"a": "1"}, callback=self.read, cb_kwargs={"step": "form"})
        yield Request(base + "nameless", partial(self.read, step="nameless"))
        yield Request(base + "twice", self.read, cb_kwargs={"step": "twice"}, dont_filter=True)
        yield Request(base + "twice", self.read, cb_kwargs={"step": "twice"}, dont_filter=True)

    def read(self, response: Response, step: str) -> None:
        keep(self, step=step, url=response.url, body=response.text, status=response.status)

    def failed(self, failure: Any) -> None:
        keep(self, step="errback", what=type(failure.value).__name__)


class Reading(CollectionSpider):
    """Reads every page of a collection."""

    def parse(self, response: Response) -> Iterator[Any]:
        keep(
            self,
            url=response.url,
            flags=response.flags,
            title=response.css("title::text").get(),
            length=len(response.body),
        )
        return iter(())


SPIDERS: dict[str, type[Spider]] = {"following": Following, "asking": Asking, "reading": Reading}


def main(kind: str, folder: str, start: str, items: str, proxy: str = "") -> None:
    """Run a spider."""
    settings: dict[str, Any] = {
        "PERIPLUS_DIR": folder,
        "PERIPLUS_OPTIONS": {
            "politeness.slow_factor": 0.0,
            "retries.backoff": 0.05,
            "retries.max_backoff": 0.1,
            "crawl.random_seed": "1",
        },
        "DOWNLOAD_DELAY": 0.01,
        "ITEMS": items,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
    }
    if kind != "reading":
        settings["ADDONS"] = {"periplus_scrapy.Addon": 300}
    if proxy:
        os.environ["http_proxy"] = proxy
    process = CrawlerProcess(settings)
    process.crawl(SPIDERS[kind], start_urls=[start])
    process.start()

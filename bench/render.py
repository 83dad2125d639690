"""An application of 300 pages in a browser, and pages that are hard on one: what they cost, beside the bars.

The application of the lab is crawled with its scripts: every page and link must be found, with at most 3.5 requests a
page. Then each page of the lab's site of troubles is opened by itself. Seconds depend on the machine, requests do not.

    python -m bench.render [PAGES]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.fetch import opened_by
from periplus.model import Fetched
from periplus.store.warc import archived_answers
from periplus_lab.applications import (
    APPLICATION,
    ENDLESS,
    GROWING,
    LOOP,
    MEMORY,
    PAGES,
    POLLER,
    TROUBLE,
    ApplicationWorld,
)
from periplus_lab.server import RunningLab, Server, SteppedClock

MOST_REQUESTS = 3.5
"""Requests a page."""
BARS = {POLLER: 8.0, LOOP: 10.0, MEMORY: 10.0, ENDLESS: 17.0, GROWING: 8.0}
"""Seconds for each page of trouble, on a machine that is not busy."""


def settings(lab: RunningLab) -> Config:
    """A crawl of the lab without delays; as root Chromium has no sandbox."""
    return Config().with_options(
        {
            "dns.hosts": dict(lab.resolver),
            "scope.kind": "host",
            "sitemaps.follow": False,
            "politeness.delay": 0.0,
            "politeness.slow_factor": 0.0,
            "render.mode": "when-needed",
            "render.sandbox": os.geteuid() != 0,
        }
    )


def crawled(lab: RunningLab, folder: Path, seeds: list[str]) -> float:
    """Crawl to the end; how many seconds it took."""
    folder.mkdir()
    began_at = time.monotonic()
    urls = seeds_from(seeds)
    config = settings(lab).with_options({"wire.allow_private": opened_by(urls, lab.resolver, ())})
    open_crawl(config, folder, urls, 1).run()
    took = time.monotonic() - began_at
    settle(folder)
    return took


def rows(folder: Path, table: str, columns: str) -> list[tuple[Any, ...]]:
    """Some columns of a table."""
    with duckdb.connect() as database:
        return database.execute(f"select {columns} from '{folder}/tables/{table}/*.parquet'").fetchall()


def main(size: int) -> None:
    """Print what was found and what it cost."""
    world = ApplicationWorld(7, 1, size=size)
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab, tempfile.TemporaryDirectory() as home:
        folder = Path(home, "application")
        took = crawled(lab, folder, [lab.url(APPLICATION)])
        requests = lab.log.total
        truth = {page.url: page for page in world.pages(lab.port)}
        titles: dict[str, str] = dict(rows(folder, "pages", "url, title"))
        links = {(page, target) for page, target in rows(folder, "links", "page, target") if page != target}
        wanted = {(url, target) for url, page in truth.items() for target in page.links if target != url}
        right = sum(titles.get(url) == page.title for url, page in truth.items())
        print(f"pages     {right} of {len(truth)}")
        print(f"links     {len(wanted & links)} of {len(wanted)}, {len(links - wanted)} others")
        print(f"requests  {requests}: {requests / len(truth):.2f} a page (at most {MOST_REQUESTS})")
        print(f"seconds   {took:.1f}: {took / len(truth):.2f} a page")
        for path, most in BARS.items():
            trouble = Path(home, path.strip("/"))
            crawled(lab, trouble, [lab.url(TROUBLE, path)])
            (rendering,) = [
                each.outcome.rendering
                for each in archived_answers(trouble / "warc", 0)
                if isinstance(each.outcome, Fetched) and each.outcome.rendering is not None
            ]
            print(f"{path:9} {rendering.seconds:.1f} s (at most {most:g}) {rendering.reason}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES)

"""Crawls of one world by each way of sharing a budget between links and sitemaps, and what each of them yields.

Every way crawls over HTTP with the same number of requests for pages; robots.txt and sitemap files are counted apart.
The world decides what a request yielded, not the crawler: a page counts once, by any of its names, if it exists and may
be indexed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from tests.lab.cluttered_world import ClutteredWorld

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus_lab.log import Visit
from periplus_lab.server import RunningLab, Server, SteppedClock

WAYS: Mapping[str, Mapping[str, object]] = {
    "links alone": {"sitemaps.follow": False},
    "sitemaps alone": {"reading.follow_links": False},
    "half and half": {"balance.is_fixed": True},
    "Figure 8, strict": {"balance.is_strict": True},
    "balance": {},
}
BALANCE = "balance"
_HURRIED = {
    "sitemaps.follow": True,
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "retries.backoff": 0.02,
    "scope.kind": "host",
}


class Yield(Struct, frozen=True):
    """What came of a budget. `unique` is by site; `files` are the requests that the budget does not count."""

    requests: int
    files: int
    unique: Mapping[str, int]

    @property
    def total(self) -> int:
        """Of all sites."""
        return sum(self.unique.values())


def crawled(world: ClutteredWorld, options: Mapping[str, object], budget: int, folder: Path) -> list[Visit]:
    """Crawl until at least this many pages were requested; what the servers saw."""
    seeds = [site.url for site in world.sites()]
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        asked = {"wire.proxy": lab.base, "crawl.limit": budget}
        config = Config().with_options({**_HURRIED, **asked, **options})
        config.check()
        open_crawl(config, folder, seeds_from(seeds), 1).run()
        return lab.log.visits()


def harvest(world: ClutteredWorld, visits: Iterable[Visit], budget: int) -> Yield:
    """What the first requests for pages brought, by the world's truth."""
    names = {copy.url: copy.of for copy in world.duplicates()}
    requests, files = 0, 0
    seen: set[str] = set()
    unique: Counter[str] = Counter()
    for visit in visits:
        if visit.target.startswith(("/robots.txt", "/sitemap", "/feed.xml")):
            files += 1
        elif requests < budget:
            requests += 1
            url = world.unspelt(visit.url)
            url = names.get(url, url)
            if visit.status == 200 and url not in seen and is_worth(world, url):
                seen.add(url)
                unique[visit.host] += 1
    return Yield(requests, files, unique)


def is_worth(world: ClutteredWorld, url: str) -> bool:
    """Whether a page is there, and may be indexed."""
    return world.exists(url, world.epoch) and b'content="noindex"' not in world.content(url, world.epoch)

"""Collections that pages are shown of: crawls of the lab as the command line makes them, one of them hostile."""

from __future__ import annotations

from pathlib import Path

from tests.lab.crawling import by_proxy, standing

from periplus.collection.collection import planned
from periplus.collection.opening import open_crawl, settle
from periplus_lab import World
from periplus_lab.sites import Profile

PROFILES = (Profile.SHOP, Profile.NEWS, Profile.PARTIAL)
HURRIED = {
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "retries.backoff": 0.02,
    "sitemaps.follow": True,
    "patterns.exclude": ["*from=sitemap*"],
    "crawl.workers": 1,
}


def crawled(folder: Path, pages: int = 30, sites: tuple[Profile, ...] = PROFILES) -> Path:
    """Crawl some sites of the lab by links and sitemaps."""
    world = World(11, len(sites), pages=pages, profiles=sites)
    with standing(world) as lab:
        collect(folder, [site.url for site in world.sites()], by_proxy(lab) | HURRIED)
    return folder


def collect(folder: Path, seeds: list[str], options: dict[str, object]) -> Path:
    """Crawl into a folder to the end, with its settings written down."""
    found = planned(folder, typed=seeds, options=options)
    found.save()
    open_crawl(found.config, folder, found.seeds, found.workers).run()
    settle(folder)
    return folder

"""Two sources, one budget: what a crawl brings by links alone, by sitemaps alone, by halves, and by balance.

Worlds of the lab in which one source of each site is bad: forgotten sitemaps beside good links, and good sitemaps
beside links that lead astray (`bench.cluttered_world`). Every way of sharing the budget crawls the same world over
HTTP, and is given the same number of requests for pages; robots.txt and sitemap files are counted apart. What a request
brought is the world's to say, not the crawler's: a page counts once, if it is there and may be indexed, by whatever
name it came.

    python -m bench.balance --seeds 1 2 3 --budget 2400
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bench.cluttered_world import ClutteredWorld
from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus_lab.log import Visit
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import Profile

TRUE, FORGOTTEN = (Profile.BUILD, Profile.ARCHIVE, Profile.ALWAYS_NOW), Profile.STALE
PROFILES = (TRUE[0], FORGOTTEN, TRUE[1], FORGOTTEN, TRUE[2], FORGOTTEN)
"""What the sites of a world say of themselves, in turn."""

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


def world_of(seed: int, sites: int, pages: int) -> ClutteredWorld:
    """Sites of which one source is bad, half of them the one, half the other."""
    return ClutteredWorld(seed, sites, pages=pages, profiles=PROFILES, of=frozenset(TRUE))


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


def compare(world: ClutteredWorld, budget: int, ways: Mapping[str, Mapping[str, object]] = WAYS) -> dict[str, Yield]:
    """Every way on the same world."""
    found = {}
    for way, options in ways.items():
        with tempfile.TemporaryDirectory(prefix="balance-") as folder:
            found[way] = harvest(world, crawled(world, options, budget, Path(folder)), budget)
    return found


def table(worlds: Sequence[Mapping[str, Yield]], seeds: Sequence[int]) -> list[str]:
    """Unique pages by seed and way, and how much more balance brought, as Markdown."""
    lines = [f"| way | {' | '.join(f'seed {seed}' for seed in seeds)} | mean | balance brings |"]
    lines.append("|---|" + "---:|" * (len(seeds) + 2))
    means = {way: statistics.mean(world[way].total for world in worlds) for way in worlds[0]}
    for way, mean in means.items():
        totals = " | ".join(f"{world[way].total:,}" for world in worlds)
        gain = "" if way == BALANCE else f"{means[BALANCE] / mean - 1:+.1%}"
        lines.append(f"| {way} | {totals} | {mean:,.0f} | {gain} |")
    return lines


def by_site(world: ClutteredWorld, found: Mapping[str, Yield]) -> list[str]:
    """What each way brought of each site of one world."""
    lines = [f"| site | sitemap | links | {' | '.join(found)} |", "|---|---|---|" + "---:|" * len(found)]
    for site in world.sites():
        pages = " | ".join(f"{each.unique.get(site.host, 0):,}" for each in found.values())
        lines.append(f"| {site.host} | {site.profile.value} | {world.kind_of(site.host) or 'good'} | {pages} |")
    return lines


def main() -> int:
    """Compare on several worlds, and print the tables."""
    ask = argparse.ArgumentParser(prog="python -m bench.balance", description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    ask.add_argument("--sites", type=int, default=6)
    ask.add_argument("--pages", type=int, default=20_000, help="of all sites of a world, about")
    ask.add_argument("--budget", type=int, default=2_400, help="requests for pages, of all sites together")
    asked = ask.parse_args()
    worlds = []
    for seed in asked.seeds:
        world = world_of(seed, asked.sites, asked.pages)
        worlds.append(compare(world, asked.budget))
        print("\n".join([f"### seed {seed}", "", *by_site(world, worlds[-1]), ""]), flush=True)
    print("\n".join(table(worlds, asked.seeds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

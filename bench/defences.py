"""What the defences against a hostile web cost: processor time of the crawler for each page, all on and all off.

`python -m bench.defences` crawls the lab's honest sites with budgets, spam counts, DUST rules and absence on, and then
with all of them off, in turns, and prints the microseconds a page of each run. The lab's own time is not counted. With
`--default` only what is on by default is on: budgets and spam counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

from periplus.assembly import open_crawl, seeds_from
from periplus.config import Config
from periplus.content import statistics_of
from periplus.lab.web import World
from periplus.lab.web.clock import SteppedClock
from periplus.lab.web.running import RunningLab
from periplus.lab.web.server import Server
from periplus.lab.web.sites import DOMAIN
from periplus.model import PageStatistics

SETTINGS = {
    "on": {"budgets.domain": "trust", "dust.enabled": True, "absence.enabled": True, "spam.enabled": True},
    "off": {"budgets.domain": "none", "dust.enabled": False, "absence.enabled": False, "spam.enabled": False},
}


def cost(world: World, options: dict[str, object], pages: int, *, counts: bool) -> float:
    """Microseconds a page of a crawl in this thread."""
    seeds = seeds_from([site.url for site in world.sites()])
    config = Config().with_options(
        options
        | {"sitemaps.follow": False, "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "crawl.limit": pages}
        | {"scope.kind": "any", "scope.suffixes": (DOMAIN,)}
    )
    statistics = statistics_of if counts else lambda *_given: PageStatistics()
    with tempfile.TemporaryDirectory() as folder, patch("periplus.content.html.statistics_of", statistics):
        begun = time.thread_time()
        open_crawl(config, Path(folder) / "c", seeds, 1).run()
        return (time.thread_time() - begun) / pages * 1e6


def main() -> None:
    """Crawl in turns, and print each run and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000, help="pages of a crawl")
    parser.add_argument("--turns", type=int, default=5, help="crawls of each kind")
    parser.add_argument("--default", action="store_true", help="on: only what is on by default")
    asked = parser.parse_args()
    off = {"dust.enabled": False, "absence.enabled": False} if asked.default else {}
    world = World(7, 40, pages=2 * asked.pages)
    found: dict[str, list[float]] = {name: [] for name in SETTINGS}
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        for turn in range(asked.turns + 1):
            for name, options in SETTINGS.items():
                given: dict[str, object] = {**options, **off, "wire.proxy": lab.base}
                value = cost(world, given, asked.pages, counts=name == "on")
                if turn:  # the first of each is for caches
                    found[name].append(value)
                    print(f"{name:3} {value:8.0f} microseconds a page", flush=True)
    costly, plain = median(found["on"]), median(found["off"])
    print(f"median {costly:.0f} on, {plain:.0f} off: {costly / plain - 1:+.1%}")


if __name__ == "__main__":
    main()

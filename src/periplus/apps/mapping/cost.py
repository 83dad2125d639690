"""Settings and folder of a map (a crawl of robots.txt, sitemaps and feeds only), and the cost of a crawl in advance.

`estimate` makes a map of the sites of a crawl in a temporary collection and applies the crawl's checks to the URLs
listed there. Metadata archives give the size of each file (Brandman et al. 2000, section 3.1), sitemaps the number of
URLs, and the politeness delays the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.collection import CollectionSetup, held, states
from periplus.collection.config.settings import Config
from periplus.collection.options import with_fixed
from periplus.collection.running import CrawlRun
from periplus.engine.plugins import OwnParts
from periplus.insight.listed import listed_urls
from periplus.model import UsageError
from periplus.store.layout import Layout

from .listed_urls import Judging, SiteCost


def map_settings(folder: Path, asked: Mapping[str, object]) -> dict[str, object]:
    """The settings of a crawl that fetches no pages: what a site publishes about itself, in one shard if it is new."""
    workers = {} if Layout(folder).shards else {"crawl.workers": 1}
    return with_fixed({**workers, **asked}, {"sitemaps.only": True, "sitemaps.follow": True}, "map")


@contextmanager
def map_folder(out: Path | None) -> Iterator[Path]:
    """The folder of a map: the one that was named, or one that is removed afterwards."""
    if out is None:
        with TemporaryDirectory(prefix="periplus-map-") as folder:
            yield Path(folder)
        return
    path = Layout(out).settings
    if path.is_file() and not Config.load(path).value("sitemaps.only"):
        raise UsageError(f"{out} is a crawl of pages, not a map", hint="name another folder, or none")
    yield out


class CrawlCost(Struct, frozen=True):
    """Files or pages that would be fetched, their bytes as far as these are known, and the seconds of the slowest site.

    `sized`: of how many URLs the size is known. `within`: how many of these fit into `max_bytes`, in the order of the
    lists; `None` without such a bound.
    """

    urls: int
    sized: int
    bytes: int
    seconds: float
    sites: tuple[SiteCost, ...]
    within: int | None = None


def estimate(collection: CollectionSetup) -> CrawlCost:
    """Read what the sites of a crawl list, and sum it up. Nothing is written to the folder of the crawl."""
    with TemporaryDirectory(prefix="periplus-estimate-") as name:
        folder = Path(name) / "lists"
        lists = {"sitemaps.only": True, "sitemaps.follow": True, "crawl.workers": 1, "crawl.limit": 0}
        plan = replace(collection, folder=folder, config=collection.config.with_options(lists), is_new=True)
        plan.folder.mkdir()
        with held(folder):
            plan.save()
            run = CrawlRun(plan, parts=OwnParts(credentials=plan.credentials))
            for statuses in run.open().progress():
                run.read(statuses)
            run.end()
            return _cost(plan, Path(name), collection.config.crawl.max_bytes)


def _cost(plan: CollectionSetup, folder: Path, max_bytes: int) -> CrawlCost:
    scratch = folder / "scratch"
    scratch.mkdir()
    spooled = plan.layout.spooled  # before the states are opened, which can be done once in a process
    within = planned = 0
    with states(plan.layout) as opened:
        judging = Judging(plan, opened)
        for each in listed_urls(plan.layout.tables, scratch, judging.names, spooled=spooled):
            if not judging.judge(each).reason and each.size is not None and planned + each.size <= max_bytes:
                planned += each.size
                within += 1
        costs = judging.costs()
        sites = tuple(sorted(costs, key=lambda cost: (-cost.seconds, cost.site)))
        sums = sum(cost.urls for cost in sites), sum(cost.sized for cost in sites), sum(cost.bytes for cost in sites)
        return CrawlCost(*sums, judging.pace().seconds, sites, within if max_bytes else None)

"""A crawl of a collection: begun now, or continued."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from periplus.engine.clock import SystemClock, Timescale
from periplus.engine.frontier import robots_url
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.part import Setup
from periplus.engine.plugins import NO_PARTS, OwnParts
from periplus.engine.sharding import CrawlLimits, Gather, ShardedCrawl
from periplus.engine.stats import CrawlStats
from periplus.model import ConfigError, Discovery, Purpose, Source, Url
from periplus.policy.filters import MediaTypes
from periplus.store import MessageInbox, is_begun, known_ranks
from periplus.store.durable import move
from periplus.store.layout import Layout, meta_of
from periplus.store.tables import SCHEMAS
from periplus.store.tables.files import files_of
from periplus.store.warc import merge_indexes

from .config.settings import Config
from .crawl_parts import check_parts, rank_pages
from .resizing import check_whole
from .shards import ShardMaker, learning_name


def open_crawl(
    config: Config,
    folder: Path,
    seeds: Sequence[Url],
    workers: int,
    *,
    watches: bool = False,
    revisits_only: bool = False,
    scale: Timescale | None = None,
    gather: Gather | None = None,
    parts: OwnParts = NO_PARTS,
    ends_unreachable: bool = False,
) -> ShardedCrawl:
    """A crawl of a collection from these seeds, by `workers` processes; begun now or continued.

    One that `watches` revisits pages within its budget until it is stopped; with `revisits_only`, only pages that wait
    to be visited again are fetched (see `refreshing`). `scale` is for a web with a time of its own. `gather` and
    `ends_unreachable`: see `ShardedCrawl`. `parts` are the program's own filter, ordering and credentials.
    """
    layout = Layout(folder)
    check_whole(layout)
    setup = Setup(config, layout, seeds=tuple(seeds), shards=workers, revisits_only=revisits_only)
    if gather is None:
        check_parts(setup)
    if layout.shards not in (0, workers):
        raise ConfigError(
            f"{folder} was begun with {layout.shards} workers and cannot be continued with {workers}",
            hint=f"use --workers {layout.shards}, or first periplus cluster resize {folder} {workers}",
        )
    check_ordering(config, layout)
    parts.check_sendable(workers)
    _check_files(layout, workers)
    if not layout.shards:
        _found(layout, workers)
    if config.ordering.by:
        keep_earlier_ranks(config, layout)
    visits_a_day = budget(config, layout) if watches else 0.0
    rank_pages(replace(setup, visits_a_day=visits_a_day), config)
    now = SystemClock(scale).now()
    # shards count every page that they fetch, also again
    pages = config.crawl.limit + _stats_of(layout).revisits if config.crawl.limit else None
    return ShardedCrawl(
        ShardMaker(config, folder.resolve(), tuple(seeds), visits_a_day, scale, 0, revisits_only, parts),
        workers,
        seeds=() if revisits_only else [seed_discovery(config, seed, now) for seed in seeds],
        limits=CrawlLimits(pages, config.crawl.max_bytes or None, config.crawl.duration or None),
        gather=gather,
        inbox=MessageInbox(layout.inbox),
        ends_unreachable=ends_unreachable,
    )


def _check_files(layout: Layout, workers: int) -> None:
    """Refuse to crawl where the state of a shard is lost, or a finished Parquet file is missing or too short."""
    for number in range(workers):
        layout.check_begun(number)
    spooled = layout.spooled
    for table in SCHEMAS:
        files_of(layout.tables, table, spooled)


def seed_discovery(config: Config, seed: Url, now: float) -> Discovery:
    """A seed; where no pages are wanted, or not before its site's lists, the robots.txt of its site in its place."""
    media = MediaTypes(config.media)
    if config.sitemaps.only or (media and not media.wants_url(seed)):
        return Discovery(robots_url(seed), Source.SEED, now, purpose=Purpose.ROBOTS)
    return Discovery(seed, Source.SEED, now)


def _found(layout: Layout, workers: int) -> None:
    """Make the folders of all shards appear at once: a reader that counts them finds all or none."""
    draft = layout.folder / "state.new"
    shutil.rmtree(draft, ignore_errors=True)
    for number in range(workers):
        (draft / layout.shard(number).name).mkdir(parents=True, exist_ok=True)
    move(draft, layout.folder / "state")


def check_ordering(config: Config, layout: Layout) -> None:
    """Raise `ConfigError` if the crawl cannot use, or cannot be continued with, the configured ordering.

    The scores and queue positions of an ordering that learns are meaningless to another. An ordering by an earlier
    collection needs that collection until its ranks were computed.
    """
    earlier = Layout(Path(config.ordering.by).resolve())
    if config.ordering.by and not earlier.shards and not layout.ranks(earlier.folder).is_file():
        raise ConfigError(
            f"{earlier.folder} is not a collection", hint="name an earlier collection with --order-by DIR"
        )
    asked = learning_name(config)
    for number in range(layout.shards):
        folder = layout.shard(number)
        meta = meta_of(folder, ShardMeta) if is_begun(folder) else None
        if meta is not None and meta.commits:
            before = meta.ordering
            if before != asked:
                was = before or "an ordering that does not learn from links"
                hint = f"use --order {before}" if before else "use --order breadth_first, largest_site or random"
                raise ConfigError(
                    f"{layout.folder} was begun with {was} and cannot be continued with {config.crawl.ordering}",
                    hint=f"{hint}, or begin another collection",
                )


def keep_earlier_ranks(config: Config, layout: Layout) -> None:
    """Compute the scores of URLs in an earlier collection, once: they are kept with this one."""
    earlier = Layout(Path(config.ordering.by).resolve())
    ranks = layout.ranks(earlier.folder)
    if ranks.is_file():
        return
    found = known_ranks(earlier.tables, earlier.spooled)
    if not len(found):
        raise ConfigError(f"{earlier.folder} has no links", hint="crawl something into it first")
    found.save(ranks)


def budget(config: Config, layout: Layout) -> float:
    """Visits a day of a crawl that watches; by default a seventh of the number of known pages.

    To be asked before the shards are opened.
    """
    if config.watch.visits_a_day:
        return config.watch.visits_a_day
    return max(_stats_of(layout).new / 7, 1440.0)


def _stats_of(layout: Layout) -> CrawlStats:
    """Everything counted so far by all shards. To be asked before they are opened."""
    folders = [layout.shard(number) for number in range(layout.shards)]
    metas = [meta_of(folder, ShardMeta) for folder in folders if is_begun(folder)]
    return sum((meta.stats for meta in metas if meta is not None), CrawlStats())


def settle(folder: Path) -> None:
    """After the last shard has closed: one index over all of the archive."""
    warc = Layout(folder).warc
    if warc.is_dir():
        merge_indexes(warc)

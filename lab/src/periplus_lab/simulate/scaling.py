"""A model of one crawl divided among more and more shards, up to 10, 100 and 1,000 of them.

Sites are placed by the hash that real crawls use (`placed`); how long the crawl takes is a flow of pages
(`pace`), the messages between shards follow from the links of a generated web (`scaling_traffic`), and the
coordinator's load from what a status was measured to cost. Olston & Najork (2010, section 2.3.4) say why sites are the
unit: politeness and all large structures stay within a shard, and so do most links. UbiCrawler (Boldi et al. 2004)
places hosts by a hash that moves few of them when machines come and go, as ours does.

The coordinator receives a status from every shard several times a second. Each costs `status_seconds` and, where a
limit of pages is divided among the shards, `status_seconds_a_shard` for each shard, so that the load of the coordinator
grows with the square of their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError

from .scaling_traffic import (
    ExchangeSettings,
    PaceSettings,
    ScalingWeb,
    ScalingWebSettings,
    bounds,
    generate_scaling_web,
    pace,
    traffic,
)
from .web import MOST_SHARDS, owners
from .workers import Progress

SHARDS = (1, 10, 100, 1_000)
_NEARLY_ALL = 0.9


class CoordinatorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The work of a coordinator, and its measured costs; docs/cluster.md shows what follows from them."""

    status_interval: float = 0.25
    """Seconds between two status reports of a shard"""
    status_bytes: float = 510.0
    """Bytes of a report"""
    status_seconds: float = 515e-6
    """CPU seconds to receive one: a message from one actor to another, at its receiver"""
    status_seconds_a_shard: float = 2.6e-6
    """And, for each shard, to distribute the page budget; 0 without a limit of pages"""


class PlacementSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of placing a site, and the size of a site that moves."""

    remembered_sites: int = 50_000
    """sites whose shard a shard has cached"""
    owner_seconds: float = 1.2e-6
    """CPU seconds to place a site that is not"""
    owner_seconds_a_shard: float = 0.19e-6
    """and for each shard that there is"""
    page_bytes: float = 1_500.0
    """bytes of state that a page of a site takes along when the site moves"""


class ScalingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """All that the model takes as given."""

    web: ScalingWebSettings = ScalingWebSettings()
    """what is crawled"""
    pace: PaceSettings = PaceSettings()
    """how fast, and how gently"""
    exchange: ExchangeSettings = ExchangeSettings()
    """how discoveries travel"""
    coordinator: CoordinatorSettings = CoordinatorSettings()
    """what the coordinator does"""
    placement: PlacementSettings = PlacementSettings()
    """how sites are placed"""


class ScalingRow(Struct, frozen=True):
    """A crawl by a number of shards. Keys are explained in docs/simulator.md."""

    experiment: str
    shards: int
    seed: int
    web: str
    pages: int
    sites: int
    rate: float
    delay: float
    ip_delay: float
    shares: str
    sites_a_shard: float
    most_sites: int
    most_pages: int
    imbalance: float
    makespan: float
    nearly_all_at: float
    speedup: float
    nearly_all_speedup: float
    bound: float
    bound_by: str
    foreign: float
    spared: float
    discoveries: float
    traffic: float
    batches: float
    messages: float
    batch_fill: float
    batches_a_commit: float
    exchange_share: float
    statuses: float
    coordinator_traffic: float
    coordinator_share: float
    placing_share: float
    moved: float
    moved_bytes: float


def scaling(
    settings: ScalingSettings | None = None, shards: Sequence[int] = SHARDS, progress: Progress | None = None
) -> list[ScalingRow]:
    """A row for each number of shards, the smallest first. Speed-up is against one shard, asked for or not."""
    settings = settings or ScalingSettings()
    counts = sorted(set(shards))
    if not counts or counts[0] < 1 or counts[-1] >= MOST_SHARDS:
        raise ConfigError(f"shards: 1 to {MOST_SHARDS - 1:,} of them", hint="write 1, 10, 100")
    settings.pace.check()
    web = generate_scaling_web(settings.web)
    placed = owners(len(web.sizes), {1, *counts, *(count + 1 for count in counts)})
    alone = pace(web.sizes, placed[1], web.address, 1, settings.pace)
    rows = []
    for number, count in enumerate(counts, 1):
        rows.append(_row(settings, web, placed, count, (alone.until(1.0), alone.until(_NEARLY_ALL))))
        if progress is not None:
            progress(number, len(counts))
    return rows


def _row(
    settings: ScalingSettings,
    web: ScalingWeb,
    placed: dict[int, NDArray[np.int32]],
    shards: int,
    alone: tuple[float, float],
) -> ScalingRow:
    owner = placed[shards]
    load = np.bincount(owner, weights=web.sizes, minlength=shards)
    gone = pace(web.sizes, owner, web.address, shards, settings.pace)
    bound, bound_by = bounds(web.sizes, owner, shards, settings.pace)[0]
    between = traffic(web, owner, shards, settings.pace.rate, settings.exchange)
    moves = owner != placed[shards + 1]
    asked, coordinator = settings.web, settings.coordinator
    return ScalingRow(
        experiment="scaling",
        shards=shards,
        seed=asked.seed,
        web=f"generated, {asked.pages:,} pages on {asked.sites:,} sites",
        pages=asked.pages,
        sites=asked.sites,
        rate=settings.pace.rate,
        delay=settings.pace.delay,
        ip_delay=settings.pace.between_requests_to_an_address,
        shares=settings.pace.shares,
        sites_a_shard=asked.sites / shards,
        most_sites=int(np.bincount(owner).max()),
        most_pages=int(load.max()),
        imbalance=float(load.max() / load.mean()),
        makespan=gone.until(1.0),
        nearly_all_at=gone.until(_NEARLY_ALL),
        speedup=alone[0] / gone.until(1.0),
        nearly_all_speedup=alone[1] / gone.until(_NEARLY_ALL),
        bound=bound,
        bound_by=bound_by,
        foreign=between.foreign,
        spared=between.spared,
        discoveries=between.discoveries,
        traffic=between.bytes,
        batches=between.batches,
        messages=between.messages,
        batch_fill=between.fill,
        batches_a_commit=between.a_commit,
        exchange_share=between.share,
        statuses=shards / coordinator.status_interval,
        coordinator_traffic=shards / coordinator.status_interval * coordinator.status_bytes,
        coordinator_share=coordinator_share(coordinator, shards),
        placing_share=placing_share(settings, web, owner, shards),
        moved=float(moves.mean()),
        moved_bytes=float(web.sizes[moves].sum()) * settings.placement.page_bytes,
    )


def coordinator_share(settings: CoordinatorSettings, shards: int) -> float:
    """How much of a core the coordinator needs."""
    once = settings.status_seconds + settings.status_seconds_a_shard * shards
    return shards / settings.status_interval * once


def saturated_at(settings: CoordinatorSettings) -> float:
    """The number of shards whose reports keep a core busy: where `coordinator_share` is one."""
    fixed, growing = settings.status_seconds, settings.status_seconds_a_shard
    if growing <= 0.0:
        return settings.status_interval / fixed
    return (sqrt(fixed * fixed + 4.0 * growing * settings.status_interval) - fixed) / (2.0 * growing)


def placing_share(settings: ScalingSettings, web: ScalingWeb, owner: NDArray[np.int32], shards: int) -> float:
    """The share of its time that a shard spends on finding the owners of sites, in a crawl of this web.

    A lookup costs more the more shards there are, and is only made when a site is seen for the first time, or was
    forgotten. Sites with links from a shard are counted for the shard with the most pages; where they are too many to
    be remembered, every link is taken to cost a lookup, which is an overestimate.
    """
    if shards == 1:
        return 0.0
    placement, busiest = settings.placement, int(np.bincount(owner, weights=web.sizes).argmax())
    links = web.site_of_page[web.target[owner[web.source] == busiest]]
    met = int(np.count_nonzero(np.bincount(links, minlength=1)))
    times = met if met <= placement.remembered_sites else len(links)
    once = placement.owner_seconds + placement.owner_seconds_a_shard * shards
    return times * once * settings.pace.rate / float(web.sizes[owner == busiest].sum())

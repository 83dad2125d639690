"""A batch of pages and how busy it keeps the robots: Figures 7 to 9 of Castillo et al. (2004).

In the middle of a crawl by *Length* a batch is formed from the queues, by the same rule: a page of the site whose queue
is longest, then of the one that is longest now, and so on. Most of it is then on few sites (Figure 7). The batch is
fetched to its last page before anything else: at the end only the sites with most pages are left, each of which allows
one robot at a time, and that only for a moment every w seconds (Figure 8); unless a visit takes many pages (Figure 9).

The paper does not state how many robots the figures are about, nor the unit of the bandwidth: bytes a second here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.model import ConfigError
from periplus.policy.ordering import LargestSite
from periplus.view.figures import PlotCurve

from .crawl import Progress, SimulatedCrawl, Trace
from .network import NetworkSettings
from .web import Web

BANDWIDTHS = (2_000.0, 20_000.0)
PAGES_PER_VISIT = (1, 100)
_POINTS = 300

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class FetchBatch(Struct, frozen=True):
    """Pages that are fetched together, and the number of their sites.

    `top_tenth` is the share of the pages on a tenth of all sites.
    `by_site` goes from the rank of a site to the number of its pages in the batch.
    """

    pages: Ints
    sites: int
    largest: int
    top_tenth: float
    by_site: PlotCurve


class BatchActivity(Struct, frozen=True):
    """How a batch was fetched: robots, pages a visit (k), bytes a second of the line.

    `idle` is the share of all robots' time in which they had nothing to do; `mostly_idle` the share of the time in
    which more than half of them had. `active` goes from virtual seconds to robots at work.
    """

    connections: int
    pages_per_visit: int
    bandwidth: float
    pages: int
    sites: int
    makespan: float
    idle: float
    mostly_idle: float
    active: PlotCurve


def batch_activity(
    web: Web,
    *,
    size: int,
    network: NetworkSettings | None = None,
    pages_per_visit: Sequence[int] = PAGES_PER_VISIT,
    bandwidths: Sequence[float] = BANDWIDTHS,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[FetchBatch, list[BatchActivity]]:
    """The batch of `size` pages that *Length* forms when half of the web is fetched, and how each way of fetching went.

    `progress` is called with pages: of the half, and then of the batch for each way.
    """
    base = network or NetworkSettings()
    ways = [(k, line) for k in pages_per_visit for line in bandwidths]
    half = max(1, len(web) // 2)
    total = half + len(ways) * size
    until_half = SimulatedCrawl(web, LargestSite(), base, seed=seed, limit=half)
    trace = until_half.run(_after(progress, 0, total))
    batch = form_batch(web, trace, size)
    part = part_of(web, batch.pages)
    activities = []
    for number, (k, line) in enumerate(ways):
        settings = replace(base, pages_per_visit=k, bandwidth=line)
        done = SimulatedCrawl(part, LargestSite(), settings, seed=seed)
        fetched = done.run(_after(progress, half + number * size, total))
        activities.append(_activity(fetched, settings, batch))
    return batch, activities


def form_batch(web: Web, trace: Trace, size: int) -> FetchBatch:
    """What *Length* takes next, if nothing new comes: page j of a queue of n has its turn when n - j are left."""
    if size < 1:
        raise ConfigError(f"--size must be at least 1, got {size}", hint="give at least 1 page")
    waiting = waiting_pages(web, trace)
    site = web.site[waiting].astype(np.int64)
    length = np.bincount(site, minlength=len(web.sites))
    order = np.argsort(site, kind="stable")
    place = np.empty(len(waiting), np.int64)
    place[order] = np.arange(len(waiting)) - (np.cumsum(length) - length)[site[order]]
    chosen = waiting[np.argsort(place - length[site], kind="stable")[:size]]
    per_site = np.bincount(web.site[chosen], minlength=1)
    per_site = np.sort(per_site[per_site > 0])[::-1]
    top = per_site[: -(-len(web.sites) // 10)].sum() / max(len(chosen), 1)
    largest = int(per_site[0]) if len(per_site) else 0
    return FetchBatch(chosen, len(per_site), largest, float(top), _ranked_sizes(per_site))


def waiting_pages(web: Web, trace: Trace) -> Ints:
    """What a crawl knew of but had not fetched when it ended, in the order in which it was found."""
    read = trace.fetched.astype(np.int64)
    count = web.starts[read + 1] - web.starts[read]
    first = np.cumsum(count) - count
    places = np.arange(int(count.sum())) - np.repeat(first - web.starts[read], count)
    found = np.concatenate((web.seeds, web.targets[places].astype(np.int64)))
    pages, at = np.unique(found, return_index=True)
    is_waiting = np.ones(len(web), np.bool_)
    is_waiting[trace.page] = False
    in_order = pages[np.argsort(at, kind="stable")]
    return np.asarray(in_order[is_waiting[in_order]], np.int64)


def part_of(web: Web, pages: Ints) -> Web:
    """A web of these pages alone, in this order: all of them known, without links."""
    used, site = np.unique(web.site[pages], return_inverse=True)
    return Web(
        [web.sites[number] for number in used.tolist()],
        site.astype(np.int32),
        np.zeros(len(pages) + 1, np.int64),
        np.zeros(0, np.int32),
        web.size[pages],
        web.status[pages],
        web.latency[used],
        web.bandwidth[used],
        np.arange(len(pages), dtype=np.int64),
        took=None if web.took is None else web.took[pages],
    )


def robots_at_work(trace: Trace) -> tuple[Floats, Ints]:
    """The times at which the number of robots at work changes, and how many are from then on."""
    ends = np.concatenate((trace.started_at, trace.started_at + trace.took))
    steps = np.concatenate((np.ones(len(trace.page), np.int64), np.full(len(trace.page), -1, np.int64)))
    times, which = np.unique(ends, return_inverse=True)
    return times, np.cumsum(np.bincount(which, weights=steps).astype(np.int64))


def _activity(trace: Trace, network: NetworkSettings, batch: FetchBatch) -> BatchActivity:
    times, robots = robots_at_work(trace)
    span = max(trace.ended_at, 1e-9)
    lasting = np.diff(np.append(times, trace.ended_at)).clip(0.0)
    before = float(times[0]) if len(times) else span
    few = float(lasting[robots * 2 < network.connections].sum()) + before
    grid = np.linspace(0.0, span, _POINTS)
    active = np.append(robots, 0)[np.searchsorted(times, grid, side="right") - 1]
    return BatchActivity(
        network.connections,
        network.pages_per_visit,
        network.bandwidth,
        len(batch.pages),
        batch.sites,
        trace.ended_at,
        1.0 - float((robots * lasting).sum()) / (span * network.connections),
        few / span,
        _line(f"k = {network.pages_per_visit}, {network.bandwidth:,.0f} B/s", grid, active.astype(np.float64)),
    )


def _ranked_sizes(per_site: Ints) -> PlotCurve:
    ranks = np.unique(np.geomspace(1, max(len(per_site), 1), _POINTS).round().astype(np.int64))
    ranks = ranks[ranks <= len(per_site)]
    return _line("pages of the site in the batch", ranks.astype(np.float64), per_site[ranks - 1].astype(np.float64))


def _line(name: str, x: Floats, y: Floats) -> PlotCurve:
    values = y.tolist()
    return PlotCurve(name, x.tolist(), values, values, values)


def _after(progress: Progress | None, before: int, total: int) -> Progress | None:
    """The progress of a part, as progress of the whole."""
    return None if progress is None else lambda done, _: progress(before + done, total)

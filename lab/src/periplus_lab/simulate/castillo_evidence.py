"""The crawls for a reproduction of Castillo et al. (2004): their list, their webs, and running them.

`castillo_findings` evaluates them, and `castillo` draws them. Figure 12, PageRank by the distance from a home page, is
computed from the webs here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.graph import depths, pagerank
from periplus.model import ConfigError, InvariantError

from .batches import BatchActivity, FetchBatch, batch_activity
from .generated import WebSettings, generate
from .graph_files import ranked, store_web
from .network import NetworkSettings
from .orderings import OrderingJob, crawl_job
from .runs import OrderingResult, PolicyChoice, Value
from .speedup import BANDWIDTHS, CONNECTIONS, bounds
from .web import Web
from .workers import Progress, run_jobs

NEAR = 3
"""Clicks. Three or four of them away from the home page, the paper finds, PageRank hardly falls any more."""
_FEW = 30
"""Minimum number of pages at a depth for a meaningful mean: there the profile ends."""


class DepthProfile(Struct, frozen=True):
    """The mean PageRank of the pages at each depth, in multiples of the mean of all; index 0 are home pages.

    `near` is Spearman's correlation of depth and PageRank over pages 1 to `NEAR` clicks away, `far` beyond; NaN where
    there are hardly any.
    """

    mean_rank: list[float]
    pages: list[int]
    near: float
    far: float


def depth_profile(web: Web) -> DepthProfile:
    """How PageRank falls with depth."""
    sources, targets = web.edges
    depth = depths(sources, targets, len(web), web.seeds)
    rank = pagerank(sources, targets, len(web)) * len(web)
    reached = depth >= 0
    pages = np.bincount(depth[reached])
    sums = np.bincount(depth[reached], weights=rank[reached])
    few = 2 + np.flatnonzero(pages[2:] < _FEW)
    shown = int(few[0]) if len(few) else len(pages)
    return DepthProfile(
        (sums[:shown] / pages[:shown]).tolist(),
        pages[:shown].tolist(),
        _correlation(depth, rank, 1, NEAR),
        _correlation(depth, rank, NEAR + 1, len(web)),
    )


def _correlation(depth: NDArray[np.int32], rank: NDArray[np.float64], low: int, high: int) -> float:
    from scipy.stats import spearmanr  # takes a second to load, and only this figure needs it

    chosen = (depth >= low) & (depth <= high)
    if np.count_nonzero(chosen) < _FEW or len(np.unique(depth[chosen])) < 2:
        return float("nan")
    return float(spearmanr(depth[chosen], rank[chosen])[0])


PAPER_PAGES = 3_500_000
SHARES = (0.1, 0.3, 0.5, 0.8)
LINES = (2_000.0, 20_000.0, 2_000_000.0)
"""Bytes a second that the batches are fetched with: the paper's two, and one that is never full."""
LEAST_SCALE = 20_000
"""Minimum number of pages; with fewer, all sites would have the same size."""

WEBS: dict[str, dict[str, float]] = {
    "default": {},
    "large sites are popular": {"popularity": 1.0},
    "80 % ok": {"ok": 0.8},
    "80 % ok, half of the links leave their site": {"ok": 0.8, "local": 0.5},
}
"""The webs by name, and what is not default there: the assumption that was changed, if any."""


class Case(Struct, frozen=True):
    """A crawl of the reproduction: which part of the paper it is for, on which web, by what, with which network."""

    part: str
    web: str
    policy: PolicyChoice
    network: NetworkSettings


class Evidence(Struct, frozen=True):
    """All that was run: the crawls of each case, one a seed; for each seed the batch and the depths of its web.

    `bounds` has the speed-up that cannot be surpassed in each place of Table I, and why, on the first web.
    """

    scale: int
    cases: list[Case]
    crawls: list[list[OrderingResult]]
    batches: list[tuple[FetchBatch, list[BatchActivity]]]
    depths: list[DepthProfile]
    bounds: dict[tuple[float, int], tuple[float, str]]

    def of(self, part: str, policy: str, *, web: str = "default", **network: float) -> list[OrderingResult]:
        """The crawls of the one case that is like that."""
        for case, results in zip(self.cases, self.crawls, strict=True):
            is_like = (case.part, case.policy.name, case.web) == (part, policy, web)
            if is_like and all(getattr(case.network, name) == value for name, value in network.items()):
                return results
        raise InvariantError(f"no crawl was made for {part} by {policy} on {web}")


def gather(scale: int, seeds: Sequence[int], *, workers: int = 1, progress: Progress | None = None) -> Evidence:
    """Run everything."""
    if scale < LEAST_SCALE:
        raise ConfigError(f"{scale} pages are too few to be like the paper's web", hint=f"at least {LEAST_SCALE}")
    todo = cases(scale)
    batch = in_proportion(100_000, scale)
    crawls: list[list[OrderingResult]] = [[] for _ in todo]
    with TemporaryDirectory(prefix="periplus-simulate-") as folder:
        jobs = _jobs(todo, scale, seeds, Path(folder))
        done = run_jobs(crawl_job, jobs, total=len(todo) * len(seeds), steps=scale, workers=workers, progress=progress)
        for each in sorted(done, key=lambda each: each.number):
            crawls[each.number % len(todo)].append(each.result)
    webs = [generate(web_settings(scale, seed)) for seed in seeds]
    batches = [
        batch_activity(web, size=batch, network=_real_network(scale), bandwidths=LINES, seed=seed)
        for web, seed in zip(webs, seeds, strict=True)
    ]
    return Evidence(scale, todo, crawls, batches, [depth_profile(web) for web in webs], _bounds(webs[0], todo, crawls))


def _bounds(
    web: Web, todo: list[Case], crawls: list[list[OrderingResult]]
) -> dict[tuple[float, int], tuple[float, str]]:
    table = [(case.network, results[0]) for case, results in zip(todo, crawls, strict=True) if case.part == "Table I"]
    alone = table[0][1].makespan
    return {
        (network.bandwidth, network.connections): bounds(web, network, alone).least()
        for network, _ in table
        if network.bandwidth < inf
    }


def web_settings(scale: int, seed: int, web: str = "default") -> WebSettings:
    """A web of `pages` pages, with sites and the largest site in proportion to the paper's."""
    settings: dict[str, Any] = dict(WEBS[web])
    return WebSettings(
        pages=scale,
        sites=in_proportion(50_000, scale),
        largest_site=in_proportion(25_000, scale),
        seed=seed,
        **settings,
    )


def in_proportion(count: int, scale: int) -> int:
    """A number of the paper in proportion to a web of `pages` pages."""
    return max(1, round(count * scale / PAPER_PAGES))


def cases(scale: int) -> list[Case]:
    """Every crawl that is done for each seed; those on one web follow each other."""
    every: dict[str, Value] = {"every": in_proportion(50_000, scale)}
    length, depth, optimal = PolicyChoice("length"), PolicyChoice("depth"), PolicyChoice("optimal")
    ranked_orders = (PolicyChoice("batch", every), PolicyChoice("partial", every))
    alone, real = NetworkSettings(connections=1), _real_network(scale)
    return [
        *(Case("Figure 5", "default", policy, alone) for policy in (length, depth, *ranked_orders, optimal)),
        *(
            Case("Figure 6", "default", policy, NetworkSettings(connections=r))
            for r in (64, 256)
            for policy in (length, depth)
        ),
        *(
            Case("Table I", "default", length, NetworkSettings(connections=r, bandwidth=line))
            for line in BANDWIDTHS
            for r in CONNECTIONS
        ),
        *(Case("Table I", "default", length, NetworkSettings(connections=r, delay=0.0)) for r in CONNECTIONS),
        *(Case("Figure 5", "large sites are popular", policy, alone) for policy in (length, depth, *ranked_orders)),
        *(Case("Figure 10", "80 % ok", policy, real) for policy in (length, optimal)),
        Case("Figure 10", "80 % ok, half of the links leave their site", length, real),
    ]


def _real_network(scale: int) -> NetworkSettings:
    """The network of section VII: 1,000 connections for 3.5 million pages."""
    return NetworkSettings(connections=in_proportion(1000, scale))


def _jobs(todo: list[Case], scale: int, seeds: Sequence[int], folder: Path) -> Iterator[OrderingJob]:
    for seed in seeds:
        at_hand = ""
        for case in todo:
            place = folder / f"{seed}-{case.web}"
            if case.web != at_hand:
                place.mkdir()
                store_web(ranked(generate(web_settings(scale, seed, case.web))), place)
                at_hand = case.web
            yield OrderingJob(place, case.policy, case.network, seed, SHARES, None)

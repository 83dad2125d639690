"""Which ordering finds the important pages first: orderings compared on the same webs, with repetitions.

Repetition i crawls the web of seed + i with the random seed + i. Each crawl is a separate job (`workers`); webs are
made and ranked here, one after the other, and the workers read them from disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct

from periplus.view.figures import PlotCurve

from .findings import mean_curve, mean_interval
from .graph_files import RankedWeb, ranked, store_web, stored_web
from .network import NetworkSettings
from .runs import OrderingResult, PolicyChoice, check_budgets, run_ordering
from .web import Web
from .workers import Progress, run_jobs

__all__ = [
    "OrderingJob",
    "OrderingResult",
    "OrderingSummary",
    "PolicyChoice",
    "compare_orderings",
    "crawl_job",
    "mean_curves",
    "summarise",
]

_STEPS = 1000
"""Steps of a crawl in the progress of all crawls."""


class OrderingJob(Struct, frozen=True):
    """A crawl to be done: the web is in a folder or in memory."""

    web: Path | RankedWeb
    policy: PolicyChoice
    network: NetworkSettings
    seed: int
    budgets: tuple[float, ...]
    limit: int | None


class OrderingSummary(Struct, frozen=True):
    """Of all repetitions of a policy: the mean share of PageRank at a budget, and the interval around it (95 %).

    `budget` is `None` for the mean over all pages fetched. `pages`, `total` and `makespan` are means as well.
    """

    policy: str
    budget: float | None
    pagerank: float
    low: float
    high: float
    repetitions: int
    pages: float
    total: float
    makespan: float


def compare_orderings(
    webs: Callable[[int], Web],
    policies: Sequence[PolicyChoice],
    *,
    network: NetworkSettings | None = None,
    repetitions: int = 1,
    seed: int = 0,
    budgets: Sequence[float] = (),
    limit: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[OrderingResult]:
    """Every policy on the web of every repetition: first all policies of the first repetition, then of the next.

    `limit`: pages after which a crawl ends. `progress` is called with the steps of all crawls done so far.
    """
    check_budgets(budgets)
    with TemporaryDirectory(prefix="periplus-simulate-") as folder:
        shelf = _Shelf(webs, Path(folder) if workers > 1 else None)
        jobs = _jobs(shelf, policies, range(seed, seed + repetitions), network, tuple(budgets), limit)
        total = len(policies) * repetitions
        done = run_jobs(crawl_job, jobs, total=total, steps=_STEPS, workers=workers, progress=progress)
        return [each.result for each in sorted(done, key=lambda each: each.number)]


def crawl_job(job: OrderingJob, progress: Progress) -> OrderingResult:
    """Do one crawl; any process can."""
    web = stored_web(job.web) if isinstance(job.web, Path) else job.web
    return run_ordering(
        web, job.policy, job.network, seed=job.seed, budgets=job.budgets, limit=job.limit, progress=progress
    )


def summarise(results: Sequence[OrderingResult]) -> list[OrderingSummary]:
    """A row for the mean over all pages of each policy, then one for each budget; policies in order of appearance."""
    rows = []
    for policy, group in _by_policy(results).items():
        measures: dict[float | None, list[float]] = {None: [each.mean_mass for each in group]}
        for each in group:
            for at, mass in each.mass:
                measures.setdefault(at, []).append(mass)
        for budget, values in measures.items():
            middle = [mean_interval(column)[0] for column in zip(*map(_sizes, group), strict=True)]
            rows.append(OrderingSummary(policy, budget, *mean_interval(values), len(values), *middle))
    return rows


def mean_curves(results: Sequence[OrderingResult]) -> list[PlotCurve]:
    """From share of pages to share of PageRank, a line for each policy, with the interval over its repetitions."""
    lines = []
    for policy, group in _by_policy(results).items():
        shares = np.array(group[0].curve.x)
        lines.append(mean_curve(policy, shares, [np.interp(shares, each.curve.x, each.curve.y) for each in group]))
    return lines


def _sizes(result: OrderingResult) -> tuple[float, float, float]:
    return float(result.pages), float(result.total), result.makespan


def _by_policy(results: Sequence[OrderingResult]) -> dict[str, list[OrderingResult]]:
    groups: dict[str, list[OrderingResult]] = {}
    for each in results:
        groups.setdefault(each.policy, []).append(each)
    return groups


class _Shelf:
    """Webs in files that workers can read. A web that is the same for every seed is stored once."""

    def __init__(self, webs: Callable[[int], Web], folder: Path | None) -> None:
        self._webs = webs
        self._folder = folder
        self._last: tuple[Web, Path | RankedWeb] | None = None
        self._count = 0

    def get(self, seed: int) -> Path | RankedWeb:
        """The web of a seed."""
        web = self._webs(seed)
        if self._last is None or self._last[0] is not web:
            self._last = (web, self._put(ranked(web)))
        return self._last[1]

    def _put(self, web: RankedWeb) -> Path | RankedWeb:
        if self._folder is None:
            return web
        place = self._folder / str(self._count)
        place.mkdir()
        self._count += 1
        store_web(web, place)
        return place


def _jobs(
    shelf: _Shelf,
    policies: Sequence[PolicyChoice],
    seeds: range,
    network: NetworkSettings | None,
    budgets: tuple[float, ...],
    limit: int | None,
) -> Iterator[OrderingJob]:
    for seed in seeds:
        web = shelf.get(seed)
        for policy in policies:
            yield OrderingJob(web, policy, network or NetworkSettings(), seed, budgets, limit)

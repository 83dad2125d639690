"""What experiments came to, as rows that programs read: the keys of `--json`, and the columns of a CSV.

A row is one result: a policy at a budget, a crawl of a speed-up, one time of a batch. Keys are documented in
docs/simulator.md and do not change; values are means over repetitions where there are several, with the interval that
holds the true mean with 95 % confidence. The eight tables of a simulated crawl are in `recording`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from periplus.store.durable import write_file
from periplus.view.csv_text import csv_chunks
from periplus.view.figures import Figure

from .batches import BatchActivity, FetchBatch
from .findings import ReplicatedValue, averaged, mean_interval, mean_of
from .freshness import FreshnessResult
from .network import NetworkSettings
from .orderings import summarise
from .runs import OrderingResult, PolicyChoice
from .speedup import SpeedupResult

ResultRow = Struct | dict[str, Any]


class Reproduction(Struct, frozen=True):
    """A paper reproduced: each value beside the paper's, a row for every measurement, and the figures."""

    findings: list[ReplicatedValue]
    rows: list[dict[str, Any]]
    plots: list[Figure] = []


class OrderingRow(Struct, frozen=True):
    """A policy at a budget: after `pages` of `total` pages it has the share `pagerank` of all PageRank."""

    experiment: str
    policy: str
    settings: dict[str, int | float | str | bool]
    seed: int
    repetitions: int
    budget: float
    pages: int
    total: int
    pagerank: float
    low: float
    high: float
    values: list[float]
    mean_pagerank: float
    fetched: int
    makespan: float
    web: str
    connections: int
    delay: float
    pages_per_visit: int
    bandwidth: float | None


class SpeedupRow(Struct, frozen=True):
    """Crawls with a number of connections on a line: how much sooner they end than with one on the fastest line."""

    experiment: str
    policy: str
    settings: dict[str, int | float | str | bool]
    seed: int
    repetitions: int
    connections: int
    bandwidth: float
    speedup: float
    low: float
    high: float
    values: list[float]
    efficiency: float
    half_speedup: float
    makespan: float
    bound: float
    bound_by: str
    fetched: int
    web: str
    delay: float
    pages_per_visit: int


class BatchRow(Struct, frozen=True):
    """A way to fetch a batch: in which share of their time robots had nothing to do, and how long it took."""

    experiment: str
    seed: int
    repetitions: int
    connections: int
    pages_per_visit: int
    bandwidth: float
    batch: int
    sites: int
    largest: int
    top_tenth: float
    idle: float
    low: float
    high: float
    values: list[float]
    mostly_idle: float
    makespan: float
    web: str
    delay: float


class FreshnessRow(Struct, frozen=True):
    """A policy at a budget: how fresh it kept the collection, at the end and in the mean over time."""

    experiment: str
    policy: str
    seed: int
    repetitions: int
    budget: float
    days: int
    pages: int
    freshness: float
    low: float
    high: float
    values: list[float]
    freshness_at_end: float
    low_at_end: float
    high_at_end: float
    age: float
    fetches: float
    needless: float
    history: str
    signals: str = ""


def ordering_rows(
    results: Sequence[OrderingResult], web: str, network: NetworkSettings, seed: int
) -> list[OrderingRow]:
    """A row for every policy and budget that was reached, in the given order."""
    rows, means = [], {}
    for each in summarise(results):
        if each.budget is None:
            means[each.policy] = each.pagerank
            continue
        reached = [dict(run.mass).get(each.budget) for run in results if run.policy == each.policy]
        rows.append(
            OrderingRow(
                **{
                    **asdict(each),
                    **asdict(network),
                    "bandwidth": network.bandwidth if math.isfinite(network.bandwidth) else None,
                    "pages": max(1, round(each.budget * each.total)),
                    "total": round(each.total),
                    "fetched": round(each.pages),
                },
                experiment="ordering",
                settings=PolicyChoice.parse(each.policy).settings,
                seed=seed,
                values=[mass for mass in reached if mass is not None],
                mean_pagerank=means[each.policy],
                web=web,
            )
        )
    return rows


def speedup_rows(
    results: Sequence[SpeedupResult], policy: PolicyChoice, network: NetworkSettings, web: str, seed: int
) -> list[SpeedupRow]:
    """A row for every number of connections on every line; the fastest line first."""
    groups: dict[tuple[float, int], list[SpeedupResult]] = {}
    for each in results:
        groups.setdefault((-each.bandwidth, each.connections), []).append(each)
    setting = {"policy": str(policy), "settings": policy.settings, "web": web, "seed": seed, "delay": network.delay}
    return [
        averaged(
            SpeedupRow, group, "speedup", experiment="speedup", bandwidth=-line,
            pages_per_visit=network.pages_per_visit, fetched=mean_of([each.pages for each in group]), **setting,
        )
        for (line, _), group in sorted(groups.items())
    ]  # fmt: skip


def batch_rows(
    runs: Sequence[tuple[FetchBatch, list[BatchActivity]]], network: NetworkSettings, web: str, seed: int
) -> list[BatchRow]:
    """A row for every way to fetch the batch; each run is a repetition, and has the same ways in the same order."""
    batches = [batch for batch, _ in runs]
    return [
        averaged(
            BatchRow, group, "idle", experiment="batch", seed=seed, bandwidth=group[0].bandwidth, web=web,
            delay=network.delay, batch=mean_of([each.pages for each in group]),
            largest=mean_of([each.largest for each in batches]),
            top_tenth=mean_of([each.top_tenth for each in batches]),
        )
        for group in zip(*(activities for _, activities in runs), strict=True)
    ]  # fmt: skip


def freshness_rows(
    results: Sequence[FreshnessResult], history: str, seed: int, signals: str = ""
) -> list[FreshnessRow]:
    """A row for every policy and budget, in the order in which they were run."""
    groups: dict[tuple[str, float], list[FreshnessResult]] = {}
    for each in results:
        groups.setdefault((each.policy, each.budget), []).append(each)
    rows = []
    for (_, budget), group in groups.items():
        at_end, low, high = mean_interval(each.freshness_at_end for each in group)
        row = averaged(
            FreshnessRow, group, "freshness", experiment="freshness", seed=seed, budget=budget, history=history,
            freshness_at_end=at_end, low_at_end=low, high_at_end=high, signals=signals,
            fetches=mean_interval(each.fetches for each in group)[0],
        )  # fmt: skip
        rows.append(row)
    return rows


def finding_rows(findings: Iterable[ReplicatedValue], paper: str) -> list[dict[str, Any]]:
    """A row for every value that was compared with a paper's."""
    return [{"experiment": paper, **asdict(each)} for each in findings]


def json_line(row: ResultRow) -> bytes:
    """One line of `--json`. NaN and infinity become null."""
    return msgspec.json.encode(_finite(msgspec.to_builtins(row))) + b"\n"


def csv_text(rows: Sequence[ResultRow]) -> str:
    """The same rows as a table: a column a key; lists have blanks between, settings are as typed."""
    plain = [_finite(msgspec.to_builtins(row)) for row in rows]
    columns = list(dict.fromkeys(key for row in plain for key in row))
    return "".join(csv_chunks(columns, ([row.get(name) for name in columns] for row in plain), _cell))


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically; its folder is created if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text.encode())


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(inside) for key, inside in value.items()}
        case list() | tuple():
            return [_finite(inside) for inside in value]
    return value


def _cell(value: Any) -> Any:
    match value:
        case dict():
            return ",".join(f"{key}={inside}" for key, inside in value.items())
        case list():
            return " ".join(str(inside) for inside in value)
    return value

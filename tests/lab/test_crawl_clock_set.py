"""A crawl whose machine gets another time while it runs: what people are shown stays right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from tests.lab.crawling import by_proxy, standing

from periplus.cli.crawl.running import run
from periplus.collection.collection import held, planned
from periplus.collection.progress import Progress
from periplus_lab import World
from periplus_lab.server import RunningLab

HOUR = 3600.0


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    with standing(World(sites=4, seed=5)) as running:
        yield running


@pytest.mark.parametrize("jump", [-HOUR, pytest.param(HOUR, marks=pytest.mark.slow)])
def test_progress_and_summary_when_the_clock_is_set(
    lab: RunningLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Elapsed times grow and never exceed the time that passed; rates are those of the pages that came in it."""
    real, offset, seen = time.time, [0.0], list[Progress]()
    monkeypatch.setattr(time, "time", lambda: real() + offset[0])

    def look(progress: Progress) -> None:
        seen.append(progress)
        offset[0] = jump

    options = by_proxy(lab) | {"crawl.workers": 1, "crawl.limit": 12, "politeness.delay": 0.2, "sitemaps.follow": False}
    seeds = [f"http://{site.host}/" for site in lab.world.sites()]
    collection = planned(tmp_path, typed=seeds, options=options)
    began = time.monotonic()
    with held(tmp_path):
        collection.save()
        summary = run(collection, Console(stderr=True), tell=look)
    passed = time.monotonic() - began
    assert len(seen) > 2
    elapsed = [progress.elapsed for progress in seen]
    assert elapsed == sorted(elapsed)
    assert 0.0 <= elapsed[0] <= elapsed[-1] <= summary.this_run.seconds <= passed
    assert 0.0 < max(progress.rate for progress in seen) < 1000.0
    assert summary.this_run.pages_per_second == pytest.approx(
        summary.this_run.pages / summary.this_run.seconds, rel=0.1
    )
    assert 0.0 <= summary.this_run.waited <= passed
    assert all(0.0 <= (progress.left or 0.0) < HOUR and (progress.next_in or 0.0) < HOUR for progress in seen)

"""The arithmetic of `bench.large_crawl`, and that docs/cluster.md shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.large_crawl import Inputs, least_machines, plan, report
from msgspec.structs import replace

PAGE = (Path(__file__).parents[2] / "docs/cluster.md").read_text()


def test_the_page_shows_what_the_bench_computes() -> None:
    """After a change of an input both tables have to be printed again."""
    assert all(table in PAGE for table in "\n".join(report(Inputs())).split("\n\n"))
    assert f"{Inputs().cpu * 1e3:.2f} ms" in PAGE
    least, most = least_machines(Inputs())
    assert f"below {least} machines" in PAGE
    assert f"Above {most} it is" in PAGE


def test_each_new_url_of_a_page_is_counted_once() -> None:
    """One in the crawl that was measured, the others at the cost in a large state."""
    inputs = replace(Inputs(), pages_a_cpu_second=500.0, first_url_us=100.0, url_us=100.0, urls_a_page=1.0)
    assert inputs.cpu == pytest.approx(0.002)
    assert replace(inputs, url_us=300.0, urls_a_page=3.0).cpu == pytest.approx(0.0028)


def test_days_fall_with_machines_and_the_coordinator_fills_up() -> None:
    """What a machine carries over the network stays the same."""
    one, ten = plan(Inputs(), 1), plan(Inputs(), 10)
    assert one.days == pytest.approx(10 * ten.days)
    assert ten.coordinator == pytest.approx(10 * one.coordinator)
    assert one.megabits == pytest.approx(ten.megabits)
    assert one.urls_a_shard == pytest.approx(10 * ten.urls_a_shard)

"""What the coordinator orders once all pages of a limit are fetched."""

from __future__ import annotations

from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding.coordinator import Coordinator
from periplus.engine.sharding.messages import StatusReport
from periplus.engine.stats import CrawlStats


def status(number: int, done: int, *, is_idle: bool) -> ShardStatus:
    frontier = FrontierStats(0, 0, 0, 0, 0, 0, 0, done, embeds=True)
    return ShardStatus(number, frontier, CrawlStats(), is_idle, is_quiet=True)


def report(number: int, done: int, orders: int, *, is_idle: bool) -> StatusReport:
    return StatusReport(status(number, done, is_idle=is_idle), orders)


def test_shards_are_told_when_all_pages_are_fetched() -> None:
    """The crawl ends once they have followed that: files that the last pages embed are still fetched."""
    coordinator = Coordinator(2, limit=10)
    assert all(coordinator.start(number) for number in (0, 1))
    for number in (0, 1, 0, 1):
        orders = coordinator.report(number, report(number, 0, 1, is_idle=False))
        assert not orders.is_spent
    coordinator.report(0, report(0, 5, 1, is_idle=True))
    last = coordinator.report(1, report(1, 5, 1, is_idle=True))
    assert last.is_spent
    assert coordinator.orders(0).is_spent
    assert not coordinator.is_finished
    for number in (0, 1):
        coordinator.report(number, report(number, 5, coordinator.orders(number).number, is_idle=True))
    assert coordinator.is_finished


def test_a_shard_that_ends_for_a_restart_is_waited_for() -> None:
    """All pages are fetched, and it ended before it followed that: its successor fetches the files that they embed."""
    coordinator = Coordinator(2, limit=10)
    assert all(coordinator.start(number) for number in (0, 1))
    for number in (0, 1):
        coordinator.report(number, report(number, 5, 1, is_idle=True))
    coordinator.report(0, report(0, 5, coordinator.orders(0).number, is_idle=True))
    coordinator.stopped(1, status(1, 5, is_idle=True))
    assert not coordinator.is_finished
    assert coordinator.start(1)
    assert not coordinator.is_finished
    coordinator.report(1, report(1, 5, coordinator.orders(1).number, is_idle=True))
    coordinator.report(0, report(0, 5, coordinator.orders(0).number, is_idle=True))
    assert coordinator.is_finished

"""What the coordinator orders once all pages of a limit are fetched."""

from __future__ import annotations

from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding.coordinator import Coordinator
from periplus.engine.sharding.messages import StatusReport
from periplus.engine.stats import CrawlStats


def report(number: int, done: int, orders: int, *, is_idle: bool) -> StatusReport:
    frontier = FrontierStats(0, 0, 0, 0, 0, 0, 0, done, embeds=True)
    return StatusReport(ShardStatus(number, frontier, CrawlStats(), is_idle, is_quiet=True), orders)


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

"""A crawl in numbers: shards as one, rates, and the time left."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.collection import opening
from periplus.collection.config.settings import Config
from periplus.collection.progress import WINDOW, Meter
from periplus.collection.progress_text import progress_line
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.stats import CrawlStats
from periplus.model import Site
from periplus.store.layout import Layout


def status(pages: int, queued: int = 0, shard: int = 0, **census: object) -> ShardStatus:
    numbers = {"known": 10, "sites": 2, "ready": 0, "resting": 1, "visited": 0, "backing_off": 0, "done": pages}
    frontier = FrontierStats(**{**numbers, "queued": queued, **census})  # type: ignore[arg-type]
    return ShardStatus(shard, frontier, CrawlStats(pages=pages), False, True)


def test_shards_are_one() -> None:
    """Numbers add up; the next site is the next of all."""
    meter = Meter(100.0)
    first = status(3, 5, next_site=Site("b.test"), next_at=103.0)
    second = status(4, 6, 1, next_site=Site("a.test"), next_at=102.0)
    progress = meter.read([first, second], 101.0)
    assert (progress.tally.pages, progress.queued, progress.records, progress.sites, progress.shards) == (
        7,
        11,
        20,
        4,
        2,
    )
    assert (progress.next_site, progress.next_in) == ("a.test", 1.0)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    """What was long ago does not count, nor what a collection had before."""
    meter = Meter(0.0)
    rates = [meter.read([status(1000 + 2 * second)], float(second)).rate for second in range(30)]
    assert rates[0] == 0.0
    assert rates[-1] == pytest.approx(2.0)
    still = [meter.read([status(1058)], 30.0 + second).rate for second in range(int(WINDOW) + 2)]
    assert still[-1] == 0.0


def test_the_time_left_is_bound_by_politeness_and_by_speed() -> None:
    """The longest queue at its site's pace, or all at the pace measured, whichever is longer."""
    meter = Meter(0.0)
    for second in range(5):
        slow = meter.read([status(10 * second, 100, longest=50.0)], float(second))
    assert slow.left == 50.0
    quick = meter.read([status(50, 1000, longest=50.0)], 5.0)
    assert quick.left == pytest.approx(100.0)


def test_the_time_left_is_unknown_at_the_beginning() -> None:
    """An estimate from nothing is worse than none."""
    assert Meter(0.0).read([status(1, 10)], 1.0).left is None


def test_a_limit_bounds_the_time_left() -> None:
    """What may not be fetched takes no time."""
    meter = Meter(0.0, limit=60)
    for second in range(5):
        progress = meter.read([status(10 * second, 1000, longest=900.0)], float(second))
    assert progress.left == pytest.approx(2.0)


def test_pages_that_were_fetched_again_leave_the_limit_as_it_is() -> None:
    """Of a limit of 60, 30 pages and 20 revisits use 30."""
    meter = Meter(0.0, limit=60, before=CrawlStats(pages=30, new=10))
    for second in range(5):
        progress = meter.read([status(10 + 10 * second, 1000)], float(second))
    assert progress.limited_pages == 30
    assert progress.left == pytest.approx(3.0)


def test_the_budget_of_a_watch_does_not_grow_by_its_visits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By default it is a seventh of the pages, however often each was fetched."""
    monkeypatch.setattr(opening, "_stats_of", lambda _layout: CrawlStats(pages=70_000, new=14_000))
    assert opening.budget(Config(), Layout(tmp_path)) == 2000.0


def test_waiting_is_counted_only_while_all_rest() -> None:
    """Seconds in which somebody was asked are not waiting."""
    meter = Meter(0.0)
    meter.read([status(1)], 0.0)
    assert meter.read([status(1)], 2.0).waited == 2.0
    assert meter.read([status(1, visited=1)], 4.0).waited == 2.0
    assert meter.read([status(1, resting=0)], 6.0).waited == 2.0


def test_unread_sitemaps_leave_the_time_open() -> None:
    """Most of a list may not be counted yet: nothing is estimated, unless a limit ends the crawl before."""
    meter, limited = Meter(0.0), Meter(0.0, limit=150)
    for second in range(5):
        read = meter.read([status(10 * second, 100), status(0, 10, 1)], float(second))
    for second in range(5, 10):
        statuses = [status(10 * second, 100), status(0, 10, 1, has_unread=True)]
        unread, bounded = meter.read(statuses, float(second)), limited.read(statuses, float(second))
    assert (read.has_unread, unread.has_unread) == (False, True)
    assert ", about " in progress_line(read)
    assert unread.left is None
    assert progress_line(unread).endswith(", sitemaps list more")
    assert bounded.left == pytest.approx(6.0)

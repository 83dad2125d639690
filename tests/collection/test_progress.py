"""A crawl in numbers: shards as one, rates, and the time left."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.collection import opening
from periplus.collection.collection import planned
from periplus.collection.config.settings import Config
from periplus.collection.progress import WINDOW, Meter
from periplus.collection.progress_text import expected, expected_seconds, progress_line
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
    """Of a limit of 60, 50 pages and 20 revisits use 30."""
    meter = Meter(0.0, limit=60, before=CrawlStats(pages=30, new=10))
    for second in range(5):
        progress = meter.read([status(30 + 5 * second, 1000)], float(second))
    assert progress.limited_pages == 30
    assert progress.left == pytest.approx(6.0)


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
    """Most of a list may not be counted yet: the time is a lower bound, unless a limit ends the crawl before."""
    meter, limited = Meter(0.0), Meter(0.0, limit=150)
    for second in range(5):
        read = meter.read([status(10 * second, 100), status(0, 10, 1)], float(second))
    for second in range(5, 10):
        statuses = [status(10 * second, 100), status(0, 10, 1, has_unread=True)]
        unread, bounded = meter.read(statuses, float(second)), limited.read(statuses, float(second))
    assert (read.has_unread, unread.has_unread) == (False, True)
    assert ", about " in progress_line(read)
    assert progress_line(unread).endswith(", at least 11 s left, sitemaps are still being read")
    assert bounded.left == pytest.approx(6.0)
    assert progress_line(bounded).endswith(", about 6 s left")


def test_listed_urls_that_are_not_queued_yet_take_time() -> None:
    """A sitemap that was read to its end is known: nothing is left open."""
    meter = Meter(0.0)
    for second in range(10):
        read = meter.read([status(10 * second, 100, listed=900)], float(second))
    assert progress_line(read).endswith(", about 1 m 40 s left")


def test_the_way_to_a_limit_is_not_hidden_by_a_short_queue() -> None:
    """Ten URLs wait, and links may lead to all that the limit allows."""
    meter = Meter(0.0, limit=1090)
    for second in range(10):
        read = meter.read([status(10 * second, 10)], float(second))
    assert progress_line(read).endswith(", about 1 s left, 1 m 40 s if links lead to 1,090 pages")


def test_what_a_collection_had_before_is_no_rate() -> None:
    """Two shards of a continued crawl report one after the other what they fetched in earlier runs."""
    meter = Meter(0.0, before=CrawlStats(pages=1400))
    meter.read([status(700)], 1.0)
    meter.read([status(700), status(700, shard=1)], 1.5)
    read = meter.read([status(730), status(726, shard=1)], 3.0)
    assert read.rate == pytest.approx(28.0)


@each_case(
    ("seeds", "settings", "said"),
    [
        (
            1,
            {"crawl.limit": 1000},
            "up to 1,000 pages of 1 site at 1 s between requests to a site take about 16 m 40 s",
        ),
        (
            4,
            {"crawl.limit": 1000},
            "up to 1,000 pages of 4 sites at 1 s between requests to a site take about 4 m 10 s",
        ),
        (1, {"crawl.limit": 1000, "politeness.delay": 0.5}, "at 0.5 s between requests to a site take about 8 m 20 s"),
        (1, {"crawl.limit": 1000, "crawl.rate": 0.5}, "take about 33 m 20 s"),
        (1, {"crawl.limit": 1000, "crawl.for": 60.0}, "take about 1 m;"),
        (1, {"crawl.for": 60.0}, "ends after 1 m"),
        (1, {}, "no limit is set"),
    ],
)
def test_the_time_is_known_before_a_crawl_begins(
    seeds: int, settings: dict[str, object], said: str, tmp_path: Path
) -> None:
    collection = planned(tmp_path / "c", typed=[f"https://{number}.test/" for number in range(seeds)], options=settings)
    assert said in expected(collection, CrawlStats())


def test_pages_that_a_collection_has_are_not_expected_again(tmp_path: Path) -> None:
    collection = planned(tmp_path / "c", typed=["https://a.test/"], options={"crawl.limit": 1000})
    assert expected_seconds(collection, CrawlStats(pages=900, new=700)) == 300.0

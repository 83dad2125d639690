"""The crawl in numbers: each event is counted once, and numbers of shards are added."""

from __future__ import annotations

import msgspec

from periplus.engine.stats import CrawlStats
from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Discovery,
    Event,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Lane,
    NotModified,
    Purpose,
    Redirected,
    Refused,
    Site,
    Source,
    Url,
    UrlDiscovered,
)

URL = Url("https://a.test/")


def task(purpose: Purpose = Purpose.PAGE, visited_at: float | None = None) -> FetchTask:
    return FetchTask(URL, Site("a.test"), purpose, Lane.DISCOVERY, 0.0, visited_at=visited_at)


def counted(*outcomes: FetchOutcome) -> CrawlStats:
    stats = CrawlStats()
    for outcome in outcomes:
        stats.count([FetchEnded(outcome, 0.0)])
    return stats


def test_pages_are_what_was_answered_well() -> None:
    """Errors are counted by status and reason, also of robots.txt; that a site has none is not an error."""
    stats = counted(
        Fetched(task(), 200, (), b"12345", 0.0, 0.0),
        Fetched(task(visited_at=1.0), 200, (), b"123", 0.0, 0.0),
        NotModified(task(), (), 0.0, 0.0),
        Fetched(task(), 404, (), b"1", 0.0, 0.0),
        Fetched(task(Purpose.ROBOTS), 404, (), b"1", 0.0, 0.0),
        Failed(task(Purpose.ROBOTS), "tls", 0.0, 0.0),
        Fetched(task(Purpose.ROBOTS), 503, (), b"1", 0.0, 0.0),
        Failed(task(), "cancelled", 0.0, 0.0),
    )
    assert (stats.fetches, stats.pages, stats.new, stats.downloaded) == (8, 3, 1, 11)
    assert stats.errors == {"http-404": 1, "tls": 1, "http-503": 1}


def test_comparisons_are_the_same_or_changed() -> None:
    """A clock or a template is not a change; a single word is a minor one."""
    stats = CrawlStats()
    for level in ChangeLevel:
        stats.count([ChangeSeen(URL, 0.0, level)])
    assert (stats.changed, stats.same) == (2, 4)
    assert stats.levels == {"same": 1, "raw-only": 1, "template": 1, "elsewhere": 1, "minor": 1, "major": 1}


def test_failures_redirects_and_refusals_go_by_reason() -> None:
    """A URL that was excluded is not a fetch."""
    stats = counted(
        Failed(task(), "timeout", 0.0, 0.0),
        Failed(task(), "timeout", 0.0, 0.0),
        Redirected(task(), 301, URL, (), 0.0, 0.0, body=b"123"),
        Redirected(task(Purpose.ROBOTS), 301, URL, (), 0.0, 0.0),
        Excluded(task(), "robots"),
    )
    assert (stats.fetches, stats.redirects, stats.downloaded) == (4, 1, 3)
    assert (stats.errors, stats.excluded) == ({"timeout": 2}, {"robots": 1})


def test_discoveries_are_counted_by_source_and_refusals_by_reason() -> None:
    """Whether the URL was new or not."""
    stats = CrawlStats()
    found = Discovery(URL, Source.SITEMAP, 0.0)
    events: list[Event] = [
        UrlDiscovered(found, True),
        UrlDiscovered(found, False),
        Refused(found, "out-of-scope", "host"),
    ]
    for event in events:
        stats.count([event])
    assert (stats.sources, stats.refused) == ({"sitemap": 2}, {"out-of-scope": 1})
    assert stats.known == 1


def test_stats_are_written_and_added() -> None:
    """The sum of two shards is that of one that did both; adding changes neither."""
    one = counted(Fetched(task(), 500, (), b"1", 0.0, 0.0), Failed(task(), "timeout", 0.0, 0.0))
    other = counted(Fetched(task(), 500, (), b"1", 0.0, 0.0), Fetched(task(), 200, (), b"1", 0.0, 0.0))
    before = msgspec.msgpack.encode(one)
    total = one + other
    assert (total.fetches, total.pages, total.errors) == (4, 1, {"http-500": 2, "timeout": 1})
    assert msgspec.msgpack.encode(one) == before
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(total), type=CrawlStats) == total

"""The crawl in numbers: each event is counted once, for what it is, and survives being kept and added."""

from __future__ import annotations

from periplus.crawl.stats import Counting, CrawlStats
from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Discovered,
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
)
from periplus.store import MemoryEventSink

URL = Url("https://a.test/")


def task(purpose: Purpose = Purpose.PAGE, visited_at: float | None = None) -> FetchTask:
    return FetchTask(URL, Site("a.test"), purpose, Lane.DISCOVERY, 0.0, visited_at=visited_at)


def counted(*outcomes: FetchOutcome) -> CrawlStats:
    tally = CrawlStats()
    for outcome in outcomes:
        tally.count(FetchEnded(outcome, 0.0))
    return tally


def test_pages_are_what_was_answered_well() -> None:
    """Errors go by status; what is no page counts as a fetch only."""
    tally = counted(
        Fetched(task(), 200, (), b"12345", 0.0, 0.0),
        Fetched(task(visited_at=1.0), 200, (), b"123", 0.0, 0.0),
        NotModified(task(), (), 0.0, 0.0),
        Fetched(task(), 404, (), b"1", 0.0, 0.0),
        Fetched(task(Purpose.ROBOTS), 404, (), b"1", 0.0, 0.0),
        Failed(task(Purpose.ROBOTS), "timeout", 0.0, 0.0),
    )
    assert (tally.fetches, tally.pages, tally.new, tally.downloaded) == (6, 3, 1, 10)
    assert tally.errors == {"http-404": 1}


def test_what_was_compared_is_the_same_or_changed() -> None:
    """A word or a clock is no change."""
    tally = CrawlStats()
    for level in ChangeLevel:
        tally.count(ChangeSeen(URL, 0.0, level))
    assert (tally.changed, tally.same) == (1, 3)


def test_failures_redirects_and_refusals_go_by_reason() -> None:
    """What we would not fetch is no fetch."""
    tally = counted(
        Failed(task(), "timeout", 0.0, 0.0),
        Failed(task(), "timeout", 0.0, 0.0),
        Redirected(task(), 301, URL, (), 0.0, 0.0, body=b"123"),
        Redirected(task(Purpose.ROBOTS), 301, URL, (), 0.0, 0.0),
        Excluded(task(), "robots"),
    )
    assert (tally.fetches, tally.redirects, tally.downloaded) == (4, 1, 3)
    assert (tally.errors, tally.excluded) == ({"timeout": 2}, {"robots": 1})


def test_a_counting_sink_passes_on_what_it_counts() -> None:
    """Discoveries by source, refusals by reason."""
    sink = MemoryEventSink()
    counting = Counting(CrawlStats(), sink)
    found = Discovery(URL, Source.SITEMAP, 0.0)
    events: list[Event] = [Discovered(found, True), Discovered(found, False), Refused(found, "out-of-scope", "host")]
    counting.record(events)
    assert sink.events == events
    assert (counting.tally.sources, counting.tally.refused) == ({"sitemap": 2}, {"out-of-scope": 1})


def test_tallies_are_kept_and_added() -> None:
    """The sum of shards is as one; adding changes neither."""
    one = counted(Fetched(task(), 500, (), b"1", 0.0, 0.0), Failed(task(), "timeout", 0.0, 0.0))
    other = counted(Fetched(task(), 500, (), b"1", 0.0, 0.0), Fetched(task(), 200, (), b"1", 0.0, 0.0))
    before = one.encoded()
    total = one + other
    assert (total.fetches, total.pages, total.errors) == (4, 1, {"http-500": 2, "timeout": 1})
    assert one.encoded() == before
    assert CrawlStats.restored(total.encoded()) == total
    assert CrawlStats.restored(None) == CrawlStats()

"""After a clock that ran ahead was set right, pages and sitemaps are visited again as if nothing had happened."""

from __future__ import annotations

import math
from random import Random

import pytest
from msgspec.structs import replace
from tests.each_case import each_case

from periplus.engine.comparison import PageComparer
from periplus.engine.frontier import SiteRecords
from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.evidence import DAY, PageEvidence, unpack_page
from periplus.engine.revisit.freshness import CLOCK_ERROR
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.sitemaps.store import clamped_to
from periplus.engine.sitemaps.trees import Origin, SitemapNode
from periplus.model import Lane, Queued, Url, UrlRecord
from periplus.store import MemoryState
from periplus.urls import site_of

NOW = 1.7e9
AHEAD = 40 * DAY
"""By how much the clock was wrong."""
LONGEST = RefreshSettings().longest


def watched(*records: UrlRecord) -> tuple[Revisits, MemoryState]:
    """A watch of these pages whose last requests were granted by a clock that ran ahead."""
    state = MemoryState()
    state.records.put(records)
    state.calendar.move([(record.url, None, record.due_at) for record in records if record.due_at is not None])
    sites = SiteRecords(state.sites)
    revisits = Revisits(state, sites, watching=Watching(1_000.0), random=Random(1))
    revisits.due(NOW + AHEAD, 1_000)
    return revisits, state


def page(name: str, visited_at: float, due_at: float | None, **fields: object) -> UrlRecord:
    evidence = PageEvidence(visited_at=visited_at).pack()
    record = UrlRecord(Url(f"https://a.test/{name}"), (), fetched_at=visited_at, status=200, due_at=due_at)
    return replace(record, evidence=evidence, **fields)


def of(state: MemoryState, record: UrlRecord) -> UrlRecord:
    [found] = state.records.get([record.url])
    assert found is not None
    return found


def test_visits_of_a_time_to_come_count_as_made_now() -> None:
    """The page is due within the longest interval, not after the time by which the clock was wrong."""
    ahead = page("ahead", NOW + AHEAD, NOW + AHEAD + LONGEST)
    revisits, state = watched(ahead)
    assert revisits.restart(NOW)
    after = of(state, ahead)
    assert unpack_page(after.evidence).visited_at == NOW
    assert after.due_at is not None
    assert NOW < after.due_at <= NOW + LONGEST
    assert list(state.calendar) == [ahead.url]
    assert state.calendar.next_due() == after.due_at


@pytest.mark.parametrize(
    ("fields", "latest"),
    [({"status": 503, "failures": 2}, 30 * DAY), ({"status": 301}, LONGEST)],
    ids=["failed", "moved"],
)
def test_what_brought_no_page_is_tried_again_in_time(fields: dict[str, object], latest: float) -> None:
    """Within the longest pause after a failure, or the longest interval after a redirect."""
    record = page("x", NOW + AHEAD, NOW + AHEAD + latest, **fields)
    revisits, state = watched(record)
    revisits.restart(NOW)
    due_at = of(state, record).due_at
    assert due_at is not None
    assert due_at <= NOW + latest


def test_a_clock_that_is_a_little_behind_changes_nothing() -> None:
    """Machines of a cluster agree to a fraction of a second; a clock that went on changes nothing either."""
    record = page("x", NOW + AHEAD, NOW + AHEAD + LONGEST)
    revisits, state = watched(record)
    before = of(state, record)
    assert not revisits.restart(NOW + AHEAD - CLOCK_ERROR / 2)
    assert not revisits.restart(NOW + 2 * AHEAD)
    assert of(state, record) == before


def test_a_queued_page_is_not_taken_for_one_visited_a_moment_ago() -> None:
    """Its changes would be taken for noise if it were visited when the clock comes to the time of the last visit."""
    record = page("x", NOW + AHEAD, None, kept_at=NOW + AHEAD)
    revisits, state = watched(record)
    state.queues.push([Queued(record.url, site_of(record.url), Lane.REFRESH, 60)])
    comparer = PageComparer(SiteRecords(state.sites), revisits=revisits)
    assert comparer._is_instant(record, NOW + AHEAD + 1)
    revisits.restart(NOW)
    assert not comparer._is_instant(of(state, record), NOW + AHEAD + 1)


def test_the_time_of_the_last_grant_is_committed() -> None:
    """Or the next process would not know that the clock was set back."""
    revisits, _ = watched(page("x", NOW, NOW + DAY))
    assert revisits.snapshot().latest_at == NOW + AHEAD


@each_case(
    ("visited_at", "due_at", "expected"),
    [
        (NOW + AHEAD, NOW + AHEAD + DAY, (NOW, NOW + DAY)),
        (NOW - DAY, NOW + AHEAD + LONGEST, (NOW - DAY, NOW + LONGEST)),
        (NOW - DAY, NOW + DAY, (NOW - DAY, NOW + DAY)),
        (None, NOW + AHEAD + LONGEST, (None, NOW + LONGEST)),
        (NOW + AHEAD, math.inf, (NOW, math.inf)),
    ],
)
def test_a_sitemap_is_due_as_if_it_had_been_visited_now(
    visited_at: float | None, due_at: float, expected: tuple[float | None, float]
) -> None:
    """One that waits in a queue is not due before it was fetched."""
    url = Url("https://a.test/sitemap.xml")
    node = SitemapNode(url, url, Origin.ROBOTS, NOW - DAY, visited_at=visited_at, due_at=due_at)
    after = clamped_to(node, NOW, NOW + LONGEST)
    assert (after.visited_at, after.due_at) == expected

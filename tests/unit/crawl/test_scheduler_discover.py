"""The door: judged, known or new, queued; and every refusal and every new source recorded."""

from __future__ import annotations

from random import Random

from periplus.crawl.scheduler import CrawlScheduler
from periplus.model import (
    Accept,
    Discovered,
    Discovery,
    Lane,
    Refused,
    Reject,
    Rewrite,
    Site,
    Source,
    Url,
    Verdict,
)
from periplus.policy.filters import Chain
from periplus.policy.ordering import ordering
from periplus.store import MemoryEventSink, MemoryState

NOW = 1000.0


class Few:
    """A filter that admits so many URLs, refuses some by name, and knows others by another name."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def judge(self, discovery: Discovery) -> Verdict:
        if discovery.url.endswith("/bad"):
            return Reject("pattern", "*/bad")
        if discovery.url.endswith("/alias"):
            return Rewrite(Url(discovery.url.removesuffix("alias")), "alias")
        return Accept()

    def admit(self, discovery: Discovery) -> Verdict:
        self._limit -= 1
        return Accept() if self._limit >= 0 else Reject("budget")

    def observe(self, url: Url, is_unique: bool) -> None:
        pass

    def reconsider(self, discovery: Discovery) -> Verdict:
        return Accept()


def made(limit: int = 100) -> tuple[CrawlScheduler, MemoryState, MemoryEventSink]:
    state, events = MemoryState(), MemoryEventSink()
    scheduler = CrawlScheduler(
        state,
        guard=Chain([Few(limit)]),
        ordering=ordering("breadth_first"),
        events=events,
        agent="Periplus",
        random=Random(0),
    )
    return scheduler, state, events


def found(path: str, source: Source = Source.LINK, depth: int = 0) -> Discovery:
    return Discovery(Url(f"https://a.test/{path}"), source, NOW, depth)


def test_a_url_is_queued_once_however_often_it_is_told() -> None:
    """In one batch, in several, and by several sources: which are remembered, each once."""
    scheduler, state, events = made()
    scheduler.discover([found("x"), found("x"), found("x", Source.SITEMAP)], NOW)
    scheduler.discover([found("x", Source.SITEMAP), found("x", Source.FEED)], NOW)
    record = state.records.get([Url("https://a.test/x")])[0]
    assert record is not None
    assert [seen.source for seen in record.first_seen] == [Source.LINK, Source.SITEMAP, Source.FEED]
    assert len(state.queues) == 2  # once for each of its two sources; it is fetched once
    assert [event.is_new for event in events.events if isinstance(event, Discovered)] == [True, False, False]


def test_refusals_are_recorded_with_their_rule() -> None:
    """Before the seen test nothing else remembers them; after it their record says why."""
    scheduler, state, events = made(limit=1)
    scheduler.discover([found("bad"), found("1"), found("2"), found("2", Source.SITEMAP)], NOW)
    refused = [event for event in events.events if isinstance(event, Refused)]
    assert [(event.reason, event.rule) for event in refused] == [("pattern", "*/bad"), ("budget", "")]
    assert state.records.get([Url("https://a.test/bad")]) == [None]
    record = state.records.get([Url("https://a.test/2")])[0]
    assert record is not None
    assert record.reason == "budget"
    assert len(state.queues) == 1


def test_a_url_is_known_by_its_other_name() -> None:
    """A rewrite is what is queued."""
    scheduler, state, _ = made()
    scheduler.discover([found("alias"), found("")], NOW)
    assert [ticket.entry.url for ticket in state.queues.heads(Site("a.test"), Lane.DISCOVERY, 9)] == ["https://a.test/"]


def test_who_tells_decides_the_lane_and_depth_the_level() -> None:
    """What sites say of themselves is paid from another budget than links; shallow pages go first."""
    scheduler, state, _ = made()
    scheduler.discover([found("deep", depth=3), found("flat", depth=1), found("map", Source.SITEMAP)], NOW)
    assert [ticket.entry.url[-4:] for ticket in state.queues.heads(Site("a.test"), Lane.DISCOVERY, 9)] == [
        "flat",
        "deep",
    ]
    assert state.queues.length(Site("a.test"), Lane.SITEMAPS) == 1


def test_the_best_of_all_lanes_is_next() -> None:
    """Of the lanes of a site that one goes first whose first URL is the most wanted."""
    scheduler, _, _ = made()
    scheduler.discover([found("deep", depth=3), found("map", Source.SITEMAP), found("far", Source.PING, depth=9)], NOW)
    active = scheduler._rounds.bench.get(Site("a.test"))
    assert active is not None
    assert [ticket.entry.url for ticket in scheduler._rounds.heads(active, 1)] == ["https://a.test/map"]
    scheduler.check_invariants()

"""Discoveries are filtered, looked up and queued; every refusal and every new source is recorded."""

from __future__ import annotations

from tests.engine.frontier.opened_frontier import FrontierOptions, open_frontier
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier
from periplus.model import Accept, Discovery, Lane, Refused, Reject, Rewrite, Site, Source, Url, UrlDiscovered, Verdict
from periplus.policy.filters import Chain
from periplus.store import MemoryState

NOW = 1000.0


class Few:
    """A filter that admits `limit` URLs, refuses some by name, and rewrites others."""

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


def made(limit: int = 100) -> tuple[Frontier, MemoryState, MemoryEventSink]:
    state, events = MemoryState(), MemoryEventSink()
    return open_frontier(state, FrontierOptions(guard=Chain([Few(limit)]), events=events)), state, events


def found(path: str, source: Source = Source.LINK, depth: int = 0) -> Discovery:
    return Discovery(Url(f"https://a.test/{path}"), source, NOW, depth)


def test_url_is_queued_once_for_each_lane() -> None:
    """In one batch, in several, and from several sources, each of which is recorded once."""
    frontier, state, events = made()
    frontier.discover([found("x"), found("x"), found("x", Source.SITEMAP)], NOW)
    frontier.discover([found("x", Source.SITEMAP), found("x", Source.FEED)], NOW)
    record = state.records.get([Url("https://a.test/x")])[0]
    assert record is not None
    assert [seen.source for seen in record.first_seen] == [Source.LINK, Source.SITEMAP, Source.FEED]
    assert len(state.queues) == 2  # once for each of its two sources; it is fetched once
    assert [event.is_new for event in events.events if isinstance(event, UrlDiscovered)] == [True, False, False]


def test_refusals_are_recorded_with_their_rule() -> None:
    """A URL refused before the seen test has no record; one refused after it has the reason in its record."""
    frontier, state, events = made(limit=1)
    frontier.discover([found("bad"), found("1"), found("2"), found("2", Source.SITEMAP)], NOW)
    refused = [event for event in events.events if isinstance(event, Refused)]
    assert [(event.reason, event.rule) for event in refused] == [("pattern", "*/bad"), ("budget", "")]
    assert state.records.get([Url("https://a.test/bad")]) == [None]
    record = state.records.get([Url("https://a.test/2")])[0]
    assert record is not None
    assert record.reason == "budget"
    assert len(state.queues) == 1


def test_rewritten_url_is_queued() -> None:
    """The URL a filter rewrites to is the one that is known."""
    frontier, state, _ = made()
    frontier.discover([found("alias"), found("")], NOW)
    assert [ticket.entry.url for ticket in state.queues.heads(Site("a.test"), Lane.DISCOVERY, 9)] == ["https://a.test/"]


def test_source_decides_the_lane_and_depth_the_level() -> None:
    """URLs from sitemaps have another budget than links; shallow pages come first."""
    frontier, state, _ = made()
    frontier.discover([found("deep", depth=3), found("flat", depth=1), found("map", Source.SITEMAP)], NOW)
    assert [ticket.entry.url[-4:] for ticket in state.queues.heads(Site("a.test"), Lane.DISCOVERY, 9)] == [
        "flat",
        "deep",
    ]
    assert state.queues.length(Site("a.test"), Lane.SITEMAPS) == 1


def test_best_of_all_lanes_is_next() -> None:
    """Of the lanes of a site, the one whose first URL is the most wanted comes first."""
    frontier, _, _ = made()
    frontier.discover([found("deep", depth=3), found("map", Source.SITEMAP), found("far", Source.PING, depth=9)], NOW)
    active = frontier.schedule.get(Site("a.test"))
    assert active is not None
    assert [ticket.entry.url for ticket in frontier._selector.heads(active, 1)] == ["https://a.test/map"]
    frontier.check_invariants()

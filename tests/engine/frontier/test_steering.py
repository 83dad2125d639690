"""Patterns that people give while a crawl runs: what is excluded leaves, what is preferred is first."""

from __future__ import annotations

import pytest
from tests.engine.frontier.test_scores import NOW, SITE, Begin, begin, url

from periplus.engine.clock import RateLimiter
from periplus.engine.frontier.steering import MAX_LOOKED_AT, Preview, Steering, SteeringState, preview
from periplus.model import ConfigError, FetchEnded, Lane, Queued, Refused, Url, UrlDiscovered
from periplus.store import MemoryState

__all__ = ["begin"]

ORDERINGS = ["breadth_first", "indegree", "opic"]


@pytest.mark.parametrize("name", ORDERINGS)
def test_preferred_urls_come_first_also_in_the_next_process(begin: Begin, name: str) -> None:
    crawl = begin(name)
    crawl.seed("a1", "a2", "b1", "b2", "c1")
    crawl.frontier.steer((), ("*/b*",), (), NOW)
    assert crawl.fetch("b3", "d1") == "b1"
    crawl.reopen()
    assert {crawl.fetch(), crawl.fetch()} == {"b2", "b3"}
    assert {crawl.fetch() for _ in range(4)} == {"a1", "a2", "c1", "d1"}
    assert crawl.fetch() == ""


@pytest.mark.parametrize("name", ORDERINGS)
def test_a_url_that_is_out_keeps_its_place(begin: Begin, name: str) -> None:
    crawl = begin(name)
    crawl.seed("a1", "a2")
    task = crawl.take()
    assert task is not None
    crawl.frontier.steer((), ("*",), (), NOW)
    crawl.reopen()
    assert sorted([crawl.fetch(), crawl.fetch()]) == ["a1", "a2"]
    assert crawl.fetch() == ""


@pytest.mark.parametrize("name", ORDERINGS)
def test_excluded_urls_leave_their_queue_and_are_refused_when_found(begin: Begin, name: str) -> None:
    crawl = begin(name)
    crawl.seed("a1", "b1", "b2")
    crawl.frontier.steer(("*/b*",), (), (), NOW)
    crawl.reopen()
    assert crawl.fetch("b3", "c1") == "a1"
    assert crawl.fetch() == "c1"
    assert crawl.fetch() == ""
    excluded = [event.outcome for event in crawl.events.events if isinstance(event, FetchEnded)]
    assert sorted(outcome.task.url for outcome in excluded) == [url("b1"), url("b2")]
    refused = [event for event in crawl.events.events if isinstance(event, Refused)]
    assert [(event.discovery.url, event.reason, event.rule) for event in refused] == [(url("b3"), "excluded", "*/b*")]
    crawl.frontier.steer((), (), ("*/b*",), NOW)
    crawl.read("c1", "b3", "b4")
    assert {crawl.fetch(), crawl.fetch()} == {"b3", "b4"}
    assert any(isinstance(event, UrlDiscovered) for event in crawl.events.events)


def test_patterns_are_merged_in_order() -> None:
    steering = Steering(SteeringState(("x",), ("p",)))
    steering.change(("y", "x"), ("q",), ())
    assert steering.state == SteeringState(("x", "y"), ("p", "q"))
    steering.change(("z",), (), ("x", "p"))
    assert steering.state == SteeringState(("y", "z"), ("q",))
    with pytest.raises(ConfigError):
        Steering(SteeringState(("re:(?=a)",)))


def test_a_preview_counts_each_url_once_and_ends() -> None:
    state = MemoryState()
    both = [Queued(url(f"a{n}"), SITE, lane, 3) for n in range(30) for lane in (Lane.DISCOVERY, Lane.SITEMAPS)]
    state.queues.push([*both, Queued(url("b"), SITE, Lane.REFRESH, 3), Queued(url("a.xml"), SITE, Lane.FILES, 3)])
    found = preview(state.queues, state.records, "*.test/a*", set[Url]().__contains__)
    assert (found.matching, found.looked_at, found.is_complete, len(found.sample)) == (30, 62, True, 20)
    assert found + found == Preview(60, 124, True, found.sample)
    assert preview(state.queues, state.records, "*.test/a*", {url("a7"), url("b")}.__contains__).matching == 29, (
        "a7 is under way"
    )
    state.queues.push([Queued(Url(f"{url('c')}{n}"), SITE, Lane.DISCOVERY, 3) for n in range(MAX_LOOKED_AT)])
    assert not preview(state.queues, state.records, "*", set[Url]().__contains__).is_complete


def test_a_rate_can_be_changed_and_taken_back() -> None:
    limiter = RateLimiter(2.0, 0.0)
    limiter.change(5.0, 10.0)
    assert (limiter.rate, limiter.room(10.0), limiter.room(12.0)) == (5.0, 0, 5)
    limiter.change(0.0, 12.0)
    assert limiter.room(12.0) > 1000
    limiter.change(None, 12.0)
    assert (limiter.rate, limiter.room(12.0), limiter.room(14.0)) == (2.0, 0, 2)

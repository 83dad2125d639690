"""Experiments with connections and batches: speed-ups within their bounds, and how busy robots are."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from msgspec.structs import replace

from periplus.model import ConfigError, Site
from periplus.policy.ordering import LargestSite
from periplus_lab.simulate.batches import batch_activity, form_batch, part_of, robots_at_work, waiting_pages
from periplus_lab.simulate.crawl import SimulatedCrawl, Trace
from periplus_lab.simulate.generated import WebSettings, generate
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.speedup import TABLE_I, SpeedupResult, bounds, speedups
from periplus_lab.simulate.web import Web, web_from_edges


@pytest.fixture(scope="module")
def web() -> Web:
    return generate(WebSettings(pages=900, sites=60, links=6.0, largest_site=40, seed=1))


@pytest.fixture(scope="module")
def small_web() -> Web:
    return generate(WebSettings(pages=400, sites=60, links=6.0, largest_site=10, seed=1))


@pytest.fixture(scope="module")
def table(small_web: Web) -> dict[tuple[int, float], SpeedupResult]:
    results = speedups(small_web, connections=(1, 8, 32), bandwidths=(2e7, 1e5), network=NetworkSettings(delay=1.0))
    return {(each.connections, each.bandwidth): each for each in results}


def test_speedup_is_against_one_connection_on_the_fastest_line(table: dict[tuple[int, float], SpeedupResult]) -> None:
    """The first place of the table is 1; efficiency is speed-up a connection."""
    assert table[1, 2e7].speedup == table[1, 2e7].efficiency == 1.0
    for each in table.values():
        assert each.speedup == pytest.approx(table[1, 2e7].makespan / each.makespan)
        assert each.efficiency == pytest.approx(each.speedup / each.connections)
        assert each.pages == 400


def test_more_connections_help_until_the_line_is_full(table: dict[tuple[int, float], SpeedupResult]) -> None:
    """Speed-up grows with connections; on a slow line it grows less (the paper: saturation makes robots pointless)."""
    assert 1.0 < table[8, 2e7].speedup <= table[32, 2e7].speedup
    assert table[8, 1e5].speedup < table[8, 2e7].speedup
    gain = {line: table[32, line].half_speedup / table[8, line].half_speedup for line in (2e7, 1e5)}
    assert gain[1e5] < gain[2e7]


def test_no_speedup_is_above_its_bound(table: dict[tuple[int, float], SpeedupResult]) -> None:
    """Bytes, connections and politeness set limits that no crawl surpasses."""
    for each in table.values():
        assert each.speedup <= each.bound * (1 + 1e-9)
    assert table[1, 2e7].bound_by == "connections"
    assert table[32, 1e5].bound_by == "line"


def test_the_slowest_site_bounds_a_crawl() -> None:
    """Two sites of one and three pages, a second each, w = 15: the larger needs 33 seconds, whatever r is."""
    none = np.zeros(0, np.int64)
    sites = [Site("a.example"), Site("b.example")]
    web = web_from_edges(none, none, np.array([0, 1, 1, 1]), sites, seeds=np.arange(4), size=1, bandwidth=1e9)
    found = bounds(web, NetworkSettings(connections=100), alone=33.0)
    assert found.slowest_site == pytest.approx(1.0)
    assert (found.connections, found.line) == (100, inf)
    assert bounds(web, NetworkSettings(connections=100, pages_per_visit=3), alone=33.0).slowest_site == pytest.approx(
        11
    )


def test_workers_come_to_the_same_table(small_web: Web, table: dict[tuple[int, float], SpeedupResult]) -> None:
    """With two processes every value is the same, and progress ends with all of it."""
    told: list[tuple[int, int]] = []
    again = speedups(
        small_web,
        connections=(1, 8),
        bandwidths=(2e7,),
        network=NetworkSettings(delay=1.0),
        workers=2,
        progress=lambda *at: told.append(at),
    )
    assert again == [table[each.connections, each.bandwidth] for each in again]
    assert told[-1][0] == told[-1][1]


def test_the_first_case_is_always_run(web: Web) -> None:
    """Who asks for 8 connections alone still gets a speed-up over one."""
    (only,) = speedups(web, connections=(8,), bandwidths=(2e7,), limit=200)
    assert only.connections == 8
    assert only.speedup > 1


def test_the_paper_s_table_is_as_printed() -> None:
    """Rows 1 to 4: efficiency of .85 where the line is not full, and less on each slower line."""
    for r in (64, 256):
        column = [TABLE_I[line, r] for line in (2e7, 2e6, 2e5, 2e4)]
        assert column == sorted(column, reverse=True)
        assert column[0] / r == pytest.approx(0.855, abs=0.01)


# batches


def trace_of(pages: list[int]) -> Trace:
    """A crawl that fetched these pages, in no time."""
    count = len(pages)
    return Trace(np.array(pages, np.int32), np.zeros(count), np.zeros(count), np.ones(count, np.bool_), 0.0)


def test_what_waits_is_what_was_found_and_not_fetched() -> None:
    """In the order of discovery: seeds first, then the links of the first page, then of the second."""
    sources, targets = np.array([0, 0, 1, 1, 5]), np.array([4, 3, 3, 2, 0])
    web = web_from_edges(sources, targets, np.zeros(6), [Site("a.example")], seeds=np.array([1, 0]))
    assert waiting_pages(web, trace_of([1, 0])).tolist() == [2, 3, 4]
    assert waiting_pages(web, trace_of([0])).tolist() == [1, 3, 4]
    assert waiting_pages(web, trace_of([])).tolist() == [1, 0]


def test_a_batch_takes_from_the_longest_queue() -> None:
    """Queues of 5, 3 and 1: two pages are of the longest, the next two are one of each that has three then."""
    none = np.zeros(0, np.int64)
    site = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2])
    sites = [Site(f"{name}.example") for name in "abc"]
    web = web_from_edges(none, none, site, sites, seeds=np.arange(9))
    assert form_batch(web, trace_of([]), 2).pages.tolist() == [0, 1]
    assert sorted(form_batch(web, trace_of([]), 4).pages.tolist()) == [0, 1, 2, 5]
    everything = form_batch(web, trace_of([]), 100)
    assert sorted(everything.pages.tolist()) == list(range(9))
    assert (everything.sites, everything.largest) == (3, 5)
    assert everything.top_tenth == pytest.approx(5 / 9)
    assert everything.by_site.y == [5.0, 3.0, 1.0]


def test_a_batch_is_what_length_would_fetch_next(web: Web) -> None:
    """The rule is the scheduler's own: with one robot and no waiting it takes as many of each site, but for ties."""
    network = NetworkSettings(connections=1, delay=0.0)
    queue = replace(web, starts=np.zeros(len(web) + 1, np.int64), targets=np.zeros(0, np.int32), seeds=np.arange(900))
    crawl = SimulatedCrawl(queue, LargestSite(), network, limit=300).run()
    batch = form_batch(queue, trace_of([]), 300)
    sizes = [np.sort(np.bincount(queue.site[pages], minlength=60)) for pages in (crawl.page, batch.pages)]
    assert np.abs(sizes[0] - sizes[1]).max() <= 1


def test_robots_at_work_are_counted() -> None:
    """Two fetches that overlap are two robots, for as long as they do."""
    trace = Trace(np.array([0, 1], np.int32), np.array([0.0, 1.0]), np.array([3.0, 1.0]), np.ones(2, np.bool_), 3.0)
    times, robots = robots_at_work(trace)
    assert times.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert robots.tolist() == [1, 2, 1, 0]


def test_many_pages_a_visit_keep_robots_busy(web: Web) -> None:
    """K = 100 leaves robots idle less than k = 1 and ends sooner; idle time is what is not spent on fetches."""
    told: list[tuple[int, int]] = []
    batch, activities = batch_activity(
        web,
        size=300,
        network=NetworkSettings(connections=6),
        bandwidths=(20_000.0, inf),
        progress=lambda *at: told.append(at),
    )
    by_way = {(each.pages_per_visit, each.bandwidth): each for each in activities}
    assert list(by_way) == [(1, 20_000.0), (1, inf), (100, 20_000.0), (100, inf)]
    assert len(batch.pages) == 300
    for line in (20_000.0, inf):
        assert by_way[100, line].idle < by_way[1, line].idle
        assert by_way[100, line].makespan < by_way[1, line].makespan
    for each in activities:
        assert 0.0 <= each.idle <= 1.0
        assert 0.0 <= each.mostly_idle <= 1.0
        assert max(each.active.y) <= 6
        assert each.idle == pytest.approx(1 - np.mean(each.active.y[:-1]) / 6, abs=0.05)


def test_a_batch_of_nothing_is_refused(web: Web) -> None:
    """An empty batch says nothing."""
    with pytest.raises(ConfigError):
        form_batch(web, trace_of([]), 0)


def test_a_part_of_a_web_keeps_what_belongs_to_its_pages(web: Web) -> None:
    """Sizes, statuses and the speed of each page's site are those of the whole."""
    pages = np.array([700, 3, 9])
    part = part_of(web, pages)
    assert part.size.tolist() == web.size[pages].tolist()
    assert part.latency[part.site].tolist() == web.latency[web.site[pages]].tolist()
    assert [part.sites[number] for number in part.site] == [web.sites[number] for number in web.site[pages]]
    assert part.seeds.tolist() == [0, 1, 2]

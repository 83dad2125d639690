"""A crawl in virtual time: every page once, politely, the same each time, and in the order that the papers expect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.hypothesis_depth import examples

from periplus.policy.ordering import ordering, orderings
from periplus_lab.simulate.crawl import SimulatedCrawl, Trace
from periplus_lab.simulate.generated import WebSettings, generate, small_settings
from periplus_lab.simulate.graph_files import RankedWeb, ranked
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.runs import PolicyChoice, crawl_of, run_ordering
from periplus_lab.simulate.web import Web

DELAY = 15.0


def crawled(web: Web, name: str, network: NetworkSettings, *, seed: int = 0, limit: int | None = None) -> Trace:
    settings = {"every": 40} if name in ("batch", "partial", "rankmass") else {}
    return SimulatedCrawl(web, ordering(name, oracle=len, **settings), network, seed=seed, limit=limit).run()


@cache
def tiny(seed: int, ok: float = 1.0) -> Web:
    return generate(WebSettings(pages=240, sites=12, links=5.0, seed=seed, ok=ok))


def one_second_web(seed: int, pages: int) -> Web:
    """A web where every fetch takes a second, and other sites link to large ones more."""
    web = generate(replace(small_settings(seed), pages=pages, sites=pages // 25, popularity=1.0))
    count = len(web.sites)
    return replace(web, latency=np.ones(count), size=np.ones(len(web), np.int32), bandwidth=np.full(count, 1e9))


@pytest.mark.parametrize("name", orderings())
def test_every_page_is_fetched_exactly_once(name: str) -> None:
    """Whatever the ordering, a crawl ends with all pages, none of them twice."""
    trace = crawled(tiny(1), name, NetworkSettings(connections=5))
    assert sorted(trace.page.tolist()) == list(range(240))
    assert trace.is_ok.all()


@pytest.mark.parametrize("name", ["largest_site", "opic", "batch"])
def test_failing_pages_are_tried_and_given_up(name: str) -> None:
    """Pages that fail end in no endless crawl: all good pages are there once, all others were asked for."""
    web = tiny(2, ok=0.7)
    trace = crawled(web, name, NetworkSettings(connections=5))
    assert sorted(trace.fetched.tolist()) == np.flatnonzero(web.status == 200).tolist()
    assert set(trace.page.tolist()) == set(range(240))


@settings(max_examples=examples(4))
@given(
    name=st.sampled_from(["breadth_first", "largest_site", "random", "opic", "batch"]),
    connections=st.integers(1, 20),
    visit=st.sampled_from([1, 2, 7, 100]),
    delay=st.sampled_from([0.0, 1.0, 15.0]),
    bandwidth=st.sampled_from([float("inf"), 30_000.0, 1_000_000.0]),
    seed=st.integers(0, 3),
)
def test_politeness_holds(name: str, connections: int, visit: int, delay: float, bandwidth: float, seed: int) -> None:
    """No site is asked twice at once; after k pages it rests for w seconds; no more than r fetches are under way."""
    web = tiny(seed)
    network = NetworkSettings(connections, delay, visit, bandwidth)
    trace = crawled(web, name, network)
    order = np.argsort(trace.started_at, kind="stable")
    began, ended = trace.started_at[order], (trace.started_at + trace.took)[order]
    site = web.site[trace.page[order]]
    for number in range(len(web.sites)):
        gaps = began[site == number][1:] - ended[site == number][:-1]
        assert (gaps >= -1e-6).all()
        rested = gaps >= delay - 1e-6
        assert _longest_visit(rested) <= visit
    under_way = [np.count_nonzero((began <= at) & (ended > at + 1e-6)) for at in began]
    assert max(under_way) <= connections


def _longest_visit(rested: NDArray[np.bool_]) -> int:
    """The most pages that follow each other without a rest in between."""
    longest = run = 1
    for rests in rested.tolist():
        run = 1 if rests else run + 1
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize("name", ["random", "opic", "rankmass_windowed"])
def test_a_seed_decides_everything(name: str) -> None:
    """The same web, ordering and seed give the same crawl, fetch by fetch."""
    one, other = (crawled(tiny(3), name, NetworkSettings(connections=7, bandwidth=50_000.0), seed=5) for _ in "12")
    assert one.page.tolist() == other.page.tolist()
    assert one.started_at.tolist() == other.started_at.tolist()
    assert one.ended_at == other.ended_at


def test_a_limit_ends_the_crawl() -> None:
    """After exactly `limit` pages."""
    trace = crawled(tiny(4), "breadth_first", NetworkSettings(connections=7), limit=100)
    assert len(trace.page) == 100


def test_one_robot_without_politeness_takes_the_sum() -> None:
    """With r = 1 and w = 0 nothing waits: the time of the crawl is that of all its fetches."""
    web = tiny(5)
    trace = crawled(web, "largest_site", NetworkSettings(connections=1, delay=0.0))
    each = web.latency[web.site] + web.size / web.bandwidth[web.site]
    assert trace.ended_at == pytest.approx(each.sum())
    assert trace.ended_at == pytest.approx(trace.took.sum())


def test_a_connection_costs_its_latency_once_a_visit() -> None:
    """K pages on one connection wait once for the site: 20 pages at k = 5 cost four latencies."""
    web = generate(WebSettings(pages=20, sites=1, links=3.0, seed=1))
    trace = crawled(web, "breadth_first", NetworkSettings(connections=1, delay=0.0, pages_per_visit=5))
    sent = (web.size / web.bandwidth[web.site]).sum()
    assert trace.ended_at == pytest.approx(sent + 4 * web.latency[0])


def makespans(web: RankedWeb, ways: Sequence[tuple[str, int, int]]) -> dict[tuple[str, int, int], float]:
    """How long crawls take, in multiples of the time that the largest site needs."""
    floor = (1 + DELAY) * np.bincount(web.web.site).max() - DELAY
    return {
        (name, r, k): run_ordering(
            web, PolicyChoice(name), NetworkSettings(connections=r, pages_per_visit=k), seed=0
        ).makespan
        / floor
        for name, r, k in ways
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_length_is_a_rule_for_the_makespan(seed: int) -> None:
    """With one robot: none is below the floor; Length is within 5 % of it, Optimal above it, Depth far above both.

    On another web of the kind the values were +3.5 %, +12 % and +32 %.
    """
    ways = [(name, 1, 1) for name in ("length", "optimal", "depth")]
    length, optimal, depth = makespans(ranked(one_second_web(seed, 4_000)), ways).values()
    assert 1.0 - 1e-9 <= length <= 1.05
    assert length - 1e-9 <= optimal <= 1.15
    assert optimal + 0.05 < depth
    assert depth > 1.08


@pytest.mark.parametrize(
    ("seed", "pages"), [(0, 1_000), *(pytest.param(seed, 4_000, marks=pytest.mark.slow) for seed in (0, 1))]
)
def test_with_many_robots_the_largest_site_decides(seed: int, pages: int) -> None:
    """64 robots end when the largest site does, whatever the ordering; 100 pages a visit free them of that."""
    ways = [("length", 64, 1), ("depth", 64, 1), ("length", 64, 100)]
    length, depth, visiting = makespans(ranked(one_second_web(seed, pages)), ways).values()
    assert length == pytest.approx(1.0, abs=0.02)
    assert depth == pytest.approx(1.0, abs=0.02)
    assert visiting < 0.2


def mean_masses(web: RankedWeb, every: int) -> dict[str, float]:
    network = NetworkSettings(connections=1, delay=0.0)
    names = ["optimal", f"rankmass:every={every}", "opic", f"batch:every={every}", "depth", "indegree", "random"]
    choices = [PolicyChoice.parse(name) for name in names]
    return {choice.name: run_ordering(web, choice, network, seed=0).mean_mass for choice in choices}


def check_order(masses: dict[str, float]) -> None:
    """Oracle > RankMass ~ OPIC > Batch > breadth-first > random, in mean PageRank mass.

    In-degree, poor in some crawls and good in others, is below OPIC and above random here, near breadth-first.
    """
    assert masses["optimal"] > max(masses["rankmass"], masses["opic"]) + 0.02
    assert masses["rankmass"] == pytest.approx(masses["opic"], abs=0.01)
    assert min(masses["rankmass"], masses["opic"]) > masses["batch"] - 0.002
    assert masses["batch"] > masses["depth"] + 0.002
    assert masses["opic"] > masses["indegree"]
    assert masses["depth"] == pytest.approx(masses["indegree"], abs=0.06)
    assert min(masses["depth"], masses["indegree"]) > masses["random"] + 0.01


@pytest.mark.slow
def test_orderings_by_importance_find_it_earlier() -> None:
    """The mean over two webs keeps the order of the literature (Cho & Schonfeld 2007; Abiteboul et al. 2003)."""
    webs = [ranked(generate(replace(small_settings(seed), pages=3_000, sites=120))) for seed in (0, 1)]
    both = [mean_masses(web, every=300) for web in webs]
    check_order({name: (both[0][name] + both[1][name]) / 2 for name in both[0]})


def test_the_simulator_is_the_crawl_that_can_be_watched() -> None:
    """`crawl_of` gives the crawl itself, with as many decisions as there were fetches."""
    web = ranked(tiny(6))
    crawl = crawl_of(web, PolicyChoice("depth"), NetworkSettings(connections=3), seed=0)
    trace = crawl.run()
    assert crawl.decisions == len(trace.page) == 240
    crawl.machine.check_invariants()

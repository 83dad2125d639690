"""Experiments with orderings: what is asked for, what is measured, and that workers change nothing."""

from __future__ import annotations

import multiprocessing
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.tests.simulate.worker_jobs import end_at_once, halve
from msgspec.structs import replace
from tests.each_case import each_case

from periplus.graph import pagerank
from periplus.model import ConfigError, Discovery, Site, Url, UsageError
from periplus.policy.found import FoundUrl
from periplus.policy.ordering import ByWorth, RandomOrder
from periplus_lab.simulate.crawl import Trace
from periplus_lab.simulate.generated import WebSettings, generate
from periplus_lab.simulate.graph_files import ranked, store_web, stored_web
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.orderings import OrderingResult, compare_orderings, mean_curves, summarise
from periplus_lab.simulate.runs import CURVE_POINTS, PolicyChoice, Value, mass_of, oracle_of, run_ordering
from periplus_lab.simulate.web import Web, web_from_edges
from periplus_lab.simulate.workers import run_jobs

POLICIES = [PolicyChoice.parse(text) for text in ("optimal", "opic", "random", "batch:every=50")]


def webs(seed: int) -> Web:
    return generate(WebSettings(pages=300, sites=10, links=5.0, seed=seed, ok=0.9))


def without_cpu(results: list[OrderingResult]) -> list[OrderingResult]:
    return [replace(each, cpu_seconds=0.0) for each in results]


@pytest.fixture(scope="module")
def results() -> list[OrderingResult]:
    return compare_orderings(webs, POLICIES, repetitions=2, seed=7, budgets=(0.1, 1.0))


# what is asked for


@each_case(
    ("text", "name", "settings"),
    [
        ("opic", "opic", {}),
        (" batch:every=5000 ", "batch", {"every": 5000}),
        ("batch:every=5000,damping=0.9", "batch", {"every": 5000, "damping": 0.9}),
        ("rankmass_windowed:share=1", "rankmass_windowed", {"share": 1}),
        ("length", "length", {}),
    ],
)
def test_a_policy_is_read_as_written(text: str, name: str, settings: dict[str, Value]) -> None:
    """A name, and settings after a colon; written out again it is the same."""
    choice = PolicyChoice.parse(text)
    assert (choice.name, choice.settings) == (name, settings)
    assert PolicyChoice.parse(str(choice)) == choice
    assert str(choice) == text.strip()


@each_case(
    "text",
    [
        "", "opik", "batch:", "batch:every", "batch:every=", "batch:=3", "batch:evry=3", "batch:every=many",
        "batch:every=0", "batch:every=1.5", "batch:every=true", "batch:every=1,every=2", "batch:damping=2",
        "optimal:oracle=1", "depth:every=1", "batch:every=1,,damping=0.5", "x" * 10_000, "batch:" + "e" * 10_000 + "=1",
    ],
)  # fmt: skip
def test_nonsense_is_refused_with_a_hint(text: str) -> None:
    """What cannot be run is a `ConfigError` before anything runs, short, with what to write instead."""
    with pytest.raises(ConfigError) as refusal:
        PolicyChoice.parse(text)
    assert refusal.value.hint
    assert len(str(refusal.value)) + len(refusal.value.hint) < 600


def test_chance_is_the_seeds_unless_it_was_set() -> None:
    """Repetitions of *random* differ, by the seed of each; who sets a seed gets that one."""

    def seed_of(text: str) -> object:
        made = PolicyChoice.parse(text).ordering(len, 41)
        assert isinstance(made, RandomOrder)
        return vars(made)["_seed"]

    assert seed_of("random") == 41
    assert seed_of("random:seed=3") == 3


@each_case("budget", [0.0, -0.1, 1.01, float("nan")])
def test_a_budget_is_a_share(budget: float) -> None:
    """Budgets outside of 0 to 1 are refused before anything runs."""
    with pytest.raises(ConfigError):
        compare_orderings(webs, POLICIES, budgets=(budget,))


# what is measured


def test_mass_is_the_share_of_pagerank_fetched() -> None:
    """After a page its own PageRank, after two both; over the pages that can be fetched, so that all of them have 1."""
    edges = np.array([[0, 1], [0, 2], [1, 2], [2, 0], [3, 0]])
    web = web_from_edges(edges[:, 0], edges[:, 1], np.zeros(4), [Site("a.example")], seeds=np.array([0]))
    rank = pagerank(edges[:, 0], edges[:, 1], 4)
    trace = Trace(np.array([0, 2, 1], np.int32), np.zeros(3), np.ones(3), np.ones(3, np.bool_), 3.0)
    expected = np.cumsum([0.0, rank[0], rank[2], rank[1]]) / (rank[0] + rank[1] + rank[2])
    assert mass_of(ranked(web), trace) == pytest.approx(expected)


def test_failing_pages_and_what_only_they_lead_to_are_nobodys_loss() -> None:
    """A page that fails, and one behind it, do not count: who has the rest has everything."""
    web = web_from_edges(
        np.array([0, 0, 1]), np.array([1, 2, 3]), np.zeros(4), [Site("a.example")], seeds=np.array([0])
    )
    web = replace(web, status=np.array([200, 404, 200, 200], np.int16))
    result = run_ordering(ranked(web), PolicyChoice("depth"), NetworkSettings(), seed=0, budgets=(0.5, 1.0))
    assert (result.pages, result.total, result.web_pages) == (2, 2, 4)
    assert dict(result.mass)[1.0] == pytest.approx(1.0)


@pytest.mark.proof
@settings(max_examples=60, deadline=None)
@given(data=st.data(), statuses=st.lists(st.sampled_from([200, 200, 206, 301, 404]), min_size=3, max_size=12))
def test_no_share_is_above_one_and_a_complete_crawl_has_one(data: st.DataObject, statuses: list[int]) -> None:
    """However redirects, errors and pages lead to each other."""
    page = st.integers(0, len(statuses) - 1)
    edges = np.array(data.draw(st.lists(st.tuples(page, page), min_size=5, max_size=30)), np.int64).reshape(-1, 2)
    web = web_from_edges(
        edges[:, 0], edges[:, 1], np.zeros(len(statuses)), [Site("a.example")], seeds=np.array([data.draw(page)])
    )
    whole = ranked(replace(web, status=np.array(statuses, np.int16)))
    result = run_ordering(whole, PolicyChoice("breadth_first"), NetworkSettings(), seed=0)
    assert result.pages == result.total
    assert result.curve.y[-1] == pytest.approx(1.0 if result.total else 0.0)


def test_a_complete_crawl_has_everything(results: list[OrderingResult]) -> None:
    """Curves go from nothing to everything and never fall; the mean is the area under them."""
    for each in results:
        assert each.pages == each.total == 270
        assert dict(each.mass)[1.0] == pytest.approx(1.0)
        for curve in (each.curve, each.over_time):
            assert curve.y[0] == 0.0
            assert curve.y[-1] == pytest.approx(1.0)
            assert len(curve.x) == len(curve.y) <= CURVE_POINTS
            assert (np.diff(curve.y) >= 0).all()
            assert (np.diff(curve.x) > 0).all()
        assert each.over_time.x[-1] == each.makespan
        assert np.trapezoid(each.curve.y, each.curve.x) == pytest.approx(each.mean_mass, abs=0.01)
        assert 0 < each.half_at < each.makespan
        assert each.decisions >= each.web_pages


def test_the_oracle_is_not_beaten_early(results: list[OrderingResult]) -> None:
    """At a tenth of the pages no ordering is above the one that knows PageRank."""
    for seed in (7, 8):
        early = {each.policy: dict(each.mass)[0.1] for each in results if each.seed == seed}
        assert early["optimal"] == max(early.values())


def test_a_limit_leaves_out_what_was_not_reached() -> None:
    """Budgets beyond the limit have no value rather than a wrong one."""
    (result,) = compare_orderings(webs, [PolicyChoice("depth")], budgets=(0.1, 0.9), limit=100)
    assert result.pages == 100
    assert [budget for budget, _ in result.mass] == [0.1]
    assert result.curve.x[-1] == pytest.approx(100 / 270)


def test_the_oracle_knows_pages_with_and_without_names() -> None:
    """Named or not, a URL has the PageRank of its page, in multiples of the mean."""
    plain = ranked(webs(1))
    named = replace(plain, web=replace(plain.web, urls=[Url(f"http://x.example/p{page}") for page in range(300)]))
    for web in (plain, named):
        ask = oracle_of(web)
        assert ask(web.web.url(17)) == pytest.approx(plain.rank[17] * 300)


# repetitions and workers


def test_repetitions_are_other_webs(results: list[OrderingResult]) -> None:
    """Repetition i has seed + i: all policies of one, then of the next."""
    assert [(each.policy, each.seed) for each in results] == [
        (str(policy), seed) for seed in (7, 8) for policy in POLICIES
    ]
    assert results[0].mean_mass != results[4].mean_mass


@pytest.mark.proof
def test_workers_change_nothing(results: list[OrderingResult]) -> None:
    """Two processes come to the same as one, in the same order, and tell how far they are."""
    told: list[tuple[int, int]] = []
    again = compare_orderings(
        webs, POLICIES, repetitions=2, seed=7, budgets=(0.1, 1.0), workers=2, progress=lambda *at: told.append(at)
    )
    assert without_cpu(again) == without_cpu(results)
    assert told[-1] == (8000, 8000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_comes_back(workers: int) -> None:
    """What a job raises is raised where it was asked for, hint and all, and no process is left behind."""
    with pytest.raises(ConfigError, match="3 is odd") as refusal:
        list(run_jobs(halve, [2, 4, 3, 8], total=4, steps=10, workers=workers))
    assert refusal.value.hint == "even ones"


def test_a_worker_that_dies_is_noticed() -> None:
    """A process that ends without an answer is an error that says so, not an endless wait."""
    with pytest.raises(UsageError, match="ended before its time"):
        list(run_jobs(end_at_once, [1, 2, 3], total=3, steps=10, workers=2))


def test_leaving_early_ends_the_workers() -> None:
    """Leaving early, as Ctrl-C does, ends the processes."""
    done = run_jobs(halve, [2, 4, 6, 8], total=4, steps=10, workers=2)
    assert next(done).result in (1, 2)
    before = multiprocessing.active_children()
    del done
    assert before
    assert not set(before) & set(multiprocessing.active_children())


class PressesCtrlC:
    """Its finaliser is interrupted, where Python drops the exception."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_in_a_finaliser_is_not_lost(workers: int) -> None:
    """The experiment ends with the next progress that is reported."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # experiments that others left unfinished have their own
    done = run_jobs(halve, [2, 4, 6, 8], total=4, steps=10, workers=workers)
    next(done)
    PressesCtrlC()
    with pytest.raises(KeyboardInterrupt):
        list(done)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_stored_web_is_the_same_web(tmp_path: Path) -> None:
    """Every column, name and rank comes back."""
    web = replace(webs(3), urls=[Url(f"http://x.example/ä{page}") for page in range(300)], took=np.arange(300.0))
    for number, each in enumerate((ranked(web), ranked(webs(3)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        store_web(each, folder)
        back = stored_web(folder)
        for name in Web.__struct_fields__:
            one, other = getattr(each.web, name), getattr(back.web, name)
            assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
        assert np.array_equal(back.rank, each.rank)
        assert np.array_equal(back.is_fetchable, each.is_fetchable)


# summaries


def test_a_summary_has_means_and_intervals(results: list[OrderingResult]) -> None:
    """For each policy the mean over all pages and at each budget, within an interval that holds it."""
    rows = summarise(results)
    assert [(row.policy, row.budget) for row in rows[:6]] == [
        (policy, budget) for policy in ("optimal", "opic") for budget in (None, 0.1, 1.0)
    ]
    own = [each.mean_mass for each in results if each.policy == "opic"]
    row = next(row for row in rows if row.policy == "opic" and row.budget is None)
    assert row.pagerank == pytest.approx(sum(own) / 2)
    assert row.low <= min(own) <= row.pagerank <= max(own) <= row.high
    assert (row.repetitions, row.pages, row.total) == (2, 270, 270)


def test_mean_curves_are_one_a_policy(results: list[OrderingResult]) -> None:
    """Curves of repetitions become one, also when their webs differ in size."""
    shorter = compare_orderings(webs, POLICIES[:1], limit=50)
    assert [curve.name for curve in mean_curves(results)] == [str(policy) for policy in POLICIES]
    assert len(mean_curves([*results[:1], *shorter])) == 1


def shallow(url: str, found: FoundUrl) -> float:
    """A user's own score: short paths first."""
    return 1.0 / (1 + url.count("/"))


class OwnOrder(ByWorth):
    """A user's own ordering: deep pages last."""

    def score(self, discovery: Discovery) -> float:
        """Larger is sooner."""
        return -float(discovery.depth)


@pytest.mark.parametrize("name", ["shallow", "OwnOrder"])
def test_a_users_own_ordering(name: str) -> None:
    """`module:function` scores URLs, `module:Class` is an ordering; both fetch every page, the same in workers."""
    choice = PolicyChoice.parse(f"{__name__}:{name}")
    assert str(choice) == f"{__name__}:{name}"
    alone = compare_orderings(webs, [choice], seed=3, budgets=(1.0,))
    together = compare_orderings(webs, [choice], seed=3, budgets=(1.0,), workers=2)
    assert without_cpu(alone) == without_cpu(together)
    assert alone[0].pages == alone[0].total

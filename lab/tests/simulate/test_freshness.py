"""A collection in virtual time: what is measured is exact, and policies keep to their papers and their budgets."""

from __future__ import annotations

import re
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples
from tests.reference.visit_frequencies import expected_freshness

from periplus.engine.revisit.allocation import frequencies_for_freshness
from periplus.model import ConfigError
from periplus_lab.simulate.freshness import WARM_UP, FreshnessResult, simulate_freshness
from periplus_lab.simulate.histories import DAY, Histories, HistorySettings, Ints, generate_histories, window
from periplus_lab.simulate.learned_refresh import Today
from periplus_lab.simulate.refresh import Circumstances, TruthSettings, check_policy, refresh_policies

NO_COST = TruthSettings(archives=0)


def history(
    *pages: list[float], begins: list[float] | None = None, ends: float = 8.0, gone: list[bool] | None = None
) -> Histories:
    """Change times of each page, in days."""
    counts = [len(page) for page in pages]
    return Histories(
        ["a.example"],
        np.zeros(len(pages), np.int32),
        None,
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.array([time * DAY for page in pages for time in page], float),
        np.array(begins or [0.0] * len(pages)) * DAY,
        ends * DAY,
        None if gone is None else np.array(gone),
    )


changes = st.lists(
    st.lists(st.floats(0.0, 7.99).map(lambda at: round(at, 3)), max_size=12).map(sorted), min_size=1, max_size=6
).map(lambda pages: [[at for at in page if at > 0] for page in pages])


@given(changes)
def test_everything_every_day(pages: list[list[float]]) -> None:
    """With a budget for all, a copy is stale from a day's first change to the day's end; nothing else is counted."""
    warm = 8 * WARM_UP
    first = {(number, int(at)): at for number, page in enumerate(pages) for at in reversed(page)}
    counted = [(int(at) + 1 - at) for at in first.values() if at >= warm]
    told = simulate_freshness(history(*pages), "conventional", 1.0)
    assert told.freshness == pytest.approx(1 - sum(counted) / (6 * len(pages)))
    assert told.age == pytest.approx(sum(late**2 for late in counted) / 2 / (6 * len(pages)))
    assert (told.freshness_at_end, told.fetches) == (1, 8 * len(pages))
    assert told.needless == pytest.approx(1 - len(first) / told.fetches)


@given(changes)
def test_nothing_ever(pages: list[list[float]]) -> None:
    """Without a fetch a copy is stale from its first change on, and its age is counted from there."""
    warm = 8 * WARM_UP
    since = [page[0] for page in pages if page]
    told = simulate_freshness(history(*pages), "metadata", 1.0, settings=TruthSettings(archive_bytes=10**9))
    assert told.fetches == 0
    assert told.freshness_at_end == pytest.approx(1 - len(since) / len(pages))
    assert told.freshness == pytest.approx(1 - sum(8 - max(at, warm) for at in since) / (6 * len(pages)))
    ages = [((8 - at) ** 2 - max(warm - at, 0) ** 2) / 2 for at in since]
    assert told.age == pytest.approx(sum(ages) / (6 * len(pages)))


def test_metadata_fetches_what_changed_and_stops() -> None:
    """Three changes are three fetches, however much more there is to spend."""
    told = simulate_freshness(history([1.5, 1.6], [2.5], [3.5], []), "metadata", 1.0, settings=NO_COST)
    assert (told.fetches, told.needless, told.freshness_at_end) == (3, 0, 1)


def test_metadata_is_paid_for() -> None:
    """Two archives of 42 KB a site and day are 6.46 pages of 13 KB; what is less than a page is saved up."""
    told = simulate_freshness(history(*[[0.5]] * 10, ends=8), "metadata", 1.0)
    assert told.fetches == 10
    cheap = simulate_freshness(history(*[[0.5]] * 10, ends=8), "metadata", 0.7)
    assert cheap.fetches == int(8 * (7 - 84 / 13))


def test_conventional_goes_round_in_a_fixed_order() -> None:
    """Each page has the same distance between visits: one that changes daily is found changed every time."""
    told = simulate_freshness(history(*[[d + 0.5 for d in range(8)]] * 4), "conventional", 0.25)
    assert (told.fetches, told.needless) == (8, 0)
    assert told.freshness_at_end == 0.25


def test_parts_of_a_page_are_saved_up() -> None:
    """A budget of a third of a page a day is a page every third day."""
    assert simulate_freshness(history([], [], ends=9), "conventional", 1 / 6).fetches == 3


@pytest.mark.proof
@pytest.mark.parametrize("policy", refresh_policies())
def test_budget_and_seed_are_kept(policy: str) -> None:
    """No policy fetches more than it may, and a seed decides everything."""
    span = window(generate_histories(HistorySettings(pages=100, days=15, is_poisson=True, seed=3)))
    for budget in (0.03, 0.4):
        told = simulate_freshness(span, policy, budget, seed=7)
        assert told.fetches <= 100 * 15 * budget + 1e-6
        assert 0 <= told.needless <= 1
        assert 0 <= told.freshness <= 1
        assert told == simulate_freshness(span, policy, budget, seed=7)


def poisson(rate: float, pages: int = 1_000, days: int = 200) -> Histories:
    return generate_histories(
        HistorySettings(pages=pages, sites=1, days=days, shares=(1,), intervals=(1 / rate,), is_poisson=True, seed=5)
    )


@pytest.mark.parametrize("changes_a_round", [0.5, 1.0, 3.0])
def test_orders_of_cho_and_garcia_molina(changes_a_round: float) -> None:
    """With r changes a round: fixed order (1 - e^-r)/r of the time fresh, random order less, as published."""
    r = changes_a_round
    fixed = (1 - exp(-r)) / r
    span = window(poisson(r / 20))
    assert simulate_freshness(span, "conventional", 0.05).freshness == pytest.approx(fixed, abs=0.012)
    assert simulate_freshness(span, "uniform", 0.05).freshness == pytest.approx((1 - fixed**2) / r, abs=0.012)


def test_age_of_cho_and_garcia_molina() -> None:
    """Fixed order, a round of 20 days, r changes in it: the mean age is 20 (1/2 - 1/r + (1 - e^-r)/r^2) days."""
    r = 2.0
    expected = 20 * (0.5 - 1 / r + (1 - exp(-r)) / r**2)
    assert simulate_freshness(poisson(r / 20), "conventional", 0.05).age == pytest.approx(expected, rel=0.03)


def test_optimal_is_as_fresh_as_it_should_be() -> None:
    """The mean of a simulation with true rates is the one the theory promises, and above all that must guess."""
    mix = HistorySettings(pages=2_000, days=400, is_poisson=True, seed=2, intervals=(2.0, 7.0, 30.0, 120.0, 365.0))
    span = window(generate_histories(mix))
    rates = 1 / np.array(mix.intervals)[bars(mix)]
    names = ("proportional", "uniform", "conventional", "optimal", "oracle")
    by_policy = {name: simulate_freshness(span, name, 1 / 20, rates=rates).freshness for name in names}
    share = frequencies_for_freshness(rates, len(rates) / 20)
    assert by_policy["optimal"] == pytest.approx(expected_freshness(rates, share).mean(), abs=0.015)
    assert by_policy["proportional"] < by_policy["uniform"] < by_policy["conventional"] < by_policy["optimal"]
    assert by_policy["optimal"] < by_policy["oracle"]


def bars(mix: HistorySettings) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which interval each page of a generated history has, from its own first draw."""
    edges = np.cumsum(mix.shares) / sum(mix.shares)
    bar = np.searchsorted(edges, (np.arange(mix.pages) + 0.5) / mix.pages, side="right")
    return np.random.default_rng(mix.seed).permutation(bar)


@settings(max_examples=examples(1))
@given(st.integers(0, 1000), st.sampled_from([0.05, 0.2, 0.5]))
def test_no_policy_beats_the_oracle(seed: int, budget: float) -> None:
    """The policy that knows the future is at least as fresh over time as those that know the past, within a fetch."""
    span = window(generate_histories(HistorySettings(pages=150, days=40, is_poisson=True, seed=seed)))
    results: dict[str, FreshnessResult] = {
        name: simulate_freshness(span, name, budget, seed=seed, settings=NO_COST) for name in refresh_policies()
    }
    best = results["oracle"].freshness
    assert all(told.freshness <= best + 0.02 for told in results.values())


@pytest.mark.proof
@pytest.mark.parametrize("budget", [0.05, 0.2])
def test_learned_is_as_fresh_as_the_best_of_the_simple(budget: float) -> None:
    """The claim of `tests.corpus.test_corpus_refresh_histories`, on pages that change as often as Cho's did."""
    span = window(generate_histories(HistorySettings(pages=150, days=120, is_poisson=True, seed=1)), 90)
    fresh = {
        policy: simulate_freshness(span, policy, budget, settings=NO_COST).freshness
        for policy in ("uniform", "conventional", "adaptive", "learned", "oracle")
    }
    assert fresh["learned"] > fresh["uniform"]
    assert fresh["learned"] > max(fresh["conventional"], fresh["adaptive"]) - 0.005
    assert fresh["oracle"] > fresh["learned"]


def test_page_counts_from_its_birth() -> None:
    """A page born in the window has a copy from then on; its birth is not a change, and before it nothing counts."""
    told = simulate_freshness(
        history([5.0, 6.0], begins=[5.0], ends=8), "metadata", 1.0, start=0.0, settings=TruthSettings(10**6)
    )
    assert (told.pages, told.days) == (1, 8)
    assert told.freshness == pytest.approx(1 / 3)
    assert told.age == pytest.approx(2 / 3)


def test_vanished_page_leaves_when_it_is_seen() -> None:
    """That a page vanished is news: its copy is stale until the crawler comes, and then no longer there."""
    pages = history([1.0, 4.5], [], begins=[0.0, 0.0], gone=[True, False])
    told = simulate_freshness(pages, "metadata", 1.0, settings=NO_COST)
    assert (told.fetches, told.freshness_at_end) == (2, 1)
    assert told.freshness == pytest.approx(1 - 0.5 / (3 + 6))
    late = simulate_freshness(pages, "conventional", 1.0)
    assert late.fetches == 5 + 8


def test_window_is_the_last_days_unless_said() -> None:
    """A window holds what happened in it: pages gone before or born after are not there, older changes neither."""
    pages = history([1.0, 2.0], [0.5, 6.5], [0.0, 7.5], [7.9], begins=[0, 0, 0, 7.9], gone=[True, False, False, False])
    last = window(pages, 2)
    assert last.pages.tolist() == [1, 2, 3]
    assert last.changed_at.tolist() == pytest.approx([0.5, 1.5])
    assert last.born_at.tolist() == pytest.approx([0, 0, 1.9])
    first = window(pages, 2, 0.0)
    assert (len(first), first.changed_at.tolist()) == (3, pytest.approx([0.5, 1.0]))
    assert first.gone_at.tolist() == [pytest.approx(2.0), inf, inf]
    assert window(pages).days == 8


def test_rates_are_of_the_histories_pages() -> None:
    """Rates that are given are for all pages, whichever are in the window; without, those that came true count."""
    pages = history([0.1, 0.2], [0.5, 6.5], [5.5, 6.5], ends=8, gone=[True, False, False])
    assert window(pages, 4).rates.tolist() == pytest.approx([0.25, 0.5])
    told = simulate_freshness(pages, "proportional", 0.5, days=4, rates=np.array([9.0, 0.0, 1.0]))
    assert (told.pages, told.fetches) == (2, 4)


def test_next_change() -> None:
    """The next day with a change after a given one, of this page alone."""
    span = window(history([1.5, 4.5], [2.5]))
    assert span.next_change(np.array([0, 1]), 1).tolist() == [4, 2]
    assert span.next_change(np.array([0, 1]), 4).tolist() == [inf, inf]
    assert window(history([], [])).next_change(np.array([0, 1]), 0).tolist() == [inf, inf]


def test_what_cannot_be_run_is_said() -> None:
    """An unknown policy names the nearest; budgets and windows that cannot be are refused with what can."""
    pages = history([1.0])
    with pytest.raises(ConfigError, match="metdata") as unknown:
        simulate_freshness(pages, "metdata", 0.5)
    assert "'metadata'" in unknown.value.hint
    for budget in (0.0, -1.0, 1.01, float("nan")):
        with pytest.raises(ConfigError, match="budget"):
            simulate_freshness(pages, "uniform", budget)
    for days, start in ((9, None), (0, None), (2, 7 * DAY)):
        with pytest.raises(ConfigError, match="does not fit"):
            window(pages, days, start)


class OwnRefresh:
    """A user's own policy: the first pages, every day."""

    def __init__(self, given: Circumstances, random: np.random.Generator) -> None:
        self.budget = given.budget

    def cost(self, sites: int) -> float:
        """Nothing but the fetches."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """As many as the day allows."""
        return np.flatnonzero(today.here)[: today.limit]


def test_a_users_own_refresh_policy() -> None:
    """`module:function` makes a policy of the circumstances; a name that leads nowhere is refused."""
    histories = generate_histories(HistorySettings(pages=60, sites=2, days=20))
    result = simulate_freshness(histories, f"{__name__}:OwnRefresh", 0.5)
    assert result.fetches == 60 * 20 // 2
    with pytest.raises(ConfigError, match="no_such_module_at_all"):
        check_policy("no_such_module_at_all:policy")


def test_the_policy_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It visits every page in turn, and spends the whole budget."""
    docs = Path(__file__).parents[3] / "docs" / "simulator.md"
    [source] = re.findall(r"```python\n(.*?)```", docs.read_text(), re.DOTALL)
    (tmp_path / "policy_of_the_docs.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    histories = generate_histories(HistorySettings(pages=60, sites=2, days=40))
    own = simulate_freshness(histories, "policy_of_the_docs:LongestAgo", 0.2)
    uniform = simulate_freshness(histories, "uniform", 0.2)
    assert own.fetches == 60 * 40 // 5
    assert own.freshness > uniform.freshness


class Chooses(OwnRefresh):
    """Chooses what it was made with."""

    def __init__(self, chosen: Any, cost: Any = 0) -> None:
        self.chosen = chosen
        self.price = cost

    def cost(self, sites: int) -> Any:
        """Whatever was asked for."""
        return self.price

    def choose(self, today: Today) -> Any:
        """Whatever was asked for."""
        return self.chosen


MADE: list[Any] = []


def made_by_a_test(given: Circumstances, random: Any) -> Any:
    """What the test has put there."""
    return MADE[-1]


def no_arguments() -> None:
    """A function of another kind."""


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, "returned None, which has no method cost"),
        (Chooses("pages"), "choose\\(today\\) returned 'pages'"),
        (Chooses(None), "choose\\(today\\) returned None"),
        (Chooses([0.5]), "returned \\[0.5\\]"),
        (Chooses([[1, 2], [3]]), "returned \\[\\[1, 2\\], \\[3\\]\\]"),
        (Chooses([1, 1]), "a page twice"),
        (Chooses([60]), "page 60"),
        (Chooses([-1, 2]), "page -1"),
        (Chooses(list(range(60))), "returned 60 pages"),
        (Chooses([], "free"), "cost\\(sites\\) returned 'free'"),
        (Chooses([], float("nan")), "cost\\(sites\\) returned nan"),
    ],
)
def test_a_refresh_policy_that_is_wrong(made: Any, said: str) -> None:
    """The error names the function, what it returned and what is allowed."""
    MADE.append(made)
    histories = generate_histories(HistorySettings(pages=60, sites=2, days=20))
    with pytest.raises(ConfigError, match=f"{__name__}:made_by_a_test: .*{said}") as error:
        simulate_freshness(histories, f"{__name__}:made_by_a_test", 0.5)
    assert error.value.hint


def test_a_refresh_policy_that_fails() -> None:
    """A function that takes other arguments, or raises, is named with its error."""
    histories = generate_histories(HistorySettings(pages=60, sites=2, days=20))
    with pytest.raises(ConfigError, match=f"{__name__}:no_arguments: given and random: TypeError"):
        simulate_freshness(histories, f"{__name__}:no_arguments", 0.5)
    MADE.append(Chooses([]))
    MADE[-1].choose = lambda today: 1 // 0
    with pytest.raises(ConfigError, match="choose\\(today\\): ZeroDivisionError"):
        simulate_freshness(histories, f"{__name__}:made_by_a_test", 0.5)

"""How fresh a policy keeps a collection with a budget, for given changes, in virtual time.

The budget is the share of the collection that may be fetched each day (Brandman et al. 2000, section 6). Freshness is
the share of copies that equal the page; the age of a copy is the time since the first change that it lacks
(Cho & Garcia-Molina 2000). Means over time are exact, not sampled, and begin after a warm-up, since every copy is fresh
at first. Where pages have weights, a copy counts as much as its page. A fetch is needless if the page had not changed
since the last one.

Brandman et al. (2000), Figure 6: (a) freshness at each bandwidth; (b) gain, how much fresher than the conventional
crawler at the same bandwidth; (c) saved, how much less bandwidth for the same freshness. Every run of a seed is on the
same history, and intervals are over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from msgspec import Struct

from periplus.model import ConfigError
from periplus.view.figures import PlotCurve

from .findings import mean_curve
from .histories import Floats, Histories, Ints, Window, window
from .learned_refresh import RefreshPolicy, Today, day_signals
from .noisy_refresh import SignalQuality
from .refresh import Circumstances, PolicyMaker, TruthSettings, check_policy, refresh_policy

Watch = Callable[[Today, Ints], None]

WARM_UP = 0.25
"""The part of a window before means begin."""


class FreshnessResult(Struct, frozen=True):
    """The result for a collection. `pages` were in it at some time; ages are in days."""

    policy: str
    budget: float
    seed: int
    days: int
    pages: int
    freshness_at_end: float
    freshness: float
    age: float
    fetches: int
    needless: float


def simulate_freshness(
    histories: Histories | Window,
    policy: str | PolicyMaker,
    budget: float,
    *,
    days: int | None = None,
    start: float | None = None,
    seed: int = 0,
    rates: Floats | None = None,
    settings: TruthSettings = TruthSettings(),  # noqa: B008 - frozen
    signals: str | SignalQuality = "",
    watch: Watch | None = None,
) -> FreshnessResult:
    """Run a policy through a window of these histories: the last `days`, or those from `start`, or all.

    `rates` are the true changes a day of the histories' pages where they are known; otherwise policies that want rates
    get those that came true in the window, in hindsight. A `Window` may be given to use it again.
    The policy is one of `refresh_policies`, or made by a function. `signals` is the quality of the signals; empty:
    none. `watch` is called with every day and what was fetched then.
    """
    check_budget(budget)
    span = histories if isinstance(histories, Window) else window(histories, days, start)
    known = span.rates if rates is None else rates[span.pages]
    signalled = day_signals(span, signals, seed, known) if signals else None
    given = Circumstances(span, known, budget, settings, signalled)
    random = np.random.default_rng(seed)
    made = refresh_policy(policy, given, random) if isinstance(policy, str) else policy(given, random)
    run = _Run(span, made, budget, watch)
    for day in range(span.days):
        run.live(day)
        run.crawl(day)
    return run.result(policy if isinstance(policy, str) else type(made).__name__, seed)


def check_budget(budget: float) -> None:
    """Raise a `ConfigError` for a budget that is not a share of the pages."""
    if not 0 < budget <= 1:
        raise ConfigError(f"a budget is a share of the pages a day, not {budget}", hint="above 0 and at most 1")


class _Run:
    """A collection as it goes through the days."""

    def __init__(self, span: Window, policy: RefreshPolicy, budget: float, watch: Watch | None) -> None:
        self._span, self._policy, self._budget, self._watch = span, policy, budget, watch
        self._warm_at = span.days * WARM_UP
        self._here = np.zeros(len(span), bool)
        self._arrived = self._count = self._sites = 0
        self._stale_since = np.full(len(span), np.inf)
        self._left_at = np.full(len(span), float(span.days))
        self._saved = 0.0  # less than a page of budget, kept for the next day
        self._fetches = self._useful = 0
        self._stale_days = self._aged = 0.0

    def live(self, day: int) -> None:
        """Pages appear and change: a copy is stale from the first change that it lacks."""
        span = self._span
        born = int(span.born[day])
        if born > self._arrived:
            self._here[span.arrivals[self._arrived : born]] = True
            self._arrived = born
            self._count_here()
        today = slice(span.starts[day], span.starts[day + 1])
        changed = span.changed[today]
        is_first = self._stale_since[changed] == np.inf
        self._stale_since[changed[is_first]] = span.changed_at[today][is_first]

    def crawl(self, day: int) -> None:
        """Let the policy spend what this day allows."""
        is_stale = self._stale_since < np.inf
        today = Today(day, self._allowance(), self._here, is_stale, self._span.next_change)
        if today.limit:
            fetched = self._policy.choose(today)
            if self._watch is not None:
                self._watch(today, fetched)
            stale = fetched[is_stale[fetched]]
            self._fetches += len(fetched)
            self._useful += len(stale)
            self._settle(stale, today.now)
            self._bury(stale, today.now)

    def result(self, policy: str, seed: int) -> FreshnessResult:
        """The sum of it."""
        span = self._span
        stale = np.flatnonzero(self._stale_since < np.inf)
        self._settle(stale.copy(), float(span.days))
        lived = float(np.maximum(self._left_at - np.maximum(span.born_at, self._warm_at), 0) @ span.weights)
        here, lacking = float(span.weights[self._here].sum()), float(span.weights[stale].sum())
        return FreshnessResult(
            policy=policy,
            budget=self._budget,
            seed=seed,
            days=span.days,
            pages=len(span),
            freshness_at_end=1 - lacking / here if here else 1.0,
            freshness=1 - self._stale_days / lived if lived else 1.0,
            age=self._aged / lived if lived else 0.0,
            fetches=self._fetches,
            needless=1 - self._useful / self._fetches if self._fetches else 0.0,
        )

    def _allowance(self) -> int:
        """Whole pages that may be fetched today. Parts of a page are saved up; unused pages are not."""
        self._saved += max(self._budget * self._count - self._policy.cost(self._sites), 0.0)
        whole = int(self._saved + 1e-9)
        self._saved = max(self._saved - whole, 0.0)
        return min(whole, self._count)

    def _settle(self, stale: Ints, now: float) -> None:
        """Add up how long these copies were stale, and how old: as far as it was after the warm-up."""
        since = self._stale_since[stale]
        counted_from = np.maximum(since, self._warm_at)
        counts = counted_from < now
        since, counted_from, weight = since[counts], counted_from[counts], self._span.weights[stale][counts]
        self._stale_days += float((now - counted_from) @ weight)
        self._aged += float(((now - since) ** 2 - (counted_from - since) ** 2) @ weight) / 2
        self._stale_since[stale] = np.inf

    def _bury(self, seen: Ints, now: float) -> None:
        """Pages that had vanished when they were fetched leave the collection."""
        gone = seen[self._span.gone_at[seen] < now]
        if len(gone):
            self._here[gone] = False
            self._left_at[gone] = now
            self._count_here()

    def _count_here(self) -> None:
        self._count = int(np.count_nonzero(self._here))
        self._sites = int(np.count_nonzero(np.bincount(self._span.site[self._here], minlength=self._span.sites)))


Progress = Callable[[int, int], None]

LEVELS = tuple(level / 100 for level in range(101))
"""Degrees of freshness for which the bandwidth is computed."""


class FreshnessCurves(Struct, frozen=True):
    """A line for each policy: its freshness, and against the baseline what it gains and what it saves."""

    freshness: list[PlotCurve]
    gain: list[PlotCurve]
    saved: list[PlotCurve]


def run_freshness(
    histories: Histories | Callable[[int], Histories],
    policies: Sequence[str],
    budgets: Sequence[float],
    *,
    seeds: Sequence[int] = (0,),
    days: int | None = None,
    start: float | None = None,
    settings: TruthSettings = TruthSettings(),  # noqa: B008 - frozen
    signals: str | SignalQuality = "",
    progress: Progress = lambda _done, _total: None,
) -> list[FreshnessResult]:
    """Every policy at every budget with every seed; histories may be made for each seed, and so are signals.

    What cannot be run is refused before anything is.
    """
    for policy in policies:
        check_policy(policy)
    for budget in budgets:
        check_budget(budget)
    results: list[FreshnessResult] = []
    total = len(seeds) * len(policies) * len(budgets)
    for seed, span in _windows(histories, seeds, days, start):
        for policy, budget in product(policies, budgets):
            results.append(simulate_freshness(span, policy, budget, seed=seed, settings=settings, signals=signals))
            progress(len(results), total)
    return results


def _windows(
    histories: Histories | Callable[[int], Histories], seeds: Sequence[int], days: int | None, start: float | None
) -> Iterator[tuple[int, Window]]:
    """The window of each seed; of one history it is made once."""
    if isinstance(histories, Histories):
        same = window(histories, days, start)
        yield from ((seed, same) for seed in seeds)
    else:
        yield from ((seed, window(histories(seed), days, start)) for seed in seeds)


def freshness_table(
    results: Sequence[FreshnessResult], measure: str = "freshness_at_end"
) -> tuple[Floats, dict[str, Floats]]:
    """The budgets, ascending, and for each policy its measure with a row for each seed."""
    budgets = sorted({result.budget for result in results})
    seeds = sorted({result.seed for result in results})
    found = {(result.policy, result.seed, result.budget): float(getattr(result, measure)) for result in results}
    names = dict.fromkeys(result.policy for result in results)
    if len(found) != len(names) * len(seeds) * len(budgets):
        raise ConfigError("these runs cannot be compared", hint="run every policy with the same budgets and seeds")
    return np.array(budgets), {
        name: np.array([[found[name, seed, budget] for budget in budgets] for seed in seeds]) for name in names
    }


def freshness_curves(
    results: Sequence[FreshnessResult], *, baseline: str = "conventional", measure: str = "freshness_at_end"
) -> FreshnessCurves:
    """The three curves of each policy. Without a baseline there is no gain or saving."""
    budgets, table = freshness_table(results, measure)
    plain = table.get(baseline)
    others = {name: rows for name, rows in table.items() if name != baseline} if plain is not None else {}
    return FreshnessCurves(
        [mean_curve(name, budgets, rows) for name, rows in table.items()],
        [mean_curve(name, budgets, gain(rows, plain)) for name, rows in others.items() if plain is not None],
        [_saved_curve(name, budgets, rows, plain) for name, rows in others.items() if plain is not None],
    )


def gain(freshness: Floats, plain: Floats) -> Floats:
    """The gain in freshness, as a share of that of the plain policy; NaN where that is 0."""
    gained: Floats = np.divide(freshness - plain, plain, out=np.full(np.shape(plain), np.nan), where=plain > 0)
    return gained


def budget_for(level: float | Sequence[float], budgets: Floats, freshness: Floats) -> Floats:
    """The smallest budget that keeps a collection this fresh, interpolated between two that were tried.

    NaN if that is never reached, or already with less than the smallest.
    """
    reached, first = np.unique(np.maximum.accumulate(freshness), return_index=True)
    return np.asarray(np.interp(level, reached, budgets[first], left=np.nan, right=np.nan))


def saved(level: float | Sequence[float], budgets: Floats, freshness: Floats, plain: Floats) -> Floats:
    """The share of the plain policy's bandwidth that is not needed for the same freshness."""
    return 1 - budget_for(level, budgets, freshness) / budget_for(level, budgets, plain)


def _saved_curve(name: str, budgets: Floats, rows: Floats, plain: Floats) -> PlotCurve:
    """The curve of the saved bandwidth, only where both policies are known for all seeds."""
    values = np.array([saved(LEVELS, budgets, row, base) for row, base in zip(rows, plain, strict=True)])
    known = np.flatnonzero(np.isfinite(values).all(axis=0))
    return mean_curve(name, np.array(LEVELS)[known], values[:, known])

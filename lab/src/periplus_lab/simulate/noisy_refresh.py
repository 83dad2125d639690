"""The value of noisy change signals whose precision must be learnt: Poisson pages, unreliable signals.

Pages of some sites change as Poisson processes; some changes are signalled, and some signals are false, by each site's
quality. A crawler with a number of visits a day chooses by an index (`engine.revisit`): with the true
parameters or with those that it learns on the way, with signals or without, or trusting every signal. All of them see
the same web: what differs is only what they do. After Busa-Fekete et al. (WWW 2025, arXiv 2502.02430), whose data are
not public.

Either qualities are compared, at several budgets, or one property (precision, recall, delay) is varied and the others
are good. Every policy sees the same web of a seed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.engine.revisit.crawl_value import CrawlValue
from periplus.engine.revisit.ledger import VisitLedger
from periplus.model import ConfigError
from periplus.policy.settings import nearest
from periplus.view.figures import PlotCurve

from .findings import averaged
from .histories import DAY
from .workers import Progress, run_jobs


class SignalQuality(Struct, frozen=True):
    """Precision and recall of sites are uniform between these bounds; true signals come `delay` days late."""

    precision: tuple[float, float]
    recall: tuple[float, float]
    delay: float = 0.0


QUALITIES = {
    "good": SignalQuality((0.9, 0.995), (0.8, 0.98)),
    "mixed": SignalQuality((0.2, 0.98), (0.1, 0.95)),
    "late": SignalQuality((0.9, 0.995), (0.8, 0.98), delay=3.0),
    "poor": SignalQuality((0.1, 0.5), (0.1, 0.5)),
    "useless": SignalQuality((0.02, 0.1), (0.02, 0.1)),
}
"""By name. `mixed`, `good` and `useless` are those that the check values of the learned policy are for."""
POLICIES = ("informed", "learned", "optimal", "deaf", "trusting", "uniform")
"""With the true parameters, or learning them; without signals with the true rates, or learning them; believing all."""
WARM_UP = 1 / 3
_STEPS_A_DAY = 10
_ESTIMATE_EVERY = 2.0


class NoisySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A web with signals."""

    sites: int = 20
    """sites"""
    pages: int = 50
    """pages of each"""
    days: int = 100
    """days that it is watched; means begin after a third of them"""
    visits: float = 0.25
    """visits a day, as a share of the pages"""
    slowest: float = 0.02
    """changes a day of the page that changes least"""
    fastest: float = 1.0
    """Maximum changes a day of a page; rates are uniform between the two"""
    quality: str = "mixed"
    """of the sites' signals: good, mixed, late, poor or useless"""
    precision: float = 0.0
    """Of the signals of every site, instead of the quality's; 0: the quality's"""
    recall: float = 0.0
    """the same for the share of changes that is signalled"""
    delay: float = 0.0
    """Days by which signals are later than in the quality"""
    objective: str = "binary"
    """what the crawler wants"""
    seed: int = 0
    """the same seed gives the same web"""

    def check(self) -> None:
        """Raise a `ConfigError` where no web can be made of this."""
        quality(self.quality)
        if not (0.0 <= self.precision < 1.0 and 0.0 <= self.recall <= 1.0 and 0.0 <= self.delay <= self.days):
            raise ConfigError(
                "precision and recall are shares, and a delay is of days that are watched",
                hint="a precision below 1, a recall up to 1",
            )
        if min(self.sites, self.pages, self.days) < 1 or not 0.0 < self.visits <= 10.0:
            raise ConfigError("a web needs sites, pages, days and visits", hint="give each of them a value above zero")

    def signals(self) -> SignalQuality:
        """What the signals of the sites are like."""
        named = quality(self.quality)
        return SignalQuality(
            (self.precision,) * 2 if self.precision else named.precision,
            (self.recall,) * 2 if self.recall else named.recall,
            named.delay + self.delay,
        )


def quality(name: str) -> SignalQuality:
    """The one of that name. Raises `ConfigError` for a name that is not there."""
    found = QUALITIES.get(name)
    if found is None:
        raise ConfigError(
            f"no such quality of signals: {name[:50]!r}",
            hint=f"did you mean {nearest(name, QUALITIES)!r}? There are {', '.join(QUALITIES)}",
        )
    return found


class NoisyResult(Struct, frozen=True):
    """The result: the share of fresh copies, and of visits that found a change."""

    policy: str
    quality: str
    seed: int
    freshness: float
    useful: float
    precision_error: float
    """Root mean square error of the learnt precision of sites; 0 if none was learnt"""


class _Web:
    """Rates and events, the same for every policy of a seed."""

    def __init__(self, settings: NoisySettings) -> None:
        random = np.random.default_rng(settings.seed)
        signals = settings.signals()
        self.site = np.repeat(np.arange(settings.sites), settings.pages)
        self.precision = random.uniform(*signals.precision, settings.sites)
        self.rate = random.uniform(settings.slowest, settings.fastest, len(self.site))
        recalled = random.uniform(*signals.recall, settings.sites)[self.site]
        right = self.precision[self.site]
        self.alpha = (1 - recalled) * self.rate
        self.gamma = recalled * self.rate / right
        self._wrong = self.gamma * (1 - right)
        self._signalled = recalled * self.rate
        self._random = np.random.default_rng(settings.seed + 1_000_003)
        self._late = deque([np.zeros(len(self.site), np.int64)] * round(signals.delay * _STEPS_A_DAY))

    def step(self, days: float) -> tuple[NDArray[np.bool_], Ints]:
        """The pages that changed in this time, and the number of signals for each."""
        signals = self._random.poisson(self._signalled * days)
        unsignalled = self._random.poisson(self.alpha * days)
        self._late.append(signals)
        return signals + unsignalled > 0, self._late.popleft() + self._random.poisson(self._wrong * days)


class _Crawler:
    """Chooses by an index, and may learn."""

    def __init__(self, policy: str, web: _Web, settings: NoisySettings) -> None:
        self._tables = CrawlValue("uniform" if policy == "uniform" else settings.objective)
        self._learns = policy in ("learned", "deaf")
        self._uses_signals = policy in ("informed", "learned", "trusting")
        self.ledger = VisitLedger(web.site, 0.0)
        self._weight = np.ones(len(web.site))
        self._pending = np.zeros(len(web.site))
        kappa = -np.log1p(-web.precision[web.site])
        self._kappa = kappa if self._uses_signals else np.zeros(len(web.site))
        alpha, gamma = (web.alpha, web.gamma) if policy == "informed" else (web.rate, np.zeros(len(web.site)))
        self._kind, self._rate = self._tables.outlooks(alpha, gamma, self._kappa)
        self._trusts = policy == "trusting"

    def receive(self, signals: Ints) -> None:
        """Signals that came."""
        if self._uses_signals:
            self._pending += signals
            if self._learns:
                self.ledger.signalled(np.repeat(np.arange(len(signals)), signals))

    def estimate(self, now: float) -> None:
        """Learn from what was seen."""
        if self._learns:
            self.ledger.estimate_all(now)
            self._kind, self._rate = self.ledger.outlooks(self._tables)

    def choose(self, limit: int, now: float) -> Ints:
        """The most worthy."""
        boost = self.ledger.boosts() if self._learns else self._pending * self._kappa
        age = self.ledger.ages(now)
        if self._trusts:
            age = np.where(self._pending > 0, np.inf, age)
        worth = self._tables.values(self._kind, self._rate, self._weight, age, boost)
        return np.argpartition(-worth, limit)[:limit] if limit < len(worth) else np.arange(len(worth))

    def seen(self, pages: Ints, is_changed: NDArray[np.bool_], now: float) -> None:
        """Visits that were made."""
        self.ledger.visited(pages, is_changed, now)
        self._pending[pages] = 0.0


def check_noisy(policy: str, settings: NoisySettings) -> None:
    """Raise a `ConfigError` for what cannot be run."""
    settings.check()
    if policy not in POLICIES:
        raise ConfigError(
            f"no such policy: {policy[:50]!r}",
            hint=f"did you mean {nearest(policy, POLICIES)!r}? There are {', '.join(POLICIES)}",
        )


def simulate_noisy(policy: str, settings: NoisySettings = NoisySettings()) -> NoisyResult:  # noqa: B008 - frozen
    """Run one policy through the web of a seed."""
    check_noisy(policy, settings)
    web = _Web(settings)
    crawler = _Crawler(policy, web, settings)
    stale, step = np.zeros(len(web.site), bool), 1.0 / _STEPS_A_DAY
    fresh = useful = visits = counted = 0.0
    allowance = 0.0
    for number in range(1, settings.days * _STEPS_A_DAY + 1):
        now = number * step * DAY
        changed, signals = web.step(step)
        fresh_before = np.count_nonzero(~stale)
        stale |= changed
        crawler.receive(signals)
        is_warm = number > settings.days * _STEPS_A_DAY * WARM_UP
        if is_warm:
            fresh += (fresh_before + np.count_nonzero(~stale)) / 2 / len(stale)
            counted += 1
        if number % int(_ESTIMATE_EVERY * _STEPS_A_DAY) == 0:
            crawler.estimate(now)
        allowance += settings.visits * len(stale) * step
        chosen = crawler.choose(int(allowance), now)
        allowance -= int(allowance)
        crawler.seen(chosen, stale[chosen], now)
        useful += np.count_nonzero(stale[chosen]) * is_warm
        visits += len(chosen) * is_warm
        stale[chosen] = False
    learnt = crawler.ledger.estimates.precision[:, 0] if policy == "learned" else web.precision
    error = float(np.sqrt(np.mean((learnt - web.precision) ** 2)))
    return NoisyResult(
        policy, settings.quality, settings.seed, float(fresh / counted), float(useful / max(visits, 1)), error
    )


def compare_noisy(
    settings: NoisySettings, policies: Sequence[str] = POLICIES, seeds: Sequence[int] = range(5)
) -> list[NoisyResult]:
    """Every policy with every seed."""
    return [simulate_noisy(policy, replace(settings, seed=seed)) for policy in policies for seed in seeds]


FIRST_POLICIES = ("learned", "deaf", "informed", "trusting")
BUDGETS = (0.1, 0.25, 0.5)
VARIED: dict[str, tuple[float, ...]] = {
    "precision": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98),
    "recall": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98),
    "delay": (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0),
}
"""What can be varied, and how far. Precision and recall are shares, a delay is days."""


class SignalsRow(Struct, frozen=True):
    """A policy at a budget under signals of a quality; or, where something is `varied`, of good ones but for that."""

    experiment: str
    policy: str
    quality: str
    varied: str
    at: float
    budget: float
    seed: int
    repetitions: int
    days: int
    pages: int
    freshness: float
    low: float
    high: float
    values: list[float]
    useful: float


def run_signals(
    settings: NoisySettings,
    policies: Sequence[str] = FIRST_POLICIES,
    *,
    qualities: Sequence[str] = tuple(QUALITIES),
    budgets: Sequence[float] = BUDGETS,
    vary: str = "",
    seeds: Sequence[int] = (0,),
    workers: int = 1,
    progress: Progress | None = None,
) -> list[SignalsRow]:
    """Every policy under every quality at every budget; or, where something is varied, at every value of it."""
    places = _places(settings, qualities, budgets, vary)
    for policy, each in product(policies, places):
        check_noisy(policy, each)
    jobs = [(policy, replace(each, seed=seed)) for policy, each, seed in product(policies, places, seeds)]
    found: dict[int, NoisyResult] = {}
    for done in run_jobs(_run, iter(jobs), total=len(jobs), steps=1, workers=workers, progress=progress):
        found[done.number] = done.result
    return [
        _row(jobs[first][1], [found[first + place] for place in range(len(seeds))], vary)
        for first in range(0, len(jobs), len(seeds))
    ]


def signal_curves(rows: Sequence[SignalsRow]) -> list[PlotCurve]:
    """A line for each policy by what is varied; or by budget, a line for `learned` under each quality, and `deaf`."""
    groups: dict[str, list[SignalsRow]] = {}
    for row in rows:
        groups.setdefault(row.policy if row.varied else _line(rows, row), []).append(row)
    return [
        _curve(name, [(row.at if row.varied else row.budget, row) for row in own])
        for name, own in groups.items()
        if name
    ]


def _line(rows: Sequence[SignalsRow], row: SignalsRow) -> str:
    """The line that a row belongs to; none: `deaf` is the same under every quality, and the others are left out."""
    first = rows[0]
    if row.policy == first.policy:
        return f"{row.policy}, {row.quality} signals"
    return row.policy if row.policy == "deaf" and row.quality == first.quality else ""


def _curve(name: str, points: Sequence[tuple[float, SignalsRow]]) -> PlotCurve:
    ordered = sorted(points, key=lambda point: point[0])
    return PlotCurve(
        name,
        [at for at, _ in ordered],
        [row.freshness for _, row in ordered],
        [row.low for _, row in ordered],
        [row.high for _, row in ordered],
    )


def _places(
    settings: NoisySettings, qualities: Sequence[str], budgets: Sequence[float], vary: str
) -> list[NoisySettings]:
    if vary:
        if vary not in VARIED:
            raise ConfigError(
                f"{vary[:50]!r} cannot be varied",
                hint=f"did you mean {nearest(vary, VARIED)!r}? There are {', '.join(VARIED)}",
            )
        return [_varied(settings, vary, at, budgets[0]) for at in VARIED[vary]]
    for name in qualities:
        quality(name)
    return [replace(settings, quality=name, visits=budget) for name, budget in product(qualities, budgets)]


def _varied(settings: NoisySettings, vary: str, at: float, budget: float) -> NoisySettings:
    good = replace(settings, quality="good", visits=budget)
    if vary == "precision":
        return replace(good, precision=at)
    return replace(good, recall=at) if vary == "recall" else replace(good, delay=at)


def _run(job: tuple[str, NoisySettings], progress: Progress, /) -> NoisyResult:
    result = simulate_noisy(*job)
    progress(1, 1)
    return result


def _row(settings: NoisySettings, runs: Sequence[NoisyResult], vary: str) -> SignalsRow:
    return averaged(
        SignalsRow, runs, "freshness", experiment="signals", varied=vary, seed=runs[0].seed, budget=settings.visits,
        at=float(getattr(settings, vary)) if vary else 0.0, days=settings.days, pages=settings.sites * settings.pages,
    )  # fmt: skip


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

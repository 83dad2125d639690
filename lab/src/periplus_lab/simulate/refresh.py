"""Refresh policies in virtual time, chosen by name: which pages are visited today?

A policy decides once a day, from what its kind of crawler would know: its own past (`conventional`, `uniform`), the
results of its visits (`adaptive`, `deaf`), signals as well (`learned`), servers' metadata (`metadata`), change rates
(`proportional`, `optimal`, `azar`, `lambda`), these and signal precision (`informed`, `trusting`), or the future
(`oracle`). The cost of metadata is taken from the day's budget. A new policy is a class with the same two methods and a
line in `_POLICIES`; the decisions are those of `engine.revisit`, which crawls use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from periplus.engine.plugins import REFRESH_POLICIES, is_plugin, load_plugin
from periplus.engine.revisit.allocation import (
    AdaptiveSettings,
    adapted,
    frequencies_for_freshness,
    harmonic_frequencies,
    random_frequencies,
)
from periplus.model import ConfigError
from periplus.policy.settings import nearest

from .histories import DAY, Floats, Ints, Window
from .learned_refresh import DaySignals, Informed, Learned, RefreshPolicy, Today, Trusting

_ADAPTIVE = AdaptiveSettings(shortest=86_400.0)


class TruthSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What the truth costs, as Brandman et al. (2000, sections 3.3 and 6) compute it."""

    archives: int = 2
    """metadata archives fetched from each site, every day"""
    archive_bytes: int = 42_000
    """bytes of an archive"""
    page_bytes: int = 13_000
    """bytes of a page"""


class Conventional:
    """Round robin in a fixed order (Brandman et al. 2000, section 6; Cho & Garcia-Molina 2000, "fixed order")."""

    def __init__(self, pages: int, random: Generator) -> None:
        self._ring = _Ring(random.permutation(pages))

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The next ones, changed or not."""
        return self._ring.take(today.here, today.limit)


class Metadata:
    """The next *changed* pages in a fixed order: servers publish what changed (Brandman et al. 2000, section 6)."""

    def __init__(self, pages: int, random: Generator, settings: TruthSettings) -> None:
        self._ring = _Ring(random.permutation(pages))
        self._pages_a_site = settings.archives * settings.archive_bytes / settings.page_bytes

    def cost(self, sites: int) -> float:
        """The archives of every site."""
        return sites * self._pages_a_site

    def choose(self, today: Today) -> Ints:
        """The next ones that changed; fewer than the limit if no more did."""
        return self._ring.take(today.is_stale, today.limit)


class Uniform:
    """All pages equally often, in a new random order each round (Cho & Garcia-Molina 2000, "random order")."""

    def __init__(self, random: Generator) -> None:
        self._random = random
        self._round: Ints = np.zeros(0, np.int64)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The next ones of this round. A page that ends one round and begins the next on one day is fetched once."""
        while len(self._round) < today.limit:
            self._round = np.concatenate((self._round, self._random.permutation(np.flatnonzero(today.here))))
        drawn, self._round = self._round[: today.limit], self._round[today.limit :]
        chosen = np.unique(drawn)
        return chosen[today.here[chosen]]


class Regular:
    """Each page at its own frequency, at regular intervals: the page that is most overdue comes first.

    That follows frequencies to within a part in a thousand (phase tracking; Azar et al. 2018). Frequencies that do not
    sum to the budget are followed in proportion. A page of frequency 0 is never visited.
    """

    def __init__(self, frequencies: Floats, born_at: Floats, random: Generator) -> None:
        self._frequencies = frequencies
        phase = random.random(len(frequencies))
        self._visited_at = born_at - np.divide(phase, frequencies, out=np.zeros_like(phase), where=frequencies > 0)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - the rates are known
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The latest of all."""
        lateness = np.where(today.here, (today.now - self._visited_at) * self._frequencies, 0.0)
        chosen = np.arange(len(lateness))
        if today.limit < len(lateness):
            chosen = np.argpartition(-lateness, today.limit)[: today.limit]
        chosen = chosen[lateness[chosen] > 0]
        self._visited_at[chosen] = today.now
        return chosen


class Adaptive:
    """An interval for each page, shorter after a change and longer otherwise; the most overdue first."""

    def __init__(self, pages: int) -> None:
        self._intervals = np.full(pages, _ADAPTIVE.first / DAY)
        self._visited_at = np.full(pages, -1.0)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The most overdue pages."""
        unborn = today.here & (self._visited_at < 0)
        self._visited_at[unborn] = today.now - 1.0
        lateness = np.where(today.here, (today.now - self._visited_at) / self._intervals, -1.0)
        chosen = np.argpartition(-lateness, min(today.limit, len(lateness) - 1))[: today.limit]
        chosen = chosen[lateness[chosen] >= 0.0]
        for page in chosen.tolist():
            before = float(self._intervals[page]) * DAY
            self._intervals[page] = adapted(before, bool(today.is_stale[page]), _ADAPTIVE) / DAY
        self._visited_at[chosen] = today.now
        return chosen


class Oracle:
    """Knows the future: stale pages only, first those that then stay unchanged longest, by weight.

    An upper bound for policies without that knowledge.
    """

    def __init__(self, window: Window) -> None:
        self._weights, self._days = window.weights, window.days

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """Stale pages, the longest-lived first."""
        stale = np.flatnonzero(today.is_stale)
        if len(stale) > today.limit:
            fresh = np.minimum(today.next_change(stale, today.day), self._days) - today.day
            stale = stale[np.argsort(-fresh * self._weights[stale], kind="stable")[: today.limit]]
        return stale


class _Ring:
    """A fixed order of all pages and a place in it, from which some are taken, round and round."""

    def __init__(self, order: Ints) -> None:
        self._order = order
        self._place = 0

    def take(self, wanted: NDArray[np.bool_], limit: int) -> Ints:
        """The next `limit` of the wanted pages, or all of them."""
        places = np.flatnonzero(wanted[self._order])
        count = min(limit, len(places))
        if not count:
            return places
        first = np.searchsorted(places, self._place)
        taken = places[np.arange(first, first + count) % len(places)]
        self._place = int(taken[-1]) + 1
        return self._order[taken]


class Circumstances(Struct, frozen=True):
    """What a policy may be made of. `rates` are changes a day of each page, `budget` the share of pages a day.

    `signals`, where there are any, are passed to policies that use them.
    """

    window: Window
    rates: Floats
    budget: float
    settings: TruthSettings
    signals: DaySignals | None = None


def _proportional(given: Circumstances, random: Generator) -> RefreshPolicy:
    """As often as pages change: intuitive, and worse than uniform visits (Cho & Garcia-Molina 2003)."""
    total = float(given.rates.sum())
    share = given.rates * (given.budget * len(given.window) / total) if total > 0 else given.rates
    return Regular(share, given.window.born_at, random)


def _optimal(given: Circumstances, random: Generator) -> RefreshPolicy:
    """The best regular visits for these rates of Poisson changes (Cho & Garcia-Molina 2003), at most one a day."""
    share = frequencies_for_freshness(
        given.rates, given.budget * len(given.window), weights=given.window.weights, most=1.0
    )
    return Regular(share, given.window.born_at, random)


def _azar(given: Circumstances, random: Generator) -> RefreshPolicy:
    """The best random visits for these rates (Azar et al. 2018), made at regular intervals."""
    share = random_frequencies(given.rates, given.budget * len(given.window), weights=given.window.weights)
    return Regular(share, given.window.born_at, random)


def _lambda(given: Circumstances, random: Generator) -> RefreshPolicy:
    """The best random visits for the harmonic cost (Kolobov et al. 2019), made at regular intervals."""
    share, _ = harmonic_frequencies(given.rates, given.budget * len(given.window), weights=given.window.weights)
    return Regular(share, given.window.born_at, random)


PolicyMaker = Callable[[Circumstances, Generator], RefreshPolicy]
"""Makes a policy for given circumstances."""

_POLICIES: dict[str, PolicyMaker] = {
    "adaptive": lambda given, _random: Adaptive(len(given.window)),
    "azar": _azar,
    "conventional": lambda given, random: Conventional(len(given.window), random),
    "deaf": lambda given, _random: Learned(given.window),
    "informed": lambda given, _random: Informed(given.window, given.rates, given.signals),
    "lambda": _lambda,
    "learned": lambda given, _random: Learned(given.window, given.signals),
    "metadata": lambda given, random: Metadata(len(given.window), random, given.settings),
    "optimal": _optimal,
    "oracle": lambda given, _random: Oracle(given.window),
    "proportional": _proportional,
    "trusting": lambda given, _random: Trusting(given.window, given.rates, given.signals),
    "uniform": lambda _given, random: Uniform(random),
}


def refresh_policies() -> tuple[str, ...]:
    """The names, in order."""
    return tuple(sorted(_POLICIES))


def refresh_policy(name: str, given: Circumstances, random: Generator) -> RefreshPolicy:
    """The policy of that name. Raises `ConfigError` for a name that is not there."""
    check_policy(name)
    if make := _POLICIES.get(name):
        return make(given, random)
    return OwnPolicy(name, cast("PolicyMaker", load_plugin(REFRESH_POLICIES, name)), given, random)


class OwnPolicy:
    """A policy of a program's own. Raises a `ConfigError` that names it for whatever it does wrong."""

    def __init__(self, name: str, make: PolicyMaker, given: Circumstances, random: Generator) -> None:
        self._name = name
        self._pages = len(given.window)
        self._made = self._call("given and random", make, given, random)
        for method in ("cost", "choose"):
            if not callable(getattr(self._made, method, None)):
                raise self._wrong(f"returned {_shown(self._made)}, which has no method {method}", _POLICY_HINT)

    def cost(self, sites: int) -> float:
        """What a day costs before any page is fetched."""
        cost = self._call("cost(sites)", self._made.cost, sites)
        if isinstance(cost, bool) or not isinstance(cost, int | float | np.number) or not 0 <= cost < np.inf:
            raise self._wrong(f"cost(sites) returned {_shown(cost)}", "return a number of pages, 0 or more")
        return float(cost)

    def choose(self, today: Today) -> Ints:
        """The pages to fetch."""
        chosen = self._call("choose(today)", self._made.choose, today)
        try:
            pages = np.asarray(chosen)
        except ValueError:
            pages = np.empty((0, 0))
        if pages.ndim != 1 or (len(pages) and pages.dtype.kind not in "iu"):
            raise self._wrong(f"choose(today) returned {_shown(chosen)}", _CHOICE_HINT)
        if len(pages) and not 0 <= int(pages.min()) <= int(pages.max()) < self._pages:
            what = f"choose(today) returned page {int(pages.max() if pages.min() >= 0 else pages.min())}"
            raise self._wrong(what, f"pages are numbers from 0 to {self._pages - 1}")
        pages = pages.astype(np.int64)
        if len(np.unique(pages)) != len(pages):
            raise self._wrong("choose(today) returned a page twice", _CHOICE_HINT)
        if len(pages) > today.limit:
            raise self._wrong(f"choose(today) returned {len(pages)} pages", f"today.limit is {today.limit}")
        if not today.here[pages].all():
            raise self._wrong("choose(today) returned a page that is not there yet", "choose where today.here is true")
        return pages

    def _call(self, what: str, call: Callable[..., Any], *given: object) -> Any:
        try:
            return call(*given)
        except Exception as error:  # whatever a function of others raises
            raise self._wrong(f"{what}: {type(error).__name__}: {error}", _POLICY_HINT) from error

    def _wrong(self, what: str, hint: str) -> ConfigError:
        return ConfigError(f"the refresh policy {self._name[:100]}: {what}", hint=hint)


_POLICY_HINT: Final = (
    "a function of given (Circumstances) and random returns an object with cost(sites) and choose(today)"
)
_CHOICE_HINT: Final = "return the numbers of pages in a one-dimensional array of integers, each at most once"


def _shown(value: object) -> str:
    return repr(value)[:80]


def check_policy(name: str) -> None:
    """Raise a `ConfigError` for an unknown name, with a suggestion.

    A name that is not listed may be a function that makes a policy: `module:function`, or an entry point.
    """
    if name not in _POLICIES and is_plugin(REFRESH_POLICIES, name):
        load_plugin(REFRESH_POLICIES, name)
    elif name not in _POLICIES:
        raise ConfigError(
            f"no such refresh policy: {name[:100]!r}",
            hint=f"did you mean {nearest(name, refresh_policies())!r}? There are {', '.join(refresh_policies())}",
        )

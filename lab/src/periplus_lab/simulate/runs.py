"""Runs one crawl of a web under one ordering, and measures it.

The measure is that of Castillo et al. (2004): PageRank over all links of the web, computed beforehand by an oracle, and
the share of it that the fetched pages have together. Shares are of what a crawl can get: the pages that answer well and
can be reached from the seeds over such pages and redirects. So a crawl that goes on to the end has all pages and all
PageRank, and failed fetches cost time but do not count as pages. On a web where every page answers and can be reached
that is the PageRank of the whole web.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from time import process_time
from typing import cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.engine.plugins import ORDERINGS, is_plugin, load_plugin
from periplus.model import ConfigError, EventSink, Ordering, Url
from periplus.parts.focus.ordering import any_ordering
from periplus.policy.found import Score
from periplus.policy.ordering import ALIASES, Scored, orderings
from periplus.policy.settings import nearest
from periplus.view.figures import PlotCurve

from .crawl import Progress, SimulatedCrawl, Trace
from .graph_files import RankedWeb
from .network import NetworkSettings

Value = int | float | str | bool
_WORDS = {"true": True, "false": False}


class PolicyChoice(Struct, frozen=True):
    """An ordering as a user writes it, `batch:every=5000,damping=0.9`: a name, and settings other than the defaults.

    A name may also be that of the user's own ordering: `module:function`, or an entry point. It is checked before the
    experiment begins: `ordering` never refuses it. `policy.ordering` has the other orderings and their settings.
    """

    name: str
    settings: dict[str, Value] = {}

    def __post_init__(self) -> None:
        if self._own() is not None:
            return
        known = _settings_of(self.name)
        for key, value in self.settings.items():
            if key not in known:
                hint = f"did you mean {nearest(key, known)!r}?" if known else "it has no settings"
                raise ConfigError(f"no such setting of {self.name}: {key[:100]!r}", hint=hint)
            wanted = type(known[key])
            if not (type(value) is wanted or (wanted is float and type(value) is int)):
                raise ConfigError(
                    f"{self.name}:{key}={str(value)[:100]} is not a {_KINDS.get(wanted, wanted.__name__)}",
                    hint=f"by default it is {known[key]}",
                )
        any_ordering(self.name, oracle=_worthless, **self.settings)

    @classmethod
    def parse(cls, text: str) -> PolicyChoice:
        """Read `name`, `name:setting=value,setting=value` or `module:function`."""
        name, colon, rest = text.strip().partition(":")
        if colon and "=" not in rest and name not in orderings():
            return cls(text.strip())
        settings: dict[str, Value] = {}
        for part in rest.split(",") if colon else []:
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not (key and equals and value):
                raise ConfigError(
                    f"cannot read the settings of {text[:100]!r}", hint="write them like batch:every=5000,damping=0.9"
                )
            if key in settings:
                raise ConfigError(f"{key!r} is set twice in {text[:100]!r}", hint="set it once")
            settings[key] = _value(value)
        return cls(name.strip(), settings)

    def __str__(self) -> str:
        written = ",".join(f"{key}={_text(value)}" for key, value in self.settings.items())
        return f"{self.name}:{written}" if written else self.name

    def ordering(self, oracle: Callable[[Url], float], seed: int) -> Ordering:
        """The ordering itself, new. Randomness comes from `seed`, unless its own was set."""
        settings, own = self.settings, self._own()
        if own is not None:
            return own
        if ALIASES.get(self.name, self.name) == "random":
            settings = {"seed": seed, **settings}
        return any_ordering(self.name, oracle=oracle, **settings)

    def _own(self) -> Ordering | None:
        """The user's own ordering, new: a class is one, a function scores URLs as `score=` of a crawl."""
        if self.settings or self.name in orderings() or not is_plugin(ORDERINGS, self.name):
            return None
        loaded = load_plugin(ORDERINGS, self.name)
        made = loaded() if isinstance(loaded, type) else Scored(cast("Score", loaded))
        if not (hasattr(made, "score") and hasattr(made, "site_key")):
            raise ConfigError(
                f"{self.name[:100]} is not an ordering", hint="derive the class from periplus.policy.ordering.ByWorth"
            )
        return cast("Ordering", made)


_KINDS: dict[type, str] = {int: "whole number", float: "number", bool: "truth value (true or false)", str: "word"}


def _settings_of(name: str) -> dict[str, Value]:
    """The settings of an ordering, with their defaults. Raises `ConfigError` for a name that is not there."""
    parameters = inspect.signature(type(any_ordering(name, oracle=_worthless))).parameters.values()
    return {each.name: each.default for each in parameters if isinstance(each.default, Value)}


def _worthless(_: Url) -> float:
    return 0.0


def _value(text: str) -> Value:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


CURVE_POINTS = 300

Floats = NDArray[np.float64]


class OrderingResult(Struct, frozen=True):
    """What one crawl came to. Everything but `cpu_seconds` is the same each time.

    `pages` were fetched well of the `total` that could be; the web has `web_pages`. `makespan` is in virtual seconds,
    and so is `half_at`, when half of the pages fetched were there. `mass` has the share of PageRank at each budget (a
    share of `total`) that was reached; `mean_mass` is its mean over the pages fetched: the area under `curve`, which
    goes from share of pages to share of PageRank. `over_time` goes from virtual seconds to share of PageRank.
    """

    policy: str
    seed: int
    pages: int
    total: int
    web_pages: int
    makespan: float
    half_at: float
    decisions: int
    cpu_seconds: float
    mass: tuple[tuple[float, float], ...]
    mean_mass: float
    curve: PlotCurve
    over_time: PlotCurve


def crawl_of(
    ranked_web: RankedWeb,
    policy: PolicyChoice,
    network: NetworkSettings,
    *,
    seed: int,
    limit: int | None = None,
    events: EventSink | None = None,
) -> SimulatedCrawl:
    """The crawl that an experiment would run, to be watched step by step."""
    ordering = policy.ordering(oracle_of(ranked_web), seed)
    return SimulatedCrawl(ranked_web.web, ordering, network, seed=seed, limit=limit, events=events)


def oracle_of(ranked_web: RankedWeb) -> Callable[[Url], float]:
    """The oracle of *optimal*: the PageRank of a page, in multiples of the mean."""
    web, worth = ranked_web.web, (ranked_web.rank * len(ranked_web.web)).tolist()
    if web.urls is not None:
        by_name = dict(zip(web.urls, worth, strict=True))
        return lambda url: by_name.get(url, 0.0)
    return lambda url: worth[int(url[url.rindex("/") + 1 :])]


def run_ordering(
    ranked_web: RankedWeb,
    policy: PolicyChoice,
    network: NetworkSettings,
    *,
    seed: int,
    budgets: Sequence[float] = (),
    limit: int | None = None,
    progress: Progress | None = None,
) -> OrderingResult:
    """Crawl, and measure."""
    began_at = process_time()
    crawl = crawl_of(ranked_web, policy, network, seed=seed, limit=limit)
    trace = crawl.run(progress)
    return measured(
        ranked_web, trace, policy, seed, budgets, decisions=crawl.decisions, cpu_seconds=process_time() - began_at
    )


def measured(
    ranked_web: RankedWeb,
    trace: Trace,
    policy: PolicyChoice,
    seed: int,
    budgets: Sequence[float],
    *,
    decisions: int,
    cpu_seconds: float,
) -> OrderingResult:
    """What a crawl came to."""
    gathered = mass_of(ranked_web, trace)
    total, pages = ranked_web.fetchable, len(gathered) - 1
    ended_at = np.concatenate(([0.0], (trace.started_at + trace.took)[trace.is_ok]))
    return OrderingResult(
        policy=str(policy),
        seed=seed,
        pages=pages,
        total=total,
        web_pages=len(ranked_web.web),
        makespan=trace.ended_at,
        half_at=float(ended_at[(pages + 1) // 2]),
        decisions=decisions,
        cpu_seconds=cpu_seconds,
        mass=tuple((budget, float(gathered[place])) for budget in budgets if (place := _place(budget, total)) <= pages),
        mean_mass=float(gathered[1:].mean()) if pages else 0.0,
        curve=_by_pages(str(policy), gathered, total),
        over_time=_by_time(str(policy), gathered, ended_at, trace.ended_at),
    )


def mass_of(ranked_web: RankedWeb, trace: Trace) -> Floats:
    """The share of PageRank after no page, after one, after two, ..."""
    own = ranked_web.rank[trace.fetched] / (ranked_web.mass or 1.0)
    return np.concatenate(([0.0], np.cumsum(own)))


def check_budgets(budgets: Sequence[float]) -> None:
    """Reject budgets that are not shares."""
    for budget in budgets:
        if not 0.0 < budget <= 1.0:
            raise ConfigError(f"a budget of {budget} is not a share of the pages", hint="for example 0.01,0.05,0.5")


def _place(budget: float, total: int) -> int:
    return max(1, round(budget * total))


def _by_pages(name: str, gathered: Floats, total: int) -> PlotCurve:
    places = np.unique(np.linspace(0, len(gathered) - 1, CURVE_POINTS).round().astype(np.int64))
    return _line(name, places / max(total, 1), gathered[places])


def _by_time(name: str, gathered: Floats, ended_at: Floats, makespan: float) -> PlotCurve:
    """At equal steps of time: what had been fetched by then."""
    times = np.linspace(0.0, makespan, CURVE_POINTS)
    return _line(name, times, gathered[np.searchsorted(ended_at, times, side="right") - 1])


def _line(name: str, x: Floats, y: Floats) -> PlotCurve:
    values = y.tolist()
    return PlotCurve(name, x.tolist(), values, values, values)

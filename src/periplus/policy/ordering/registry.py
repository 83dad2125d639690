"""Orderings by name, as people choose them in a configuration and on the command line.

An ordering answers two questions, as the two-level scheduler of Castillo et al. (2004) asks them: which of a site's
pages first (`score`), and which site first (`site_key`). The key of a site is computed in O(1) from what a scheduler
knows anyway. It does not depend on the time now, so that it stays true while it lies in a heap, until one of its
arguments changes: the site that has waited longest is the one that became ready first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from periplus.model import ConfigError, Ordering, Url

from ..settings import nearest
from .importance import (
    AdaptiveOpic,
    BatchPageRank,
    BreadthFirst,
    InDegree,
    LargestSite,
    Opic,
    Optimal,
    PartialPageRank,
    RandomOrder,
    RankMass,
    WindowedRankMass,
)

_ORDERINGS: dict[str, Callable[..., Ordering]] = {
    "batch": BatchPageRank,
    "breadth_first": BreadthFirst,
    "indegree": InDegree,
    "largest_site": LargestSite,
    "opic": Opic,
    "opic_adaptive": AdaptiveOpic,
    "optimal": Optimal,
    "partial": PartialPageRank,
    "random": RandomOrder,
    "rankmass": RankMass,
    "rankmass_windowed": WindowedRankMass,
}

ALIASES = {"depth": "breadth_first", "length": "largest_site", "oracle": "optimal"}
"""The names that Castillo et al. (2004) gave the same."""
_ABBREVIATIONS: Final = {"bfs": "breadth_first", "fifo": "breadth_first", "backlinks": "indegree"}
"""What people write for them: suggested, but not accepted."""


def orderings() -> tuple[str, ...]:
    """The names of those that need no topic, in order."""
    return tuple(sorted(_ORDERINGS))


def ordering(
    name: str,
    with_topic: Sequence[str] = (),
    /,
    *,
    oracle: Callable[[Url], float] | None = None,
    **settings: int | float | str | bool,
) -> Ordering:
    """The ordering of that name. Raises `ConfigError` for an unknown name or setting.

    `oracle` returns the final score of a page; only *optimal* uses it. `with_topic` are the names of orderings for a
    crawl with a topic, which an error suggests as well.
    """
    name = ALIASES.get(name, name)
    make = _ORDERINGS.get(name)
    if make is None:
        near = _ABBREVIATIONS.get(name.lower()) or nearest(name, [*orderings(), *with_topic, *ALIASES])
        others = f"; with a topic {', '.join(with_topic)}" if with_topic else ""
        raise ConfigError(
            f"unknown ordering: {name[:100]!r}",
            hint=f"did you mean {near!r}? There are {', '.join(orderings())}{others}",
        )
    if make is Optimal:
        if oracle is None:
            raise ConfigError(
                "the ordering 'optimal' needs the final PageRank of pages",
                hint="In a crawl, name an earlier collection of the same web with --order-by",
            )
        return Optimal(oracle)
    return make_ordering(name, make, settings)


def make_ordering(
    name: str, make: Callable[..., Ordering], settings: Mapping[str, int | float | str | bool]
) -> Ordering:
    """An ordering with these settings. Raises `ConfigError` for a setting that it does not have."""
    known = inspect.signature(make).parameters
    for setting in settings:
        if setting not in known:
            hint = f"did you mean {nearest(setting, known)!r}?" if known else "it has no settings"
            raise ConfigError(f"no such setting of {name}: {setting[:100]!r}", hint=hint)
    return make(**settings)

"""How much a page matters, against the mean of all: by links, by what its site says of priorities, by what a user says.

A visit is worth in proportion to it. Importance comes as a function from URLs to multiples of a mean, of the caller
(`store.ranks` computes it); a user's own weights are patterns as in `policy.filters.patterns`, of which the first that
matches counts. The product is divided by the mean over the pages of the collection, so that the price of a visit keeps
its meaning whatever the scale: the caller has the pages for that. Features of a crawl multiply it by factors of their
own, such as a discount for spam or the relevance of a page.

`equal`: all pages alike; `pagerank`: by the links of the collection; `priority`: what sitemaps say of a page, where a
site's priorities tell its pages apart; `priority_rank`: PageRank with sitemaps as pages (Schonfeld & Shivakumar 2009).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from periplus.model import ConfigError, Url

from .filters.patterns import MAX_PATTERNS, compiled
from .settings import nearest

EQUAL = "equal"
IMPORTANCE = (EQUAL, "pagerank", "priority", "priority_rank")
LEAST_RANK, MOST_RANK = 0.1, 100.0
"""Bounds of importance, in means: below, a page is not even linked; above, it is visited as often as can be anyway."""
MOST_WEIGHT = 1000.0

Importance = Callable[[Url], float | None]


def check_importance(name: str) -> str:
    """A name of an importance. Raises `ConfigError` for one that is not there."""
    if name not in IMPORTANCE:
        raise ConfigError(
            f"no such weight: {name[:100]!r}",
            hint=f"did you mean {nearest(name, IMPORTANCE)!r}? There are {', '.join(IMPORTANCE)}",
        )
    return name


class PageWeights:
    """The weight of a page by its URL.

    `mean` is that of the pages of a collection, under the same weights; `unknown` the importance of a page of which
    nothing is known.
    """

    def __init__(
        self,
        patterns: Mapping[str, float] | None = None,
        importance: Importance | None = None,
        mean: float = 1.0,
        *,
        unknown: float = 0.0,
    ) -> None:
        given = patterns or {}
        if len(given) > MAX_PATTERNS:
            raise ConfigError(f"weights: {len(given)} patterns", hint=f"at most {MAX_PATTERNS}; a `*` stands for many")
        self._patterns = [(compiled(pattern), _checked(pattern, weight)) for pattern, weight in given.items()]
        self._importance = importance
        self._unknown = unknown
        self.mean = mean
        self._factors: list[Callable[[Url], float]] = []

    def multiply_by(self, factor: Callable[[Url], float]) -> None:
        """Multiply every weight by what this function returns for the URL; the mean stays that of the pages alone."""
        self._factors.append(factor)

    @property
    def is_equal(self) -> bool:
        """Whether all pages have the same weight."""
        return self._importance is None and not self._patterns

    def settle(self, urls: Iterable[Url]) -> None:
        """Set the mean to that of these pages, unless their weights are all 0."""
        weights = [] if self.is_equal else [self._weight(url) for url in urls]
        mean = math.fsum(weights) / len(weights) if weights else 1.0
        self.mean = mean or 1.0

    def __call__(self, url: Url) -> float:
        """The weight in multiples of the mean, times all factors. 0: no visit is ever worth anything."""
        weight = 1.0 if self.is_equal else self._weight(url) / self.mean
        for factor in self._factors:
            weight *= factor(url)
        return weight

    def _weight(self, url: Url) -> float:
        own = next((weight for matches, weight in self._patterns if matches(url)), 1.0)
        if self._importance is None or not own:
            return own
        rank = self._importance(url)
        return own * min(max(self._unknown if rank is None else rank, LEAST_RANK), MOST_RANK)


def _checked(pattern: str, weight: float) -> float:
    if not 0.0 <= weight <= MOST_WEIGHT:
        raise ConfigError(
            f"{pattern[:100]!r} cannot weigh {weight}",
            hint=f"give it 0 (never come back) to {MOST_WEIGHT:.0f}; 1 is the mean",
        )
    return weight

"""Orderings that score a URL when it is found, and never again."""

from __future__ import annotations

import math
from collections.abc import Callable

from xxhash import xxh3_64_intdigest

from ...model import Discovery, Url
from .learned import ByWorth
from .levels import OCTAVES


class BreadthFirst:
    """Shallow pages first: a page by its distance from a seed, a site by its shallowest page, then by waiting time.

    Najork & Wiener ("Breadth-first crawling yields high-quality pages", 2001) found over 328 million pages that pages
    of high PageRank are found early this way: many links lead to them, so one of them is short. In the two-level
    scheduler of Castillo et al. (2004) this is *Depth*.
    """

    def score(self, discovery: Discovery) -> float:
        """One less for every link from a seed."""
        return -float(discovery.depth)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The level of the head of its queue."""
        return float(level), ready_at


class LargestSite:
    """The site with most pages to fetch first; pages of a site in the order of their discovery.

    *Length* of Castillo, Marin, Rodriguez & Baeza-Yates (2004). Politeness makes the largest sites the last to end: a
    crawl that starts them late waits for them alone. Taking the longest queue first avoids that, and in their
    simulations it also beat orderings by periodic PageRank, where large sites were good sites. First come, first served
    within a site is almost breadth-first.
    """

    def score(self, discovery: Discovery) -> float:  # noqa: ARG002
        """The same for all: a level is first come, first served."""
        return 0.0

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """Longest queue first, then the longest waiting time."""
        return -float(waiting), ready_at


class RandomOrder:
    """Pages in an order that `seed` decides, sites by waiting time: the baseline that every other ordering has to beat.

    The score is a hash of the URL, so that a crawl which was killed continues in the same order. Scores are spread
    evenly over the levels of a queue, that is, over the octaves.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed & (1 << 64) - 1

    def score(self, discovery: Discovery) -> float:
        """Between 2^-32 and 2^32, uniform over the octaves."""
        chance = xxh3_64_intdigest(discovery.url.encode(), self._seed) / 2.0**64
        return math.pow(2.0, (2.0 * chance - 1.0) * OCTAVES)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The longest waiting time first."""
        return 0.0, ready_at


class Optimal(ByWorth):
    """By the PageRank that a page will have in the end, which an oracle returns: *Optimal* of Castillo et al. (2004).

    A first crawl has no oracle. The simulator has, and a second crawl of the same web has what the first one found out.
    All orderings by importance are measured against it, though it is not the best of them to the end: it is too greedy,
    and has few sites left when the good pages are fetched.
    """

    def __init__(self, oracle: Callable[[Url], float]) -> None:
        self._oracle = oracle

    def score(self, discovery: Discovery) -> float:
        """What the oracle returns."""
        return self._oracle(discovery.url)

"""By the PageRank that a page will have in the end: *Optimal* of Castillo et al. (2004), which asks an oracle.

A first crawl does not have one. The simulator has, and a second crawl of the same web has what the first one found
out. It is the measure of all orderings by importance, and not the best of them to the end: it is too greedy, and has
few sites left when the good pages are fetched.
"""

from __future__ import annotations

from collections.abc import Callable

from ...model import Discovery, Url
from .worth import ByWorth


class Optimal(ByWorth):
    """The worth of a URL is what the oracle says."""

    def __init__(self, oracle: Callable[[Url], float]) -> None:
        self._oracle = oracle

    def score(self, discovery: Discovery) -> float:
        """The oracle's word."""
        return self._oracle(discovery.url)

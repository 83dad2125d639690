"""Shallow pages first.

Najork & Wiener ("Breadth-first crawling yields high-quality pages", 2001) found over 328 million pages that pages of
high PageRank are found early this way: many links lead to them, so one of them is short. In the two-level scheduler of
Castillo et al. (2004) this is *Depth*.
"""

from __future__ import annotations

from ...model import Discovery


class BreadthFirst:
    """A page by its distance from a seed; a site by its shallowest page, and among equals who has waited longest."""

    def score(self, discovery: Discovery) -> float:
        """One less for every link from a seed."""
        return -float(discovery.depth)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The level of the head of its queue."""
        return float(level), ready_at

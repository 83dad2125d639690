"""The site with most pages to fetch first: *Length* of Castillo, Marin, Rodriguez & Baeza-Yates (2004).

Politeness makes the largest sites the last to end: a crawl that starts them late waits for them alone. Taking the
longest queue first is a rule against that, and in their simulations it also beat orderings by periodic PageRank, where
large sites were good sites. Pages of a site go first come, first served, which is almost breadth-first.
"""

from __future__ import annotations

from ...model import Discovery


class LargestSite:
    """Pages in the order of their discovery; a site by the length of its queue."""

    def score(self, discovery: Discovery) -> float:  # noqa: ARG002
        """The same for all: a level is first come, first served."""
        return 0.0

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """Longest queue first, and among equals who has waited longest."""
        return -float(waiting), ready_at

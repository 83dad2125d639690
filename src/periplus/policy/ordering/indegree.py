"""Pages that many others lead to first: back-link count of Cho, Garcia-Molina & Page (1998).

Good in their crawl of Stanford, poor in that of Baeza-Yates, Castillo, Marin & Rodriguez (2005): a site that links each
of its pages from every other gets them all fetched first.
"""

from __future__ import annotations

from .worth import ByGain


class InDegree(ByGain):
    """The worth of a URL is the number of fetched pages that lead to it; a seed counts as led to once."""

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """Every link counts alike."""
        return 1.0

    def rest(self, worth: float) -> float:
        """Nothing is spent."""
        return worth

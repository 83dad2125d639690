"""What orderings by importance have in common: the best page of a site first, and the site with the best page first."""

from __future__ import annotations


class ByWorth:
    """The priority of a URL is what it is worth, however long it has waited."""

    def score_of(self, worth: float, age: int) -> float:  # noqa: ARG002
        """The worth itself."""
        return worth

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The level of the head of its queue; among equals who has waited longest."""
        return float(level), ready_at

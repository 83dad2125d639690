"""Follows what a job has learnt of domains: they get the budgets that their reputation earns."""

from __future__ import annotations

from periplus.engine.frontier import Frontier

from .known import KnownReputation


class ReputationFollower:
    """Hands the budgets that a crawl knows to its frontier."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    def take(self, content: bytes, now: float) -> None:  # noqa: ARG002 - as every taker of learnt files
        """Take the budgets that a job has computed. A pass that has begun goes on."""
        self._frontier.set_budgets(KnownReputation.read(content).budget)

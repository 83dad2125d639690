"""Reputation in a crawl: domains get the budgets that a job has computed for them."""

from __future__ import annotations

from collections.abc import Mapping

from periplus.engine.part import Desk, Part, TakeLearnt

from .known import KnownReputation


class ReputationFollower(Part):
    """Hands the budgets that a crawl knows to its frontier."""

    def __init__(self, desk: Desk) -> None:
        self._frontier = desk.frontier

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """The reputations of domains."""
        return {"reputation": self.take}

    def take(self, content: bytes, now: float) -> None:  # noqa: ARG002 - as every taker of learnt files
        """Take the budgets that a job has computed. A pass that has begun goes on."""
        self._frontier.set_budgets(KnownReputation.read(content).budget)

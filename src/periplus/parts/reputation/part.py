"""Reputation in a crawl: domains get the budgets that a job has computed for them."""

from __future__ import annotations

from collections.abc import Mapping

from periplus.engine.part import Desk, Part, TakeLearnt


class ReputationFollower(Part):
    """Hands what a job has computed to the schedule."""

    def __init__(self, desk: Desk) -> None:
        self._schedule = desk.frontier.schedule

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """The reputations of domains."""
        return {"reputation": self._schedule.learn_reputation}

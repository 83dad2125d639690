"""Reputation in a crawl: domains get the budgets that a job has computed for them."""

from __future__ import annotations

from collections.abc import Mapping

from periplus.engine.part import Desk, Job, Part, Setup, TakeLearnt

from .known import KnownReputation


class ReputationFollower(Part):
    """Hands the budgets that a crawl knows to its frontier."""

    order = 90

    @classmethod
    def jobs(cls) -> list[Job]:
        """Reputations are computed while the crawl runs."""
        from .learning import JOB  # loads DuckDB

        return [JOB]

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:  # noqa: ARG003 - its settings are those of budgets
        """One."""
        return [cls(desk)]

    def __init__(self, desk: Desk) -> None:
        self._frontier = desk.frontier

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """The reputations of domains."""
        return {"reputation": self.take}

    def take(self, content: bytes, now: float) -> None:  # noqa: ARG002 - as every taker of learnt files
        """Take the budgets that a job has computed. A pass that has begun goes on."""
        self._frontier.set_budgets(KnownReputation.read(content).budget)

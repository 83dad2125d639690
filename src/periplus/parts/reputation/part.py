"""Reputation in a crawl: domains get the budgets that a job has computed for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from periplus.engine.part import Desk, Job, JobDesk, Part, Setup, TakeLearnt

from .known import KnownReputation

KIND: Final = "reputation"
"""The kind of the learnt file."""


class ReputationFollower(Part):
    """Hands the budgets that a crawl knows to its frontier."""

    @classmethod
    def jobs(cls) -> list[Job]:
        """Reputations are computed while the crawl runs."""
        return [Job(KIND, _is_wanted, _learn)]

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:  # noqa: ARG003 - its settings are those of budgets
        """One."""
        return [cls(desk)]

    def __init__(self, desk: Desk) -> None:
        self._frontier = desk.frontier

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """The reputations of domains."""
        return {KIND: self.take}

    def take(self, content: bytes, now: float) -> None:
        """Take the budgets that a job has computed. A pass that has begun goes on."""
        self._frontier.set_budgets(KnownReputation.read(content).budget, now)


def _is_wanted(setup: Setup) -> bool:
    """Whether to compute reputations: only a crawl that may leave the domains of its seeds has budgets for domains."""
    domain: str = setup.settings.value("budgets.domain")
    return domain != "none" and bool(setup.settings.value("scope.kind") == "any")


def _learn(desk: JobDesk) -> None:
    from .learning import learn_budgets  # loads DuckDB, in the process of the job alone

    learn_budgets(desk)

"""Follows what a job has learnt about spam: worth of visits, places in queues, and budgets of domains shrink.

Nothing is refused for it, except the waiting URLs of hosts that the job retires (`[spam] may_retire`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from periplus.engine.part import Desk, Part, TakeLearnt
from periplus.model import Site

from .scores import SpamScores

RETIRED: Final = "spam"
"""The reason of a host that is visited no more."""


class SpamFollower(Part):
    """Holds the probabilities that a crawl knows, and hands them to what they matter to."""

    def __init__(self, desk: Desk) -> None:
        self._frontier = desk.frontier
        self._records = desk.records
        self._known = SpamScores()
        self._frontier.set_discounts(self._known)
        desk.weights.multiply_by(self._known.worth)

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """Probabilities that a job has computed."""
        return {"spam": self.take}

    def take(self, content: bytes, now: float) -> None:
        """Take the probabilities that a job has computed.

        A machine that is opened takes them again (`now` is 0): the hosts that were to be retired have been.
        """
        self._known.learn(content)
        for name in self._known.retired if now else ():
            record = self._records.get(Site(name))
            if record.pages and not record.retired:
                record.retired = RETIRED
                self._records.changed(record)
        self._frontier.discounts_changed()

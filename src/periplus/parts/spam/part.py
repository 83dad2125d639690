"""Follows what a job has learnt about spam: worth of visits, places in queues, and budgets of domains shrink.

Nothing is refused for it, except the waiting URLs of hosts that the job retires (`[spam] may_retire`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from periplus.engine.part import Desk, Distrust, Job, JobDesk, Part, Setup, TakeLearnt
from periplus.model import Site
from periplus.store import LearntFiles

from .scores import SpamScores
from .settings import SpamTables

KIND: Final = "spam"
"""The kind of the learnt file."""
RETIRED: Final = "spam"
"""The reason of a host that is visited no more."""


class SpamFollower(Part):
    """Holds the probabilities that a crawl knows, and hands them to what they matter to."""

    @classmethod
    def jobs(cls) -> list[Job]:
        """Hosts are judged while the crawl runs. Trust does not flow through what is known to be spam."""
        return [Job(KIND, _is_judged, _judge)]

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, if the crawl is to follow verdicts."""
        return [cls(desk)] if setup.settings.some(SpamTables).spam.enabled else []

    def __init__(self, desk: Desk) -> None:
        self._frontier = desk.frontier
        self._records = desk.records
        self._known = SpamScores()
        self._frontier.set_discounts(self._known)
        desk.weights.multiply_by(self._known.worth)

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """Probabilities that a job has computed."""
        return {KIND: self.take}

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


def known_distrust(setup: Setup) -> Distrust | None:
    """How likely a domain is spam by what the last job has learnt, unless the crawl does not use it."""
    files = LearntFiles(setup.layout.learnt)
    is_used = setup.settings.some(SpamTables).spam.enabled
    generation = files.newest().get(KIND, 0) if is_used else 0
    content = files.read(KIND, generation) if generation else None
    if content is None:
        return None
    scores = SpamScores()
    scores.learn(content)
    return scores.of_domain


def _is_judged(setup: Setup) -> bool:
    """Whether hosts are judged: only a crawl that may leave the domains of its seeds comes across link farms."""
    settings = setup.settings.some(SpamTables).spam
    return settings.enabled and settings.while_crawling and setup.settings.value("scope.kind") == "any"


def _judge(desk: JobDesk) -> None:
    from .judging import learn_spam  # loads DuckDB, in the process of the job alone

    learn_spam(desk)

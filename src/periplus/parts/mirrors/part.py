"""Mirrors in a crawl: URLs of hosts that a job has found to be mirrors get the names of those that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from periplus.engine.part import Desk, Part, Setup, TakeLearnt
from periplus.model import Discovery, SubjectJudged, Verdict

from .policy import MirrorHosts, decode_hosts
from .settings import MirrorTables

if TYPE_CHECKING:
    from periplus.insight.views import Views


class Mirrors(Part):
    """The hosts that a crawl knows to be mirrors or parked."""

    order = 70

    @classmethod
    def judge(cls, setup: Setup, views: Views, now: float) -> dict[str, Sequence[SubjectJudged]]:
        """Judge all hosts."""
        from .job import write_judged_hosts  # loads DuckDB

        return write_judged_hosts(setup, views, now)

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:  # noqa: ARG003 - it needs nothing of the crawl
        """One."""
        settings = setup.settings
        return [cls(MirrorHosts(settings.some(MirrorTables).mirrors, settings.value("scope.suffixes")))]

    def __init__(self, hosts: MirrorHosts) -> None:
        self._hosts = hosts

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """Hosts that a job has judged."""
        return {"mirrors": lambda content, _now: self._hosts.load(decode_hosts(content))}

    def rename(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """URLs of mirrors are known by those of the hosts they mirror."""
        return self._hosts.renamed_all(discoveries)

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Refuse a URL that waited, if it is of a mirror or a parked domain."""
        return self._hosts.reconsider(discovery)

    def renamed(self) -> list[Discovery]:
        """The other names of those."""
        return self._hosts.drain_renamed()

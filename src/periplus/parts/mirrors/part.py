"""Mirrors in a crawl: URLs of hosts that a job has found to be mirrors get the names of those that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from periplus.engine.part import Desk, Part, Setup, TakeLearnt
from periplus.engine.pipeline import Processed
from periplus.model import Discovery, Fetched, Purpose, Site, Source, SubjectJudged, Url

from .policy import HostRule, MirrorHosts, decode_hosts, old_name
from .settings import MirrorTables

if TYPE_CHECKING:
    from periplus.insight.views import Views

_GONE: Final = frozenset({404, 410})
_FOUND_TOGETHER: Final = 1000
"""URLs that are found again together after a rule has fallen."""


class RefusedHosts(Struct, frozen=True, array_like=True):
    """The hosts at which URLs were refused as those of a mirror or of a parked domain."""

    sites: tuple[Site, ...] = ()


class Mirrors(Part):
    """The hosts that a crawl knows to be mirrors or parked."""

    @classmethod
    def judge(cls, setup: Setup, views: Views, now: float) -> dict[str, Sequence[SubjectJudged]]:
        """Judge all hosts."""
        from .job import write_judged_hosts  # loads DuckDB

        return write_judged_hosts(setup, views, now)

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One."""
        settings = setup.settings
        return [cls(desk, MirrorHosts(settings.some(MirrorTables).mirrors, settings.value("scope.suffixes")))]

    def __init__(self, desk: Desk, hosts: MirrorHosts) -> None:
        self._desk = desk
        self._hosts = hosts
        hosts.refused = dict.fromkeys((desk.saved(RefusedHosts) or RefusedHosts()).sites)
        desk.router.renaming.append(hosts.renamed_all)
        desk.frontier.selector.reconsidering.insert(0, hosts.reconsider)
        desk.renamed.append(hosts.drain_renamed)

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """Hosts that a job has judged."""
        return {"mirrors": self.take_learnt}

    def take_learnt(self, content: bytes, now: float) -> None:
        """Follow what a job has judged; what a verdict had refused that has fallen is wanted again.

        A machine that is opened takes the same file again (`now` is 0), and nothing has fallen.
        """
        fallen = self._hosts.load(decode_hosts(content))
        if not now:
            return
        sites, self._hosts.refused = list(self._hosts.refused), {}
        self._desk.frontier.requeue_refused(sites, now)
        for rule in fallen:
            self._find_again(rule, now)

    def _find_again(self, rule: HostRule, now: float) -> None:
        """Find what a rule may have renamed by its old name: all that is known of the host that was kept."""
        if not self._desk.router.owns_site(rule.target):
            return
        found: list[Discovery] = []
        for name, depth in list(self._old_names(rule)):
            found.append(Discovery(name, Source.LINK, now, depth))
            if len(found) >= _FOUND_TOGETHER:
                self._desk.router.deliver(found, now)
                found = []
        if found:
            self._desk.router.deliver(found, now)

    def _old_names(self, rule: HostRule) -> Iterator[tuple[Url, int]]:
        for record in self._desk.state.records.of_site(rule.target):
            name = None if "#" in record.url else old_name(rule, record.url)
            if name is not None:
                yield name, record.depth

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:
        """A page that the kept host does not have may be on the mirror: it is fetched there."""
        outcome = processed.answer.outcome
        if not isinstance(outcome, Fetched) or outcome.status not in _GONE:
            return found
        task = outcome.task
        if task.purpose is not Purpose.PAGE or task.visited_at is not None:
            return found
        names = self._hosts.old_names(task.url)
        return [*found, *(Discovery(name, Source.REDIRECT, now, task.depth, task.url, redirects=1) for name in names)]

    def flush(self) -> RefusedHosts:
        """The hosts at which URLs were refused."""
        return RefusedHosts(tuple(self._hosts.refused))

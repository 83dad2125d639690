"""A schedule of sites of which URLs wait, without a frontier around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import (
    ActiveSite,
    Domains,
    FrontierDesk,
    FrontierRules,
    FrontierSettings,
    PolitenessSettings,
    Schedule,
    SiteRecords,
)
from periplus.model import Discovery, Lane, Queued, Site, Url
from periplus.policy.filters import Chain
from periplus.store import MemoryState, SiteState

DELAY = 1.0
"""Seconds for which sites rest."""


class ByLevel:
    """Sites by level, then by the time at which they were ready."""

    def score(self, discovery: Discovery) -> float:
        return -float(discovery.depth)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:
        return float(level) if waiting else 1000.0, ready_at


class ScheduledSites:
    """A schedule on a state. `open_domains` makes the domains that it counts for."""

    def __init__(
        self,
        ip_delay: float = 0.5,
        capacity: int = 10_000,
        shards: int = 1,
        open_domains: Callable[[MemoryState], Domains] | None = None,
    ) -> None:
        self.state = MemoryState()
        self.under_way: Counter[Site] = Counter()
        self._open_domains = open_domains or (lambda state: Domains(state.domains))
        self._rules = FrontierRules(
            politeness=PolitenessSettings(delay=DELAY, slow_factor=0.0, ip_delay=ip_delay),
            frontier=FrontierSettings(max_sites=capacity),
            shards=shards,
        )
        self.open()

    def open(self) -> None:
        """A schedule on the state as it was flushed."""
        self.records = SiteRecords(self.state.sites)
        desk = FrontierDesk(self.state, self.records, self._rules, Chain([]), ByLevel(), MemoryEventSink(), Random(1))
        self.schedule = Schedule(desk, self._open_domains(self.state), lambda site: self.under_way[site])

    def reopen(self) -> None:
        """Another process continues."""
        self.schedule.flush()
        self.records.flush()
        self.open()

    def put(self, name: str, ip: str | None = None, ready_at: float = 0.0, level: int = 0) -> ActiveSite:
        """A site of which a URL waits."""
        site = Site(name)
        if self.state.sites.get([site]) == [None]:
            self.state.sites.put([SiteState(site, ip, ready_at=ready_at)])
        entry = Queued(Url(f"https://{site}/"), site, Lane.DISCOVERY, level)
        self.state.queues.push([entry])
        self.schedule.queued([entry], 0.0)
        active = self.schedule.get(site)
        assert active is not None
        return active

    def grant(self, active: ActiveSite, now: float) -> None:
        """A request to a site begins."""
        self.under_way[active.site] += 1
        self.schedule.grant(active, active.record.ip, now)

    def end(self, active: ActiveSite, until: float) -> None:
        """The request ends, and the site rests."""
        self._answered(active)
        self.schedule.place(active, until)

    def empty(self, active: ActiveSite, now: float) -> None:
        """The request ends, and nothing more waits at the site."""
        self._answered(active)
        self.state.queues.remove(self.state.queues.heads(active.site, Lane.DISCOVERY, 9))
        active.count(Lane.DISCOVERY, -1)
        self.schedule.place(active, now)

    def _answered(self, active: ActiveSite) -> None:
        self.under_way[active.site] -= 1
        if active.record.ip is not None:
            self.schedule.addresses.answered(active.record.ip, 0.1)

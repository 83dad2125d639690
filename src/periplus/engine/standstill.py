"""Notices that a crawl cannot go on: something waits, no request is open, and nothing will become due.

No web can bring that about, so it is a defect of ours. The engine then does what a restart does, once, which ends every
lease and schedules every site again. If no request begins after that either, the crawl ends with `CrawlStalled`, which
names what waits. Invariants of a few sites are checked at every commit for the same reason: a defect that they find is
logged with what to report, and the crawl goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import islice
from typing import Final

from periplus.model import CrawlStalled, InvariantError

from .frontier import ActiveSite, SiteStage
from .inputs import Effect, Emit, Fetch
from .machine import Machine

log = logging.getLogger(__name__)

PATIENCE: Final = 30.0
"""Seconds for which a shard must have stood still: longer than any answer of its own disk or coordinator takes."""
_SHARE_OF_A_LOOK: Final = 0.25
"""Share of the patience that the time between two looks may use up: four must see the shard stand still."""
SITES_CHECKED: Final = 8
"""Sites whose invariants are checked at a commit: some 100 microseconds."""
_DEFECTS_LOGGED: Final = 3
"""Defects that a process reports: one that is there at every commit would fill the log."""
_SITES_NAMED: Final = 5
REPORT: Final = "please report this with the log, periplus.toml and the output of `periplus info DIR --json`"


class Standstill:
    """How long a shard has stood still, and whether the repair was tried. `patience` is in the crawl's own time."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._looked_at: float | None = None
        self._stood_for = 0.0
        self._is_repaired = False

    def moved(self, effects: Sequence[Effect]) -> None:
        """Take note of what an input brought about: the shard has moved if a request began or a row was written."""
        for effect in effects:
            if isinstance(effect, Fetch):
                self._looked_at, self._is_repaired = None, False
            elif isinstance(effect, Emit):
                self._looked_at = None

    def is_over_patience(self, now: float, *, is_still: bool) -> bool:
        """Whether the shard has stood still for too long, given whether it does now.

        What passed since the last look counts up to a share of the patience: the machine may have been suspended.
        """
        if not is_still:
            self._looked_at = None
            return False
        if self._looked_at is None:
            self._stood_for = 0.0
        else:
            self._stood_for += min(max(now - self._looked_at, 0.0), self._patience * _SHARE_OF_A_LOOK)
        self._looked_at = now
        return self._stood_for >= self._patience

    def repair(self, machine: Machine) -> None:
        """Record that the repair is tried now. Raises `CrawlStalled` if it was tried before in vain."""
        lines = what_waits(machine)
        if self._is_repaired:
            raise CrawlStalled(
                f"the crawl cannot go on: {'; '.join(lines)}; no request is open and none will become due",
                hint=f"Everything stored is safe, and the same command tries again; {REPORT}",
            )
        log.error("the crawl stood still (%s), and is scheduled again; %s", "; ".join(lines), REPORT)
        self._looked_at, self._is_repaired = None, True


class DefectLog:
    """Checks some sites of a machine at a time, the next ones each time, and logs what does not hold."""

    def __init__(self) -> None:
        self._first = self._logged = 0

    def check(self, machine: Machine) -> None:
        """Check the next sites."""
        try:
            self._first = machine.frontier.check_some(self._first, SITES_CHECKED)
        except InvariantError as error:
            following = self._first + SITES_CHECKED
            self._first = following if following < len(machine.frontier.schedule) else 0
            self._logged += 1
            if self._logged <= _DEFECTS_LOGGED:
                log.error("a defect in the state of the crawl: %s; %s", error, REPORT)


def stands_still(machine: Machine, now: float) -> bool:
    """Whether something waits in a machine although nothing will become due.

    A crawl also stands still where something is due all the time and nothing comes of it. But a watch may wait like
    that for a visit that is worth its price, and a site for others that rest.
    """
    frontier, is_watching = machine.frontier, machine.revisits.is_watching
    if machine.router.is_full or frontier.is_satisfied or machine.wants_tick(now) or machine.is_idle(now):
        return False
    if is_watching and not frontier.queued:
        return False
    times = [at for at in (frontier.next_at, machine.next_step_at) if at is not None]
    if not times:
        return True
    return min(times) <= now and not is_watching and not any(_will_be_due(active, now) for active in frontier.schedule)


def _will_be_due(active: ActiveSite, now: float) -> bool:
    """Whether a site rests until a later time: one that is due may wait for it, as spam waits for other sites."""
    return active.stage is SiteStage.RESTING and active.ready_at > now


def what_waits(machine: Machine) -> list[str]:
    """What waits in a machine, and where it is held up."""
    frontier = machine.frontier
    schedule, leases = frontier.schedule, frontier.leases
    lines = [f"{frontier.queued:,} URLs wait at {len(schedule):,} scheduled sites"]
    held_up = sorted(schedule, key=lambda active: -active.queue_length)
    lines += [_line(active, leases.under_way(active.site)) for active in islice(held_up, _SITES_NAMED)]
    if frontier.scores.pooled:
        lines.append(f"{frontier.scores.pooled:,} URLs wait to be ranked")
    if machine.has_unread or machine.listed:
        lines.append("sitemaps are not read to their end")
    return lines


def _line(active: ActiveSite, under_way: int) -> str:
    return f"{active.site} is {active.stage.name.lower()} with {active.queue_length:,} URLs and {under_way} requests"

"""Asking a site what it allows, before anything else is asked of it.

A site is first located, then asked for its robots.txt. The answer may lead to another site; that one is visited as
politely as any, with an *errand*, while the first is held. What an answer means is said in `robots`.
"""

from __future__ import annotations

from periplus.model import (
    Excluded,
    Failed,
    FetchOutcome,
    FetchTask,
    Lane,
    Located,
    Purpose,
    RobotsFile,
    Site,
    Url,
)
from periplus.urls import site_of

from .politeness import PolitenessSettings, rest_after
from .retries import RetrySettings, reason_of, retry_for
from .robots import MAX_ROBOTS_REDIRECTS, Ask, RobotsGate, next_step, robots_url
from .rounds import Rounds
from .workbench import ActiveSite, Place

MAX_ERRANDS = 1000


class Permission:
    """The conversation with each site about its address and its rules."""

    def __init__(
        self, rounds: Rounds, gate: RobotsGate, *, politeness: PolitenessSettings, retries: RetrySettings
    ) -> None:
        self._rounds = rounds
        self._gate = gate
        self._politeness = politeness
        self._retries = retries
        rounds.on_retired = self._disappoint

    def is_wanted(self, active: ActiveSite, now: float) -> bool:
        """Whether something else must be asked before a page may be."""
        state = active.state
        return bool(active.errands) or state.robots_expire_at <= now or state.ip is None or state.ip_expires_at <= now

    def question(self, active: ActiveSite, now: float) -> FetchTask | None:
        """What is to be asked first: the address, a file for another site, its own; `None` if nobody wants anything."""
        heads = self._rounds.heads(active, 1)
        if not heads and not active.errands:
            return None
        if active.state.ip is None or active.state.ip_expires_at <= now:
            url = heads[0].entry.url if heads else active.errands[0][1]
            return self._task(robots_url(url), active.site, None, 0, now)
        if active.errands:
            wanting, url, redirects = active.errands.popleft()
            return self._task(url, wanting, active.state.ip, redirects, now)
        url = active.robots_at or robots_url(heads[0].entry.url)
        return self._task(url, active.site, active.state.ip, active.robots_redirects, now)

    def _task(self, url: Url, site: Site, ip: str | None, redirects: int, now: float) -> FetchTask:
        ends_at = now + self._politeness.lease
        return FetchTask(url, site, Purpose.ROBOTS, Lane.DISCOVERY, ends_at, ip=ip, redirects=redirects)

    def answered(self, visited: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        """The outcome of a question."""
        if outcome.task.ip is None:
            self._located(visited, outcome, now)
        else:
            self._told(visited, outcome, now)

    def _located(self, active: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        match outcome:
            case Located(ip=ip, expires_at=expires_at):
                active.state.ip, active.state.ip_expires_at = ip, expires_at
                self._rounds.place(active, active.ready_at)
            case Excluded(reason=reason):
                self._rounds.retire(active, reason, now)
            case Failed(reason="cancelled"):
                self._rounds.place(active, active.ready_at)
            case _:
                self._rounds.failed(active, outcome, reason_of(outcome) or "dns-unavailable", now)

    def _told(self, visited: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        reason = reason_of(outcome)
        wanting = self._rounds.bench.get(outcome.task.site)
        if reason == "cancelled" or isinstance(outcome, Excluded):
            self._rounds.place(visited, now)
        else:
            self._rounds.rest(visited, outcome, reason, now)
        if wanting is None:
            return
        wanting.is_expected = False
        if retry_for(reason).again and wanting.robots_tries + 1 < self._retries.max_attempts:
            wanting.robots_tries += reason != "cancelled"
            wanting.robots_at, wanting.robots_redirects = None, 0
            wait = self._rounds.back_off(outcome, wanting.robots_tries, now) if wanting.robots_tries else 0.0
            self._rounds.place(wanting, now + wait)
            return
        step = next_step(wanting.site, outcome, self._gate.file(wanting.site), now)
        if isinstance(step, Ask):
            self._ask(wanting, step, now)
        else:
            self._settle(wanting, step, now)

    def _settle(self, active: ActiveSite, file: RobotsFile, now: float) -> None:
        """The rules of a site are known, for a while."""
        self._gate.learn(file)
        active.state.robots_expire_at = file.expires_at
        active.state.delay = self._gate.delay(active.site)
        active.robots_tries = active.robots_redirects = 0
        active.robots_at = None
        rested_at = now + rest_after(self._politeness, active.state.delay, active.state.last_duration)
        if active.place is Place.HELD:
            self._rounds.place(active, max(now, active.state.ready_at))
        elif active.place is Place.RESTING and active.state.delay:
            self._rounds.place(active, max(active.ready_at, rested_at))

    def _ask(self, wanting: ActiveSite, step: Ask, now: float) -> None:
        other = site_of(step.url)
        if other == wanting.site:
            wanting.robots_at, wanting.robots_redirects = step.url, step.redirects
            if wanting.place is Place.HELD:
                self._rounds.place(wanting, wanting.state.ready_at)
            return
        there = self._rounds.summon(other)
        if there.state.retired or len(there.errands) >= MAX_ERRANDS:
            self._settle(wanting, _unreachable(wanting.site, step.url, now), now)
            return
        there.errands.append((wanting.site, step.url, step.redirects))
        wanting.is_expected = True
        self._rounds.bench.hold(wanting)

    def _disappoint(self, retired: ActiveSite, now: float) -> None:
        """Those who waited for a file from a site that was given up."""
        errands = list(retired.errands)
        retired.errands.clear()
        for site, url, _ in errands:
            wanting = self._rounds.bench.get(site)
            if wanting is not None:
                wanting.is_expected = False
                self._settle(wanting, _unreachable(site, url, now), now)


def _unreachable(site: Site, url: Url, now: float) -> RobotsFile:
    task = FetchTask(url, site, Purpose.ROBOTS, Lane.DISCOVERY, now, redirects=MAX_ROBOTS_REDIRECTS)
    step = next_step(site, Failed(task, "dns-unavailable", now, 0.0), None, now)
    if isinstance(step, Ask):  # pragma: no cover - nobody is asked after a failure
        raise AssertionError(step)
    return step

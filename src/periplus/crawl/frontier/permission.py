"""Asking a site what it allows, before anything else is asked of it.

A site is first located, then asked for its robots.txt. The answer may lead to another site; that one is visited as
politely as any, with an *errand*, while the first is held (unless others have sent it on errands, too: sites that lead
to each other must not wait for each other). What an answer means is said in `robots`.
"""

from __future__ import annotations

from collections.abc import Iterable

from periplus.model import (
    Excluded,
    Failed,
    FetchOutcome,
    FetchTask,
    InvariantError,
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
from .robots import Ask, RobotsGate, next_step, robots_url
from .rounds import Rounds
from .workbench import ActiveSite, Place

LEAST_LOCATED = 30.0
"""An address holds so long, at least: a name server that says "no time at all" would be asked for ever."""


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
            url = active.errands[0][1] if active.errands else heads[0].entry.url
            return self._task(robots_url(url), active.site, None, 0, now)
        if active.errands:
            wanting, url, redirects = active.errands.popleft()
            return self._task(url, wanting, active.state.ip, redirects, now)
        state = active.state
        if state.robots_at is not None and site_of(state.robots_at) != active.site:  # an earlier process was led there
            self._ask(active, Ask(state.robots_at, state.robots_redirects), now)
            return None
        url = state.robots_at or robots_url(heads[0].entry.url)
        return self._task(url, active.site, state.ip, state.robots_redirects, now)

    def _task(self, url: Url, site: Site, ip: str | None, redirects: int, now: float) -> FetchTask:
        """Its lane tells what is wanted of the site, so that who hears the answer after a crash knows it too."""
        ends_at = now + self._politeness.lease
        lane = Lane.DISCOVERY if self._rounds.wants_pages_of(site) else Lane.FILES
        return FetchTask(url, site, Purpose.ROBOTS, lane, ends_at, ip=ip, redirects=redirects)

    def expect(self, visited: ActiveSite, wanting: ActiveSite, url: Url) -> None:
        """An errand of an earlier process is under way already: nobody needs to be sent."""
        visited.errands = type(visited.errands)(
            errand for errand in visited.errands if errand[:2] != (wanting.site, url)
        )
        wanting.is_expected = True
        self._rounds.place(wanting, wanting.state.ready_at)

    def answered(self, visited: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        """The outcome of a question."""
        if outcome.task.ip is None:
            self._located(visited, outcome, now)
        else:
            self._told(visited, outcome, now)

    # the address

    def _located(self, active: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        match outcome:
            case Located(ip=ip, expires_at=expires_at):
                active.state.ip, active.state.ip_expires_at = ip, max(expires_at, now + LEAST_LOCATED)
                active.lookups = 0
                self._rounds.place(active, active.ready_at)
            case Excluded(reason=reason):
                self._rounds.retire(active, reason, now)
            case Failed(reason="cancelled"):
                self._rounds.place(active, active.ready_at)
            case _:
                self._not_located(active, outcome, reason_of(outcome) or "dns-unavailable", now)

    def _not_located(self, active: ActiveSite, outcome: FetchOutcome, reason: str, now: float) -> None:
        """When that goes on, the site is given up; one that has answered before gets more patience."""
        active.lookups += 1
        limit = self._retries.max_site_failures if active.state.pages else self._retries.max_attempts
        if active.lookups >= limit or not retry_for(reason).again:
            self._rounds.retire(active, reason, now)
        else:
            self._rounds.place(active, now + self._rounds.back_off(outcome, active.lookups, now))

    # the rules

    def _told(self, visited: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        reason = reason_of(outcome)
        if isinstance(outcome, Excluded):
            self._rounds.retire(visited, outcome.reason, now)
        else:
            self._rounds.rest(visited, outcome, reason, now)
        wanting = self._rounds.bench.get(outcome.task.site)
        if wanting is None and outcome.task.site == visited.site:  # nothing waits there now, but its word holds
            wanting = self._rounds.summon(visited.site)
        if wanting is None:
            return
        wanting.is_expected = False
        if wanting.state.retired:
            self._wake(wanting, now)
        elif reason == "cancelled":
            self._rounds.place(wanting, max(now, wanting.state.ready_at))
        elif retry_for(reason).again and wanting.state.robots_tries + 1 < self._retries.max_attempts:
            wanting.state.robots_tries += 1
            self._begin_again(wanting, now + self._rounds.back_off(outcome, wanting.state.robots_tries, now))
        else:
            self._follow(wanting, outcome, now)

    def _wake(self, active: ActiveSite, now: float) -> None:
        """A site that was held takes its turn."""
        if active.place is Place.HELD:
            self._rounds.place(active, max(now, active.state.ready_at))

    def _begin_again(self, wanting: ActiveSite, at: float) -> None:
        wanting.state.robots_at, wanting.state.robots_redirects = None, 0
        self._rounds.place(wanting, max(at, wanting.state.ready_at))

    def _follow(self, wanting: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        """An answer that counts: the file, or where it is."""
        step = next_step(wanting.site, outcome, self._gate.file(wanting.site), now)
        if isinstance(step, Ask):
            self._ask(wanting, step, now)
        else:
            self._settle(wanting, step, now)

    def _settle(self, active: ActiveSite, file: RobotsFile, now: float) -> None:
        """The rules of a site are known, for a while. What it asks for holds from now on."""
        self._gate.learn(file)
        state = active.state
        state.robots_expire_at = file.expires_at
        state.delay = self._gate.delay(active.site)
        state.robots_tries = state.robots_redirects = 0
        state.robots_at = None
        self._rounds.keep(active)
        if state.delay:
            rested_at = now + rest_after(self._politeness, state.delay, state.last_duration)
            self._rounds.place(active, max(state.ready_at, rested_at))
        else:
            self._wake(active, now)

    def _ask(self, wanting: ActiveSite, step: Ask, now: float) -> None:
        """The file may be elsewhere: at the same site in its next turn, at another by an errand."""
        other = site_of(step.url)
        wanting.state.robots_at, wanting.state.robots_redirects = step.url, step.redirects
        wanting.is_changed = True
        if other == wanting.site:
            self._wake(wanting, now)
            return
        there = self._rounds.summon(other)
        if there.state.retired:
            self._rounds.place(there, there.ready_at)
            self._refused(wanting, step.url, step.redirects, there.state.retired, now)
            return
        there.errands.append((wanting.site, step.url, step.redirects))
        self._wake(there, now)
        wanting.is_expected = True
        self._rounds.place(wanting, wanting.state.ready_at)

    def _disappoint(self, retired: ActiveSite, now: float) -> None:
        """Those who waited for a file from a site that was given up."""
        errands = list(retired.errands)
        retired.errands.clear()
        for site, url, redirects in errands:
            wanting = self._rounds.bench.get(site)
            if wanting is not None:
                wanting.is_expected = False
                self._refused(wanting, url, redirects, retired.state.retired, now)

    def check_invariants(self, under_way: Iterable[Site]) -> None:
        """A site waits for an answer from elsewhere exactly while somebody is on an errand for it, or is to go."""
        wanting = [*under_way, *(site for active in self._rounds.bench for site, _, _ in active.errands)]
        if len(wanting) != len(set(wanting)):
            raise InvariantError("two errands are under way for one site")
        for active in self._rounds.bench:
            if active.is_expected != (active.site in wanting) and not active.state.retired:
                raise InvariantError(
                    f"{active.site} waits for an answer that nobody will bring, or does not wait for one"
                )

    def _refused(self, wanting: ActiveSite, url: Url, redirects: int, reason: str, now: float) -> None:
        """The file is at a site that cannot be asked."""
        task = FetchTask(url, wanting.site, Purpose.ROBOTS, Lane.DISCOVERY, now, redirects=redirects)
        self._follow(wanting, Failed(task, reason, now, 0.0), now)

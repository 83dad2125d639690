"""The requests to a site before any other: its IP address, then its robots.txt.

The robots.txt may redirect to another site. That one is requested as politely as any, by a *delegated* request, while
the first site is HELD (unless it has delegated requests of others to answer: sites that redirect to each other must not
wait for each other). What an answer means is decided in `robots`.

If the other site belongs to another shard, that shard gets the delegation as a message, makes the request in its turn,
and sends the outcome back; where a redirect leads next is decided by the shard of the first site, so that a chain over
several shards is bounded as any. A shard that has not answered after `ANSWER_TIMEOUT` counts as a failed attempt. An
answer that no site waits for any more is dropped, and so is a question that is being answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from periplus.model import (
    Delegation,
    Excluded,
    Failed,
    FetchOutcome,
    FetchTask,
    InvariantError,
    Lane,
    Located,
    Purpose,
    RobotsAnswer,
    RobotsFile,
    Site,
    Url,
)
from periplus.urls import site_of

from ..settings import PolitenessSettings, RetrySettings
from .heap import IndexedHeap
from .outages import Outages
from .politeness import NO_ANSWER, delay_after, reason_of, retry_for
from .robots import Ask, RobotsGate, next_step, robots_url, to_be_sent
from .schedule import Schedule
from .site import MAX_ADDRESS_AGE, NOT_PAGES, ActiveSite, RequestKind, SiteStage

MIN_ADDRESS_AGE = 30.0
"""Minimum seconds for which an IP address is used, whatever the name server says."""

ANSWER_TIMEOUT = 3600.0
"""Seconds to wait for a robots.txt from another shard. Its site may have a long queue of such requests, or the shard
may have no machine for a while; a shard that stays away for three times this long costs pages."""

MAX_QUESTIONS = 10_000
"""Robots.txt files that may wait at one site when another shard asks for one more: at a request a second about as many
are answered within three times `ANSWER_TIMEOUT`. A question beyond that counts as a failed attempt at once."""

BackOff = Callable[[FetchOutcome, int, float], float]
"""How many seconds to wait after an outcome, the number of failures in a row, and now."""
Finish = Callable[[ActiveSite, FetchOutcome, str, float], None]
"""What happens to a site after a request to it: it rests, or is given up."""


class SitePreflight:
    """Looks up the address and fetches the robots.txt of each site."""

    def __init__(
        self,
        schedule: Schedule,
        gate: RobotsGate,
        *,
        politeness: PolitenessSettings,
        retries: RetrySettings,
        back_off: BackOff,
        outages: Outages,
    ) -> None:
        self._outages = outages
        self._schedule = schedule
        self._gate = gate
        self._politeness = politeness
        self._retries = retries
        self._back_off = back_off
        self._is_elsewhere: Callable[[Site], bool] = lambda _site: False
        self._owing: dict[Site, None] = {}
        self.asked: list[Delegation] = []
        """Questions for other shards, to be sent."""
        self.answers: list[RobotsAnswer] = []
        """Answers for other shards, to be sent."""
        self._deadlines: IndexedHeap[float, Site] = IndexedHeap()
        for active in schedule:
            if active.answer_by:
                self._deadlines.put(active.site, active.answer_by, active.site)

    # questions

    def task(self, active: ActiveSite, request: RequestKind, url: Url, now: float) -> FetchTask | None:
        """The task of a request that is not for a page, where `url` is a URL of the site that waits.

        `None`: another site has to be asked first, and the site was placed.
        """
        record = active.record
        if request is RequestKind.ADDRESS:
            return self._task(robots_url(url), active.site, None, 0, now)
        if request is RequestKind.DELEGATED_ROBOTS:
            wanted = active.delegated.pop(next(iter(active.delegated)))
            self._count_owed(active)
            self._schedule.changed(active)
            return self._task(wanted.url, wanted.wanted_by, record.ip, wanted.redirects, now, wanted.attempt)
        if record.robots_at is not None and site_of(record.robots_at) != active.site:
            self._ask(active, Ask(record.robots_at, record.robots_redirects), now)
            self._schedule.place(active, max(now, record.ready_at))
            return None
        return self._task(record.robots_at or robots_url(url), active.site, record.ip, record.robots_redirects, now)

    def _task(self, url: Url, site: Site, ip: str | None, redirects: int, now: float, attempt: int = 1) -> FetchTask:
        """Attempts are counted, as those of pages are: the wire uses plainer HTTP after the first."""
        wanting = self._schedule.get(site)
        attempt = attempt if wanting is None else wanting.record.robots_tries + 1
        lane = Lane.FILES if wanting is None else _lane(wanting)
        lease_ends = now + self._politeness.lease
        return FetchTask(url, site, Purpose.ROBOTS, lane, lease_ends, attempt=attempt, ip=ip, redirects=redirects)

    def interrupted(self, visited: ActiveSite, task: FetchTask) -> None:
        """Restore a request that was not made, or was under way when the process ended: delegated ones come first."""
        if task.ip is not None and task.site != visited.site:
            first = Delegation(task.site, task.url, task.redirects, task.attempt)
            visited.delegated = {task.site: first, **visited.delegated}
            self._mark_owed(first, visited)
            self._schedule.changed(visited)

    # what other shards ask and answer

    def share_sites(self, is_elsewhere: Callable[[Site], bool]) -> None:
        """Take sites as those of other shards for which `is_elsewhere` is true."""
        self._is_elsewhere = is_elsewhere
        for active in self._schedule:
            if any(map(is_elsewhere, active.delegated)):
                self._owing[active.site] = None

    @property
    def owes_answers(self) -> bool:
        """Whether a site is to be asked for another shard."""
        return bool(self._owing)

    def _mark_owed(self, wanted: Delegation, there: ActiveSite) -> None:
        if self._is_elsewhere(wanted.wanted_by):
            self._owing[there.site] = None

    def _count_owed(self, active: ActiveSite) -> None:
        if active.site in self._owing and not any(map(self._is_elsewhere, active.delegated)):
            del self._owing[active.site]

    def question_received(self, wanted: Delegation, now: float) -> None:
        """Take a question of another shard. One that waits already keeps its turn."""
        there = self._schedule.summon(site_of(wanted.url), now)
        if there.record.retired:
            self._schedule.place(there, there.ready_at)
            self._refuse_elsewhere(wanted, there.record.retired, now)
            return
        if len(there.delegated) >= MAX_QUESTIONS and wanted.wanted_by not in there.delegated:
            self._schedule.place(there, there.ready_at)
            self.answers.append(RobotsAnswer(_not_asked(wanted, NO_ANSWER, now)))
            return
        there.delegated[wanted.wanted_by] = wanted
        self._mark_owed(wanted, there)
        self._schedule.changed(there)
        self._wake(there, now)

    def answer_received(self, answer: RobotsAnswer, now: float) -> FetchOutcome | None:
        """Take the answer of another shard: the outcome, as if the request had been made here, if it was waited for."""
        task = answer.outcome.task
        wanting = self._schedule.get(task.site)
        if wanting is None or not wanting.answer_by or wanting.record.robots_at != task.url:
            return None
        self._stop_waiting(wanting)
        task = replace(task, redirects=wanting.record.robots_redirects, lane=_lane(wanting))
        outcome = replace(answer.outcome, task=task)
        if answer.is_final:
            self._follow(wanting, outcome, now)
        else:
            self._conclude(wanting, outcome, reason_of(outcome), now)
        return outcome

    def awaits_answer(self, wanted: Delegation) -> bool:
        """Whether the site of a question for another shard still waits for its answer."""
        wanting = self._schedule.get(wanted.wanted_by)
        return wanting is not None and wanting.answer_by > 0.0 and wanting.record.robots_at == wanted.url

    @property
    def next_deadline(self) -> float | None:
        """When the first answer of another shard is late."""
        return self._deadlines.first

    def end_waiting(self, now: float) -> None:
        """End every wait for an answer that is late."""
        while (site := self._deadlines.pop_until(now)) is not None:
            wanting = self._schedule.get(site)
            if wanting is not None and wanting.record.robots_at is not None:
                self._stop_waiting(wanting)
                url, redirects = wanting.record.robots_at, wanting.record.robots_redirects
                late = _not_asked(Delegation(site, url, redirects), NO_ANSWER, now)
                self._conclude(wanting, late, NO_ANSWER, now)

    def _stop_waiting(self, wanting: ActiveSite) -> None:
        wanting.awaits_robots, wanting.answer_by = False, 0.0
        self._deadlines.drop(wanting.site)
        self._schedule.changed(wanting)

    def _wait_for_shard(self, wanting: ActiveSite, now: float) -> None:
        wanting.awaits_robots, wanting.answer_by = True, now + ANSWER_TIMEOUT
        self._deadlines.put(wanting.site, wanting.answer_by, wanting.site)
        self._schedule.changed(wanting)

    def _refuse_elsewhere(self, wanted: Delegation, reason: str, now: float) -> None:
        self.answers.append(RobotsAnswer(_not_asked(wanted, reason, now), is_final=True))

    def restart(self, now: float) -> None:
        """Continue in a new process: other shards have as long to answer as at first."""
        for active in self._schedule:
            if active.answer_by:
                self._wait_for_shard(active, now)

    def adopted(self, outcome: FetchOutcome, now: float, finish: Finish) -> None:
        """Take an archived answer: that of another shard, or to a request that does not wait here any more."""
        task = outcome.task
        if self._is_elsewhere(site_of(task.url)):
            self.answer_received(RobotsAnswer(outcome), now)
            return
        visited = self._schedule.summon(site_of(task.url), now)
        if visited.delegated.pop(task.site, None) is not None:
            self._count_owed(visited)
            self._schedule.changed(visited)
        self.answered(visited, outcome, now, finish)

    # the address

    def located(self, active: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        """Handle the outcome of a DNS lookup, or of a request to an address that is to be made to another one."""
        match outcome:
            case Located(task=task, ip=ip, expires_at=expires_at):
                self.interrupted(active, task)
                active.record.ip, active.record.ip_expires_at = ip, _address_expiry(expires_at, now)
                active.lookups = 0
                self._schedule.place(active, active.ready_at)
            case Excluded(reason=reason):
                self.give_up(active, reason, now)
            case Failed(reason="cancelled"):
                self._schedule.place(active, active.ready_at)
            case _:
                self._not_located(active, outcome, reason_of(outcome) or "dns-unavailable", now)

    def _not_located(self, active: ActiveSite, outcome: FetchOutcome, reason: str, now: float) -> None:
        """When that goes on, the site is given up; one that has answered before gets more attempts."""
        active.lookups += 1
        limit = self._retries.max_site_failures if active.record.pages else self._retries.max_attempts
        limit = limit if self._outages.of(active.site) is None else 1
        if active.lookups >= limit or not retry_for(reason).again:
            self.give_up(active, reason, now)
        else:
            self._schedule.place(active, now + self._back_off(outcome, active.lookups, now))

    # the rules

    def answered(self, visited: ActiveSite, outcome: FetchOutcome, now: float, finish: Finish) -> None:
        """Handle the outcome of a request for a robots.txt, which may be that of another site."""
        reason, task = reason_of(outcome), outcome.task
        is_for_other_shard = task.site != visited.site and self._is_elsewhere(task.site)
        if is_for_other_shard and reason == "cancelled":
            self.interrupted(visited, task)
        if isinstance(outcome, Excluded):
            self.give_up(visited, outcome.reason, now)
        else:
            finish(visited, outcome, reason, now)
        if is_for_other_shard:
            if reason != "cancelled":
                self.answers.append(RobotsAnswer(to_be_sent(outcome)))
            return
        wanting = self._schedule.get(task.site)
        if wanting is None and task.site == visited.site:  # nothing waits there now, but its rules hold
            wanting = self._schedule.summon(visited.site, now)
        if wanting is not None:
            self._stop_waiting(wanting)
            self._conclude(wanting, outcome, reason, now)

    def _conclude(self, wanting: ActiveSite, outcome: FetchOutcome, reason: str, now: float) -> None:
        """Handle the outcome of a request for the robots.txt of a site that does not wait for it any more."""
        if wanting.record.retired:
            self._wake(wanting, now)
        elif reason == "cancelled":
            self._schedule.place(wanting, max(now, wanting.record.ready_at))
        elif (
            retry_for(reason).again
            and wanting.record.robots_tries + 1 < self._retries.max_attempts
            and self._outages.of(wanting.site) is None
        ):
            wanting.record.robots_tries += 1
            self._begin_again(wanting, now + self._back_off(outcome, wanting.record.robots_tries, now))
        else:
            self._follow(wanting, outcome, now)

    def _wake(self, active: ActiveSite, now: float) -> None:
        """Wake a site that was held: it takes its turn."""
        if active.stage is SiteStage.HELD:
            self._schedule.place(active, max(now, active.record.ready_at))

    def _begin_again(self, wanting: ActiveSite, at: float) -> None:
        wanting.record.robots_at, wanting.record.robots_redirects = None, 0
        self._schedule.place(wanting, max(at, wanting.record.ready_at))

    def _follow(self, wanting: ActiveSite, outcome: FetchOutcome, now: float) -> None:
        """Handle an answer that counts: the file, or where it is."""
        step = next_step(wanting.site, outcome, self._gate.file(wanting.site), now)
        if isinstance(step, Ask):
            self._ask(wanting, step, now)
        else:
            self._settle(wanting, step, now)

    def _settle(self, active: ActiveSite, file: RobotsFile, now: float) -> None:
        """Store the rules of a site. The delay it asks for holds from now on."""
        self._gate.learn(file)
        record = active.record
        record.robots_expire_at = file.expires_at
        record.delay = self._gate.delay(active.site)
        record.robots_tries = record.robots_redirects = 0
        record.robots_at = None
        self._schedule.changed(active)
        if record.delay:
            rested_at = now + delay_after(self._politeness, record.delay, record.last_duration)
            self._schedule.place(active, max(record.ready_at, rested_at))
        else:
            self._wake(active, now)

    def _ask(self, wanting: ActiveSite, step: Ask, now: float) -> None:
        """The file may be elsewhere: at the same site in its next turn, at another by a delegated request."""
        other = site_of(step.url)
        wanting.record.robots_at, wanting.record.robots_redirects = step.url, step.redirects
        self._schedule.changed(wanting)
        if other == wanting.site:
            self._wake(wanting, now)
            return
        if self._is_elsewhere(other):
            self.asked.append(Delegation(wanting.site, step.url, step.redirects, wanting.record.robots_tries + 1))
            self._wait_for_shard(wanting, now)
            self._schedule.place(wanting, wanting.record.ready_at)
            return
        there = self._schedule.summon(other, now)
        if there.record.retired:
            self._schedule.place(there, there.ready_at)
            self._refused(wanting, step.url, step.redirects, there.record.retired, now)
            return
        there.delegated[wanting.site] = Delegation(wanting.site, step.url, step.redirects)
        self._schedule.changed(there)
        self._wake(there, now)
        wanting.awaits_robots = True
        self._schedule.place(wanting, wanting.record.ready_at)

    def _refused(self, wanting: ActiveSite, url: Url, redirects: int, reason: str, now: float) -> None:
        """Handle a file at a site that cannot be reached."""
        self._follow(wanting, _not_asked(Delegation(wanting.site, url, redirects), reason, now), now)

    # the end of a site

    def give_up(self, active: ActiveSite, reason: str, now: float) -> None:
        """Give up a site: waiting URLs are refused with the reason, and so are delegated requests."""
        active.record.retired = reason
        if retry_for(reason).again:
            self._outages.given_up(active.record, reason, now)
        self._stop_waiting(active)
        delegated = list(active.delegated.values())
        active.delegated.clear()
        self._count_owed(active)
        for wanted in delegated:
            wanting = self._schedule.get(wanted.wanted_by)
            if self._is_elsewhere(wanted.wanted_by):
                self._refuse_elsewhere(wanted, reason, now)
            elif wanting is not None:
                wanting.awaits_robots = False
                self._schedule.changed(wanting)
                self._refused(wanting, wanted.url, wanted.redirects, reason, now)
        self._schedule.place(active, now)

    def check_invariants(self, under_way: Iterable[Site]) -> None:
        """Check that a site awaits another's answer exactly while a delegated request for it waits or is under way."""
        delegated = [*under_way, *(site for active in self._schedule for site in active.delegated)]
        wanting = [site for site in delegated if not self._is_elsewhere(site)]
        wanting += [active.site for active in self._schedule if active.answer_by]
        if len(wanting) != len(set(wanting)):
            raise InvariantError("two delegated requests are made for one site")
        for active in self._schedule:
            if active.awaits_robots != (active.site in wanting) and not active.record.retired:
                raise InvariantError(f"{active.site} awaits an answer that will never come, or does not await one")
            if (self._deadlines.key(active.site) or 0.0) != active.answer_by:
                raise InvariantError(f"{active.site} waits for another shard without an end, or for none")


def _lane(wanting: ActiveSite) -> Lane:
    """Whether pages of a site are wanted, or only files: whether its sitemaps matter."""
    return Lane.DISCOVERY if any(lane not in NOT_PAGES for lane in wanting.waiting) else Lane.FILES


def _not_asked(wanted: Delegation, reason: str, now: float) -> Failed:
    """The outcome of a request that is not made."""
    task = FetchTask(wanted.url, wanted.wanted_by, Purpose.ROBOTS, Lane.DISCOVERY, now, redirects=wanted.redirects)
    return Failed(task, reason, now, 0.0)


def _address_expiry(expires_at: float, now: float) -> float:
    """Until when an address is used; one that claims to last longer than any may would be looked up every time."""
    if expires_at == math.inf:  # in simulations nothing expires
        return expires_at
    return min(max(expires_at, now + MIN_ADDRESS_AGE), now + MAX_ADDRESS_AGE)

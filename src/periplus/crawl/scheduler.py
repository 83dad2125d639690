"""The brain of a shard: what is known of URLs and sites, and who is visited next. `discover`, `take`, `report`.

Everything enters by `discover`: filters first, then the seen test, then a place in the queue of its site. `take` lends
out what politeness allows, the most wanted first. `report` ends the loan. All of it is pure: the state it works on was
given, time is an argument, chance is a seeded `Random`; so the simulator and the crawler run the same lines (Olston &
Najork 2010 section 2 has the parts; Castillo et al. 2004 the two levels).

A URL keeps its place in its queue until its outcome is reported, so whoever opens the state after a crash finds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from periplus.content import ChurnSettings
from periplus.model import (
    Discovery,
    EventSink,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Guard,
    InvariantError,
    Lane,
    Learning,
    NotModified,
    Ordering,
    Purpose,
    Ranking,
    Reading,
    Site,
    State,
    Ticket,
    Url,
    UrlRecord,
)
from periplus.policy.balance import BalanceSettings
from periplus.policy.refresh import RefreshSettings, Weigher
from periplus.urls import site_of

from .census import Census, taken
from .frontier import (
    EXCLUDED_AT_ONCE,
    OUR_OWN,
    SOON,
    ActiveSite,
    AddressClaims,
    Admission,
    Comparer,
    Esteem,
    Files,
    FrontierSettings,
    Lease,
    Leases,
    Offers,
    Permission,
    PolitenessSettings,
    Refresher,
    RetrySettings,
    RobotsGate,
    Rounds,
    SecondChances,
    Sources,
    Watching,
    after_failure,
    after_visit,
    is_tried_again,
    place_of,
    reason_of,
    retry_for,
)

_RELEASED_AT_ONCE = 1000
_EXCLUDED_A_TAKE = 2000
"""When so many URLs were refused, those who wait for the answer get it, and the rest is refused next time."""


class CrawlScheduler:
    """The `Scheduler` of a shard. `allowance` is how many pages it may fetch in all; `None`: any number."""

    def __init__(
        self,
        state: State,
        *,
        guard: Guard,
        ordering: Ordering,
        events: EventSink,
        agent: str,
        random: Random,
        politeness: PolitenessSettings | None = None,
        retries: RetrySettings | None = None,
        frontier: FrontierSettings | None = None,
        balance: BalanceSettings | None = None,
        register: AddressClaims | None = None,
        refresh: RefreshSettings | None = None,
        churn: ChurnSettings | None = None,
        watching: Watching | None = None,
        weigh: Weigher | None = None,
        pages_done: int = 0,
        allowance: int | None = None,
    ) -> None:
        self._state = state
        self._events = events
        self._guard = guard
        self._politeness = politeness or PolitenessSettings()
        self._retries = retries or RetrySettings()
        self._gate = RobotsGate(state.robots, agent)
        self._leases = Leases()
        self._rounds = Rounds(
            state,
            events=events,
            random=random,
            guard=guard,
            ordering=ordering,
            politeness=self._politeness,
            retries=self._retries,
            capacity=(frontier or FrontierSettings()).max_sites,
            balance=balance,
            register=register,
        )
        self._sources = Sources(self._rounds)
        self.files = Files(state, self._rounds)
        self._esteem: Esteem | None = None
        if isinstance(ordering, Learning | Ranking):
            self._esteem = Esteem(state, self._rounds, ordering, is_out=self._leases.holds, pages=pages_done)
        self.refresher = Refresher(
            state, self._rounds, refresh, watching=watching, weigh=weigh, churn=churn, random=random
        )
        self.comparer = Comparer(churn, recall=self._rounds.churn_of, note=self._rounds.note_churn)
        self._admission = Admission(
            state, guard=guard, ordering=ordering, events=events, esteem=self._esteem, refresher=self.refresher
        )
        self._chances = SecondChances(
            state, self._rounds, self._admission, politeness=self._politeness, esteem=self._esteem
        )
        self._permission = Permission(self._rounds, self._gate, politeness=self._politeness, retries=self._retries)
        self._offers = Offers(
            self._rounds,
            self._sources,
            self.refresher,
            guard=guard,
            gate=self._gate,
            politeness=self._politeness,
            retries=self._retries,
            esteem=self._esteem,
        )
        self.pages_done = pages_done
        self.allowance = allowance
        self._pages_out = 0
        self._excluded = 0
        self._failed_before: dict[Url, tuple[Lease, FetchOutcome, int, float]] = {}

    def discover(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Learn of URLs. Known ones gain a source; refused ones are recorded with their rule."""
        pages = self.files.sort_out(discoveries, now)
        self._rounds.call([*self._chances.give(pages, now), *self._admission.admit(pages)])

    def tries_again(self, record: UrlRecord, reason: str) -> bool:
        """Whether a URL whose last attempt ended like this is tried again by itself."""
        return is_tried_again(self._retries, reason, record.failures)

    def note_priorities(self, site: Site, said: bytes) -> None:
        """What a site has said of priorities is kept with the site."""
        self._rounds.note_priorities(site, said)

    @property
    def learns(self) -> bool:
        """Whether every link matters, also one to a URL that is known."""
        return self._esteem is not None

    @property
    def keeps_links(self) -> bool:
        """Whether every link matters by itself, and must name the page it is on; or their gains may be added up."""
        return self._esteem is not None and self._esteem.keeps_links

    def pass_on(self, url: Url, links: int) -> float:
        """A page with so many links was read: what each URL that it leads to gains by that (`Discovery.gain`)."""
        return 0.0 if self._esteem is None else self._esteem.pass_on(url, links)

    def take(self, limit: int, now: float) -> list[FetchTask]:
        """Lend out at most `limit` tasks that politeness allows now. An empty list is an answer."""
        for lease in self._leases.expired(now):
            self._lose(lease, now)
        self._release(now)
        self._rounds.call(self.refresher.release(now))
        if self._esteem is not None and self._esteem.is_due:
            self._esteem.rank()
        self._rounds.refill(now)
        self._excluded = 0
        tasks: list[FetchTask] = []
        while len(tasks) < limit and self._excluded < _EXCLUDED_A_TAKE and not self.is_satisfied:
            active = self._rounds.bench.pop_ready(now)
            if active is None:
                break
            tasks += self._visit(active, limit - len(tasks), now)
        if not tasks and limit:
            self.refresher.idled(now)
        return tasks

    def _release(self, now: float) -> bool:
        """Let what waited for a time wait for its site; whether there was any."""
        due_at = self._state.queues.next_release()
        if due_at is None or due_at > now:
            return False
        tickets = self._state.queues.release(now, _RELEASED_AT_ONCE)
        if self._esteem is not None:
            self._esteem.released([ticket for ticket in tickets if ticket.entry.lane is not Lane.FILES])
        self._rounds.call([ticket.entry for ticket in tickets])
        return True

    @property
    def is_satisfied(self) -> bool:
        """Whether all that was allowed has been fetched, or is under way."""
        return self.allowance is not None and self.pages_done + self._pages_out >= self.allowance

    def _visit(self, active: ActiveSite, limit: int, now: float) -> list[FetchTask]:
        """What is asked of a site that may be visited now."""
        if active.state.retired:
            self._excluded += self._rounds.drain(active, now)
            return []
        if not self._permission.is_wanted(active, now):
            return self._lend_pages(active, min(limit, self._politeness.max_parallel), now)
        question = self._permission.question(active, now)
        if question is None:
            self._rounds.place(active, now)
            return []
        return [self._lend(active, Lease(question, None, active.site), now)]

    def _lend_pages(self, active: ActiveSite, limit: int, now: float) -> list[FetchTask]:
        tasks: list[FetchTask] = []
        excluded = 0
        while len(tasks) < limit and excluded < EXCLUDED_AT_ONCE and not self.is_satisfied:
            heads = self._offers.heads(active, frozenset(task.url for task in tasks) if tasks else frozenset())
            if not heads:
                break
            active.level = self._rounds.urgency(heads[-1].entry)
            found = self._offers.examined(active, heads[0], now)
            if found is None:
                excluded += 1
                continue
            self._offers.took(active, heads[0].entry, found[1], now)
            tasks.append(self._lend(active, Lease(found[0], heads[0], active.site), now))
        self._excluded += excluded
        if not tasks:
            self._rounds.place(active, now + SOON)
        return tasks

    def _lend(self, active: ActiveSite, lease: Lease, now: float) -> FetchTask:
        self._leases.grant(lease)
        active.flying += 1
        self._pages_out += lease.is_of_page
        self._rounds.bench.visit(active, lease.task.ip, now)
        return lease.task

    def report(self, outcome: FetchOutcome, now: float, reading: Reading | None = None) -> None:
        """End a lease: the site rests, and what was seen is learnt. A report that comes too late changes nothing."""
        lease = self._leases.end(outcome.task)
        if lease is not None:
            self._end(lease, outcome, reading, now)

    def _lose(self, lease: Lease, now: float) -> None:
        """Whoever had this is lost: a failed attempt like others, or what kills its fetcher would be tried for ever."""
        outcome = Failed(lease.task, "lost", now, 0.0, ip=lease.task.ip)
        self._events.record([FetchEnded(outcome, now)])
        self._end(lease, outcome, None, now)

    def _end(self, lease: Lease, outcome: FetchOutcome, reading: Reading | None, now: float) -> None:
        active = self._rounds.bench.get(lease.visited)
        if active is None:
            raise InvariantError(f"{lease.visited} was visited but is not at hand")
        active.flying -= 1
        if lease.ticket is None:
            self._permission.answered(active, outcome, now)
        else:
            self._pages_out -= lease.is_of_page
            self._page_answered(active, lease, lease.ticket, outcome, reading, now)

    def _page_answered(
        self,
        active: ActiveSite,
        lease: Lease,
        ticket: Ticket,
        outcome: FetchOutcome,
        reading: Reading | None,
        now: float,
    ) -> None:
        reason = reason_of(outcome)
        if isinstance(outcome, Excluded):
            self._rounds.forgo(active, ticket, outcome.reason)
            self._rounds.retire(active, outcome.reason, now)
            return
        if reason not in OUR_OWN:
            record, retry = self._rounds.known(ticket.entry), retry_for(reason)
            if is_tried_again(self._retries, reason, record.failures + 1):
                self._state.records.put([after_failure(record, outcome, reason)])
                if lease.is_resumed and not retry.is_of_site:
                    self._failed_before[ticket.entry.url] = lease, outcome, record.failures + 1, now
                elif not retry.is_of_site:
                    self._set_aside(active, ticket, outcome, record.failures + 1, now)
            else:
                self._rounds.remove(active, ticket)
                after = after_visit(record, outcome, reading, reason)
                if outcome.task.purpose is Purpose.PAGE:
                    after = self.refresher.visited(active, record, after, outcome, reading, now)
                self._state.records.put([after])
                self._learn(outcome, reading, reason)
                self._sources.learnt(active, outcome, reading, reason)
        self._rounds.rest(active, outcome, reason, now)

    def _set_aside(self, active: ActiveSite, ticket: Ticket, outcome: FetchOutcome, failures: int, now: float) -> None:
        """A URL waits for its next attempt while others of its site go on.

        Where the site is to blame it keeps its place instead, and the site is left alone. So does one whose outcome
        another process saw: what came of the next attempt may have been seen as well, and finds it in its place.
        """
        self._rounds.remove(active, ticket)
        self._state.queues.postpone([(now + self._rounds.back_off(outcome, failures, now), ticket.entry)])

    def _learn(self, outcome: FetchOutcome, reading: Reading | None, reason: str) -> None:
        if reason or not isinstance(outcome, NotModified | Fetched) or outcome.task.purpose is not Purpose.PAGE:
            return
        self.pages_done += 1
        if self._esteem is not None:
            self._esteem.pages = self.pages_done
        if isinstance(outcome, Fetched) and outcome.task.visited_at is None:  # who comes back finds what it knows
            self._guard.observe(outcome.task.url, reading is not None and not reading.is_copy)

    def resume(self, task: FetchTask, now: float) -> bool:
        """Lend a task again that was out when a process ended, to be reported at once; or say that it was not out."""
        while self._release(now):
            pass
        self._failed_before.pop(task.url, None)
        ticket = None if task.purpose is Purpose.ROBOTS else self._ticket(task) or self._ticket_again(task, now)
        if ticket is None and task.purpose is not Purpose.ROBOTS:
            return False
        visited = self._rounds.summon(site_of(task.url))
        if task.site != visited.site:
            self._permission.expect(visited, self._rounds.summon(task.site), task.url)
        self._lend(visited, Lease(task, ticket, visited.site, is_resumed=True), now)
        return True

    def decide_again(self, site: Site, now: float) -> None:
        """Before a task of this site is resumed: refuse what had to be refused before it was lent."""
        self._offers.decide_again(site, now)

    def resumed(self) -> None:
        """All that another process saw was gone through: what failed last waits for its next attempt."""
        for lease, outcome, failures, at in self._failed_before.values():
            ticket = self._ticket(lease.task)
            if ticket is not None:
                active = self._rounds.summon(lease.visited)
                self._set_aside(active, ticket, outcome, failures, at)
                self._rounds.place(active, active.ready_at)
        self._failed_before.clear()

    def _ticket(self, task: FetchTask) -> Ticket | None:
        """The place that a URL keeps in its queue. Esteem knows that of pages which wait for their first visit."""
        if self._esteem is None or task.lane in (Lane.FILES, Lane.REFRESH):
            return place_of(self._state.queues, task)
        return self._esteem.recall(task.url)

    def _ticket_again(self, task: FetchTask, now: float) -> Ticket | None:
        """What brought this URL to its queue was lost with the process: a time that had come, a list on its way."""
        if task.lane is Lane.REFRESH:
            self._rounds.call(self.refresher.recall(task.url))
        elif task.lane is Lane.FILES:
            self.files.queue([task.url], now)
        elif task.lane is Lane.SITEMAPS and self._state.records.get([task.url])[0] is None:
            self.discover([Discovery(task.url, task.source, now, task.depth, redirects=task.redirects)], now)
        return self._ticket(task)

    def save(self) -> None:
        """Write what is known of the sites at hand to the state; the caller commits."""
        self._rounds.save()
        self.refresher.save()

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is under way; or all that was allowed has been fetched. Who watches is never."""
        if len(self._leases) or self.refresher.is_watching:
            return False
        is_empty = len(self._state.queues) == 0 and len(self._rounds.bench) == 0
        return self.is_satisfied or (is_empty and self._pooled == 0)

    @property
    def _pooled(self) -> int:
        return 0 if self._esteem is None else self._esteem.pooled

    @property
    def next_at(self) -> float | None:
        """When `take` may have something to give again; `None`: not before something is reported or discovered."""
        if self.is_satisfied:
            return self._leases.next_end
        if self._rounds.is_short or (self._esteem is not None and self._esteem.is_due):
            return 0.0
        waits = self._state.queues.next_release(), self.refresher.next_at()
        times = (self._rounds.bench.next_at, self._leases.next_end, *waits)
        return min((at for at in times if at is not None), default=None)

    def census(self) -> Census:
        """The frontier in numbers."""
        return taken(self._state, self._rounds, done=self.pages_done, pooled=self._pooled)

    def check_invariants(self) -> None:
        """What must hold between any two calls."""
        self._rounds.check_invariants()
        self._permission.check_invariants(lease.task.site for lease in self._leases if lease.task.site != lease.visited)
        flying = Counter(lease.visited for lease in self._leases)
        for active in self._rounds.bench:
            if active.flying != flying.pop(active.site, 0) or active.flying > self._politeness.max_parallel:
                raise InvariantError(f"{active.site} has {active.flying} requests under way, but other leases")
        if flying:
            raise InvariantError(f"{next(iter(flying))} is visited but not at hand")
        if self._pages_out != sum(lease.is_of_page for lease in self._leases):
            raise InvariantError("pages under way were miscounted")

"""The frontier of a shard: which URLs are known, which wait, and which is fetched next.

Everything enters by `discover`: filters, then the seen test, then a place in the queue of its site. `take` grants tasks
that politeness allows now, the most wanted first. `report` ends a grant. It is pure: the state it works on was given,
time is an argument, chance is a seeded `Random`; so the simulator and the crawler run the same lines (Olston & Najork
2010 section 2 has the parts; Castillo et al. 2004 the two levels). What it holds in memory is in rows or in
`FrontierState`: one opened after `flush` decides as the one that was flushed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from periplus.model import (
    BodyReading,
    Delegation,
    Discovery,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    InvariantError,
    Lane,
    Learning,
    Located,
    NotModified,
    Probe,
    Purpose,
    Queued,
    Ranking,
    Redirected,
    RobotsAnswer,
    Site,
    Source,
    Ticket,
    Url,
    UrlRecord,
)

from .admission import Admission
from .adoption import Adoption
from .desk import FrontierDesk
from .discounts import Discounts
from .domains import Domains
from .frontier_state import FrontierState
from .leases import Lease, Leases
from .outages import Outages
from .politeness import NO_CONNECTION, NO_SERVER, Setbacks, is_temporary, is_tried_again, reason_of, seconds_of
from .preflight import SitePreflight
from .reach import UNREACHED, Before
from .reports import Reports
from .revisiting import ToldPage
from .robots import RobotsGate
from .schedule import Schedule
from .scores import FixedScores, PriorityIndex, Scores
from .selection import CandidateSelector, queued_files, queued_probes, unknown_robots
from .site import ActiveSite, RequestKind
from .steering import Preview, Steering, preview, to_be_raised

_RELEASED_TOGETHER = 1000
"""Postponed URLs that return to their queues in one `take`."""
_PAUSE_WHEN_SATISFIED = 5.0
"""Seconds for which sites rest that come before one that is asked for another shard, after the page budget is spent."""
_PROBED_TOGETHER = 100
"""Sites that are down of which one `take` asks for a page."""
_PROBED_AT_ONCE = 1_000
"""The same at the start of a process; the others follow in the next run, or while it watches."""
_REFUSED_PER_TAKE = 2000
"""Number of refusals after which `take` returns, so that the caller does not wait."""
REFUSED_PER_VISIT = 200
"""URLs of a site that are refused in one step, so that a site with a million of them does not hold up the others."""
SOON = 0.01
"""Seconds after which a site that was not finished in such a step continues."""


class Frontier:
    """Discover, take, report."""

    def __init__(self, desk: FrontierDesk, saved: FrontierState | None = None) -> None:
        saved, rules = saved or FrontierState(), desk.rules
        if saved.random is not None:
            desk.random.setstate(saved.random)
        self._state, self._records, self._random = desk.state, desk.records, desk.random
        self._revisits, self._is_revisits_only = desk.revisits, rules.revisits_only
        self._events, self._guard = desk.events, desk.guard
        self.politeness = self._politeness = rules.politeness
        self._retries = rules.retries
        self._page_budget = saved.page_budget
        self.is_spent = saved.is_spent
        """Whether all shards together have fetched what they may."""
        self.leases = self._leases = Leases(saved.leases)
        self._pages_out, self._refused = sum(lease.is_of_page for lease in saved.leases), 0
        self.gate = RobotsGate(desk.state.robots, rules.agent)
        budgets = None if rules.revisits_only else rules.budgets
        domains = Domains(desk.state.domains, budgets, suffixes=rules.suffixes, seeds=rules.seeds, saved=saved.passes)
        self.schedule = Schedule(desk, domains, self._leases.under_way, saved)
        self.schedule.addresses.resume(lease.task.ip for lease in saved.leases if lease.task.ip is not None)
        self.scores: Scores = FixedScores(desk.state)
        if isinstance(desk.ordering, Learning | Ranking):
            is_out, pages = self._leases.holds, saved.pages_done
            self.scores = PriorityIndex(desk.state, desk.ordering, is_out=is_out, pages=pages, saved=saved.scores)
        self.scores.queued_twice = saved.queued_twice
        self.reach = saved.reach
        self.steering = self.scores.steering = Steering(saved.steering)
        self._admission = Admission(desk, self.schedule, self.scores, self.steering)
        self.setbacks = Setbacks(self._retries, desk.random)
        self.outages = Outages(desk)
        self._asks_sites_down = saved.asks_sites_down
        self.preflight = self._preflight = SitePreflight(
            self.schedule,
            self.gate,
            politeness=self._politeness,
            retries=self._retries,
            back_off=self.setbacks.wait,
            outages=self.outages,
        )
        self.selector = self._selector = CandidateSelector(desk, self.schedule, self.scores, self.gate, self.steering)
        self._selector.revisits_waiting = saved.revisits_waiting
        self._selector.embedded_waiting = saved.embedded_waiting
        self.renamed = self._selector.renamed
        self._recovered: dict[Site, None] = {}
        self.embeds = False
        """Whether files that pages embed are fetched."""
        self._reports = Reports(
            desk,
            self.schedule,
            self._selector,
            self._preflight,
            self.scores,
            back_off=self.setbacks.wait,
            outages=self.outages,
            pages_done=saved.pages_done,
        )
        self._adoption = Adoption(
            desk.state,
            self.schedule,
            self._selector,
            self._preflight,
            self._reports,
            self.scores,
            discover=self.discover,
            queued=self._queued,
        )

    def flush(self) -> FrontierState:
        """Write every changed row to the state, and return the rest of what must be committed with it."""
        for site, traps in self._guard.changed():
            record = self._records.get(site)
            record.traps = traps
            self._records.changed(record)
        self.schedule.flush()
        return FrontierState(
            self.pages_done,
            self.page_budget,
            self.schedule.is_crowded or self._is_revisits_only,  # then sites with other URLs are not active
            self._selector.revisits_waiting,
            list(self._leases),
            self.scores.snapshot() if self.scores.learns else None,
            self._random.getstate(),
            self.schedule.rests_until,
            self.schedule.turn,
            self.scores.queued_twice,
            self.steering.state,
            self.schedule.domains.state,
            self._selector.embedded_waiting,
            self.schedule.is_for_embedded,
            self.is_spent,
            self.reach,
            self._asks_sites_down,
        )

    # discover

    def discover(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Add discovered URLs. Known ones gain a source; refused ones are reported with their rule."""
        pages = self._queue_robots(discoveries, now)
        queued = [*self._admission.retry_unreachable(pages, now), *self._admission.admit(pages, self.page_budget)]
        if told := self._revisits.told():
            queued += self._queue_told(told)
        self._queued(queued, now)

    def gain(self, gains: Mapping[Url, float]) -> list[Url]:
        """Count links to URLs that were linked to before; which of them have no score here."""
        absent = self.scores.gain(gains)
        self._queued((), 0.0)
        return absent

    def _queue_told(self, told: Sequence[ToldPage]) -> list[Queued]:
        """Queue pages that were reported as changed; one that waits already moves up to its new level."""
        new = [each.entry for each in told if not each.is_waiting]
        self._state.queues.push(new)
        for entry in [each.entry for each in told if each.is_waiting]:
            length = self._state.queues.length(entry.site, Lane.REFRESH)
            heads = self._state.queues.heads(entry.site, Lane.REFRESH, length)
            ticket = next((head for head in heads if head.entry.url == entry.url), None)
            if ticket is not None and entry.level < ticket.entry.level and not self._leases.holds(entry.url):
                self._state.queues.remove([ticket])
                self._state.queues.push([entry])
                self.schedule.raise_level(entry.site, entry.level)
        return new

    def _queue_robots(self, discoveries: Sequence[Discovery], now: float) -> Sequence[Discovery]:
        """Queue robots.txt files that were not requested yet; return the discoveries of pages."""
        if all(discovery.purpose is Purpose.PAGE for discovery in discoveries):
            return discoveries
        self.queue_files(unknown_robots(self._state.records, discoveries), now)
        return [discovery for discovery in discoveries if discovery.purpose is Purpose.PAGE]

    def forgo_renamed(self, read: Mapping[Url, UrlRecord], rule: str) -> None:
        """Do not fetch these URLs, which are other names of pages that were read, until the rule is withdrawn."""
        self._admission.forgo_renamed(read, rule)

    def requeue_renamed(self, site: Site, now: float) -> None:
        """Queue URLs again that were renamed while they waited, after the rule for duplicate URLs was withdrawn."""
        self._queued([*self._admission.retry_renamed(site)], now)

    def requeue_refused(self, sites: Sequence[Site], now: float) -> None:
        """Queue URLs of sites again that a verdict had refused, after it has fallen."""
        for site in sites:
            self._queued([*self._admission.retry_refused(site)], now)

    def queue_files(self, urls: Sequence[Url], now: float) -> None:
        """Queue sitemap files. They are not discoveries: what named them reports that itself."""
        self._queued(queued_files(self._state, urls, now), now)

    def expire_robots(self, site: Site) -> None:
        """Have the robots.txt of a site read again before anything else is fetched from it."""
        record = self._records.get(site)
        record.robots_expire_at = 0.0
        self._records.changed(record)

    def queue_embedded(self, found: Sequence[Discovery], now: float, *, again: bool = False) -> None:
        """Queue files that pages embed, each once. They are not discoveries, and do not count as pages.

        With `again` also those that were fetched before.
        """
        self._queued(self._selector.queue_embedded(found, again=again), now)

    def queue_probes(self, probes: Sequence[Probe], now: float) -> None:
        """Queue URLs that are fetched for comparison only. One that waits already, or is out, is not queued again."""
        self._queued(queued_probes(self._state, probes, self._retries, now), now)

    def _queued(self, entries: Sequence[Queued], now: float) -> None:
        self._selector.revisits_waiting += sum(entry.lane is Lane.REFRESH for entry in entries)
        for site, level in self.scores.raised().items():
            self.schedule.raise_level(Site(site), level)
        if entries:
            self.schedule.queued(entries, now)

    def set_budgets(self, budget_of: Callable[[str], int | None], now: float) -> None:
        """Give each domain for which this returns a budget that one; `now` is 0 when the frontier is opened."""
        if now:
            self.schedule.free_deferred()
        self.schedule.domains.set_budgets(budget_of)
        self.schedule.reorder()

    def set_discounts(self, discounts: Discounts) -> None:
        """Discount pages and domains by these from now on."""
        self.scores.discounts = self.schedule.domains.discounts = discounts

    def discounts_changed(self) -> None:
        """Appraise domains again after a change of the discounts; pages that wait keep their places."""
        self.schedule.domains.appraise_again()
        self.schedule.reorder()

    def steer(self, excluded: Sequence[str], preferred: Sequence[str], allowed: Sequence[str], now: float) -> None:
        """Refuse URLs that match these patterns, fetch others first, and allow again what was refused."""
        self.steering.change(excluded, preferred, allowed)
        self.scores.raise_all(to_be_raised(self._state.queues, self.steering.prefers, self._leases.holds))
        self._queued((), now)

    def preview(self, pattern: str) -> Preview:
        """Which waiting URLs a pattern matches."""
        return preview(self._state.queues, self._state.records, pattern, self._leases.holds)

    def rescore_listed(self, score_of: Callable[[Url], float | None], now: float) -> None:
        """Score pages again that wait because a sitemap lists them, at the start of a process: none is out."""
        for site, lane, length in list(self._state.queues.waiting()):
            if lane is not Lane.SITEMAPS:
                continue
            levels: list[tuple[Ticket, int]] = []
            for ticket in self._state.queues.heads(site, lane, length):
                score = score_of(ticket.entry.url)
                if score is not None:
                    found = Discovery(ticket.entry.url, Source.SITEMAP, now, score=score)
                    levels.append((ticket, self._admission.candidate(found)[2].level))
            self.scores.rescore(levels)
        self._queued((), now)

    # take

    def take(self, limit: int, now: float) -> list[FetchTask]:
        """Grant at most `limit` tasks that politeness allows now. An empty list is an answer."""
        while (lease := self._leases.next_expired(now)) is not None:
            self._lose(lease, now)
        if self.reach.is_in_doubt and not self._is_at_end:
            return self._try_one(now) if limit else []
        self._preflight.end_waiting(now)
        self._release(now, now)
        self._probe_due(now)
        if self._selector.embedded_waiting:
            self._choose_lanes()
        due = self._revisits.due(now, self._selector.revisits_waiting)
        self._state.queues.push(due)
        self._queued(due, now)
        if self.scores.is_due:
            self._queued(self.scores.rank(), now)
        self.schedule.admit_waiting(now)
        self._refused = 0
        tasks: list[FetchTask] = []
        while len(tasks) < limit and self._refused < _REFUSED_PER_TAKE and not self._is_at_end:
            active = self.schedule.pop_ready(now)
            if active is None:
                break
            if self.is_satisfied and not active.delegated:
                self.schedule.rest(active, now + _PAUSE_WHEN_SATISFIED)
                self._refused += 1
                continue
            tasks += self._visit(active, limit - len(tasks), now)
        if not tasks and limit:
            self._revisits.idle(now)
        self.schedule.domains.took(len(tasks) < limit and self._refused < _REFUSED_PER_TAKE, now)
        return tasks

    def _probe_due(self, now: float) -> None:
        """Ask the sites that are down and whose turn it is; a crawl that does not watch asks them when it begins."""
        if self._asks_sites_down or self._revisits.is_watching:
            for site in self.outages.due(now, _PROBED_AT_ONCE if self._asks_sites_down else _PROBED_TOGETHER):
                self._probe(site, now)
            self._asks_sites_down = False

    def _probe(self, site: Site, now: float) -> None:
        """Ask a site that is down for one page, or for a URL that was refused when it was given up."""
        record, row = self._records.get(site), self.outages.of(site)
        if row is None or not is_temporary(record.retired):  # it is asked already, or was given up for another reason
            return
        record.retired = ""
        if row.reason.startswith("robots"):
            record.robots_expire_at = 0.0
        self._records.changed(record)
        refused = [] if self._revisits.is_watching else [*self._admission.retry_given_up(site, 1)]
        if not refused and not self.outages.ask_known(record):
            refused = [*self._admission.retry_given_up(site, 1)]
        self._queued(refused, now)
        self._follow_outages(now)

    def _follow_outages(self, now: float) -> None:
        """Queue the known pages that are to be asked, and what waited for the end of an outage."""
        while self._selector.refused_pages:
            active, refused, reason = self._selector.refused_pages.pop(0)
            self.outages.refused(active.record, refused, reason, now)
        if asked := self.outages.asked:
            self.outages.asked = []
            self._queued(asked, now)
        while self.outages.ended:
            row = self.outages.ended.pop(0)
            self._recovered[row.site] = None
            self._revisits.back(row.site, row.since, now)
            self._queued([*self._admission.retry_given_up(row.site)], now)

    def _try_one(self, now: float) -> list[FetchTask]:
        """While it is in doubt whether any server can be reached: the address or the robots.txt of one site."""
        reach = self.reach
        if reach.trying is not None or now < reach.next_try_at:
            return []
        site, url = reach.candidate
        active = self.schedule.summon(site, now)
        has_address = active.has_address(now)
        ready_at = self.schedule.may_be_asked_at(active)
        if ready_at > now or (has_address and reach.is_of_lookups):
            reach.postpone(ready_at if ready_at > now else math.inf, now)
            return []
        request = RequestKind.ROBOTS if has_address else RequestKind.ADDRESS
        task = self._preflight.task(active, request, url, now)
        if task is None:
            reach.postpone(math.inf, now)
            return []
        reach.trying = site
        return [self._grant(active, Lease(task, None, site), now)]

    def _release(self, until: float, now: float) -> None:
        """Queue URLs whose back-off ends by then with their sites again."""
        due_at = self._state.queues.next_release()
        if due_at is not None and due_at <= until:
            tickets = self._state.queues.release(until, _RELEASED_TOGETHER)
            self.scores.released(tickets)
            self._queued([ticket.entry for ticket in tickets], now)

    @property
    def page_budget(self) -> int | None:
        """The number of pages that may be fetched in all; `None`: any number."""
        return self._page_budget

    @page_budget.setter
    def page_budget(self, pages: int | None) -> None:
        self._page_budget = pages
        if self.schedule.is_for_embedded:
            self._choose_lanes()

    def _choose_lanes(self) -> None:
        """Once the page budget has been fetched, only files that those pages embed are."""
        budget = self._page_budget
        self.schedule.grant_embedded(alone=budget is not None and self.pages_done >= budget)

    @property
    def is_satisfied(self) -> bool:
        """Whether the page budget has been fetched with the files that its pages embed, or its pages are under way."""
        if self._page_budget is None or self.pages_done + self._pages_out < self._page_budget:
            return False
        return self._pages_out > 0 or not self._selector.embedded_waiting

    @property
    def _is_at_end(self) -> bool:
        """Whether no request may begin: the page budget was fetched, and no other shard needs a robots.txt."""
        return self.is_satisfied and (self.is_spent or not self._preflight.owes_answers)

    def _visit(self, active: ActiveSite, limit: int, now: float) -> list[FetchTask]:
        """The request for a site that is ready."""
        request = active.next_request(now)
        if request is RequestKind.PAGE:
            return self._grant_pages(active, min(limit, self._politeness.max_parallel), now)
        if request is RequestKind.DRAIN:
            self._refuse_some(active, now)
            return []
        if request is RequestKind.NOTHING:
            self.schedule.place(active, now)
            return []
        wanted = next(iter(active.delegated.values()), None)
        url = self._selector.heads(active, 1)[0].entry.url if wanted is None else wanted.url
        task = self._preflight.task(active, request, url, now)
        return [] if task is None else [self._grant(active, Lease(task, None, active.site), now)]

    def _grant_pages(self, active: ActiveSite, limit: int, now: float) -> list[FetchTask]:
        if limit > 1:
            limit = min(limit, self.schedule.room_at(active))
        tasks: list[FetchTask] = []
        refused = 0
        while len(tasks) < limit and refused < REFUSED_PER_VISIT and not self.is_satisfied:
            heads = self._selector.next_two(active, self._leases.names(active.site))
            if not heads:
                break
            self.schedule.look_at(active, self.schedule.urgency(heads[-1].entry))
            judged = self._selector.judge(active, heads[0], now)
            if judged is None:
                refused += 1
                continue
            task, record = judged
            self._selector.granted(active, heads[0].entry, record, now)
            tasks.append(self._grant(active, Lease(task, heads[0], active.site), now))
        self._refused += refused
        if self._selector.refused_pages or self.outages.has_news:
            self._follow_outages(now)
        if not tasks:
            self.schedule.place(active, now + SOON)
        return tasks

    def _refuse_some(self, active: ActiveSite, now: float) -> None:
        """Refuse some of what waits at a site that was given up."""
        self._refused += self._selector.exclude_heads(active, REFUSED_PER_VISIT, active.record.retired, now)
        self.schedule.place(active, now + SOON)

    def _grant(self, active: ActiveSite, lease: Lease, now: float) -> FetchTask:
        self._leases.grant(lease)
        self._pages_out += lease.is_of_page
        self.schedule.grant(active, lease.task.ip, now)
        return lease.task

    # report

    def report(self, outcome: FetchOutcome, now: float, reading: BodyReading | None = None) -> FetchOutcome | None:
        """End a grant: the site rests, and what was seen is learnt. The outcome as it counts; `None`: it was late.

        What fails while no server can be reached counts as cancelled, and so do visits to pages of a site that is down,
        or may be.
        """
        lease = self._leases.end(outcome.task)
        return None if lease is None else self._end(lease, outcome, reading, now)

    def _lose(self, lease: Lease, now: float) -> None:
        """Count an expired lease without a result as a failed attempt, or a URL that kills its fetcher never ends."""
        outcome = Failed(lease.task, "lost", now, 0.0, ip=lease.task.ip)
        self._events.record([FetchEnded(outcome, now)])
        self._end(lease, outcome, None, now)

    def _visited(self, lease: Lease) -> ActiveSite:
        active = self.schedule.get(lease.visited)
        if active is None:
            raise InvariantError(f"a request to {lease.visited} is under way, but it is not active")
        return active

    def _end(self, lease: Lease, outcome: FetchOutcome, reading: BodyReading | None, now: float) -> FetchOutcome:
        active = self._visited(lease)
        if lease.task.ip is not None:
            self.schedule.addresses.answered(lease.task.ip, seconds_of(outcome, active.record.failures))
        if isinstance(outcome, Failed) and outcome.reason in NO_CONNECTION:
            active.record.ip_expires_at = 0.0
        self._pages_out -= lease.is_of_page
        outcome = self._judged(active, outcome, now)
        if outcome.task.ip is None or isinstance(outcome, Located):
            self._preflight.located(active, outcome, now)
        elif lease.ticket is not None:
            self._reports.page(active, lease.ticket, outcome, reading, now)
            self.requeue_refused(self._guard.lifted(), now)
        else:
            self._preflight.answered(active, outcome, now, self._reports.finish_request)
        if self.outages.has_news:
            self._follow_outages(now)
        self.setbacks.ended(outcome)
        return Failed(outcome.task, "cancelled", now, 0.0) if self.outages.is_doubted(outcome.task) else outcome

    def _judged(self, active: ActiveSite, outcome: FetchOutcome, now: float) -> FetchOutcome:
        """The outcome as it counts: a failure that is ours counts as cancelled."""
        reach, site, task = self.reach, active.site, outcome.task
        is_answer = isinstance(outcome, Fetched | NotModified | Redirected)
        if is_answer and not reach.is_in_doubt:
            reach.answered(site, task.url, now)
            return outcome
        was_cut_off = reach.cut_off is not None
        if isinstance(outcome, Failed) and outcome.reason in UNREACHED:
            server = active.domain.name if task.ip is None else task.ip
            charged = active.lookups, active.record.failures, active.record.robots_tries, active.record.retired
            if reach.not_reached(site, Before(task.url, server, task.ip is None, *charged), outcome.reason, now):
                self._take_back(now)
            return outcome if reach.cut_off is None else replace(outcome, reason="cancelled")
        if is_answer:
            reach.answered(site, task.url, now)
        elif isinstance(outcome, Located) or reason_of(outcome) == "dns-not-found":
            reach.looked_up(site, now)
        else:
            reach.tried(site, now)
        if was_cut_off and not reach.is_in_doubt:  # other shards have as long to answer as at first
            self._preflight.restart(now)
        return outcome

    def _take_back(self, now: float) -> None:
        """Take back what sites were charged since the last answer of a server: no server can be reached."""
        for site, before in self.reach.failed.items():
            record, file = self._records.get(site), self.gate.file(site)
            record.failures, record.robots_tries = before.failures, before.robots_tries
            if record.retired != before.retired or (file is not None and file.access == "none"):
                record.retired, record.robots_expire_at = before.retired, 0.0
                self._queued([*self._admission.retry_given_up(site)], now)
            active = self.schedule.get(site)
            if active is not None:
                active.lookups = before.lookups
                self.schedule.changed(active)
            self.schedule.end_back_off(record, now)

    # other shards

    def robots_asked(self, wanted: Delegation, now: float) -> None:
        """Another shard asks for a robots.txt of a site here."""
        if not self._leases.is_out(wanted.wanted_by, wanted.url):
            self._preflight.question_received(wanted, now)

    def robots_answered(self, answer: RobotsAnswer, now: float) -> FetchOutcome | None:
        """Another shard answers: the outcome, as if the request had been made here, if it was waited for."""
        return self._preflight.answer_received(answer, now)

    def drain_robots(self) -> tuple[list[Delegation], list[RobotsAnswer]]:
        """Questions and answers for other shards since the last call."""
        asked, self._preflight.asked = self._preflight.asked, []
        answers, self._preflight.answers = self._preflight.answers, []
        return asked, answers

    # answers of an archive

    def adopt(self, outcome: FetchOutcome, now: float, reading: BodyReading | None, *, is_counted: bool) -> None:
        """Learn from an archived answer of a crawl whose state is lost."""
        self._adoption.adopt(outcome, now, reading, is_counted=is_counted)
        self.requeue_refused(self._guard.lifted(), now)

    def end_adoption(self, now: float) -> None:
        """End the adoption of archived answers."""
        self._adoption.end(now)

    @property
    def pages_done(self) -> int:
        """The number of pages that were fetched in all."""
        return self._reports.pages_done

    # a new process

    def restart(self, now: float) -> None:
        """Continue in a new process: what was under way is granted again, after every site has rested once more."""
        for lease in self._leases.end_all():
            self._preflight.interrupted(self._visited(lease), lease.task)
        self._pages_out = 0
        self.reach.restart(now)
        self._preflight.restart(now)
        self.schedule.restart(now)
        if not self._is_revisits_only:
            self._asks_sites_down = self.outages.restart(now)
        # later times were written by a clock that ran fast; a refresh ends when no revisit is postponed any more
        latest = 0.0 if self._is_revisits_only else now + self._retries.max_backoff
        while (self._state.queues.next_release() or 0.0) > latest:
            self._release(math.inf, now)

    # what others see

    @property
    def revisits_waiting(self) -> int:
        """Revisits that wait with their sites."""
        return self._selector.revisits_waiting

    def drain_refused_files(self) -> list[Excluded]:
        """Sitemaps, and files that pages need, that were refused since the last call."""
        refused, self._selector.refused_files = self._selector.refused_files, []
        return refused

    def drain_recovered(self) -> dict[Site, None]:
        """Sites whose outage has ended since the last call."""
        recovered, self._recovered = self._recovered, {}
        return recovered

    def drain_emptied(self) -> dict[Site, None]:
        """Sites whose queue of listed pages ran empty since the last call."""
        emptied, self._selector.emptied = self._selector.emptied, {}
        return emptied

    def drain_exhausted(self, now: float) -> list[Site]:
        """Sites at which nothing is left since the last call. What was refused there for low yield may come back."""
        if not self._selector.exhausted:
            return []
        exhausted, self._selector.exhausted = self._selector.exhausted, {}
        done = [site for site in exhausted if (active := self.schedule.get(site)) is None or not active.waiting]
        for site in done:
            found = [*self._admission.retry_refused(site, self._guard.follow(site))]
            found = found or [*self._admission.retry_refused(site, self._guard.look_again(site))]
            self._queued(found, now)
        return done

    def is_tried_again(self, record: UrlRecord, reason: str) -> bool:
        """Whether a URL whose last attempt ended for this reason is tried again."""
        return is_tried_again(self._retries, reason, record.failures)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or is under way, or the page budget is fetched. A watched collection never is idle."""
        if len(self._leases) or self._revisits.is_watching:
            return False
        if self._is_revisits_only:
            return not (len(self.schedule) or self.schedule.is_crowded) and self._state.queues.next_release() is None
        is_empty = len(self._state.queues) == 0 and len(self.schedule) == 0 and not self._asks_sites_down
        return self.is_satisfied or (is_empty and self.scores.pooled == 0)

    @property
    def awaits_missing_servers(self) -> bool:
        """Whether all that waits are files, such as sitemaps, at sites whose server does not exist.

        A crawl that has fetched pages does not wait for the retries of these. It rests on `setbacks`, so nothing that
        is replayed may depend on it.
        """
        if self.is_idle or len(self._leases) or self._revisits.is_watching or not self.pages_done:
            return False
        missing = {each.site for each in self.setbacks if each.reason in NO_SERVER}
        if not missing or len(self.schedule) > len(missing) or self.scores.pooled or self._asks_sites_down:
            return False
        files = sum(active.waiting.get(Lane.FILES, 0) for active in self.schedule)
        return files == len(self._state.queues) and all(active.site in missing for active in self.schedule)

    @property
    def next_at(self) -> float | None:
        """When `take` may have something to grant again; `None`: not before something is reported or discovered."""
        if self._is_at_end:
            return self._leases.next_end
        if self.reach.is_in_doubt:
            tries = () if self.reach.trying is not None else (self.reach.next_try_at,)
            return min((at for at in (self._leases.next_end, *tries) if at is not None), default=None)
        if self.scores.is_due or self._asks_sites_down:
            return 0.0
        waits = self._state.queues.next_release(), self._revisits.next_due(self._selector.revisits_waiting)
        late = self._preflight.next_deadline, self.outages.next_at if self._revisits.is_watching else None
        times = (self.schedule.next_at, self.schedule.next_look_at, self._leases.next_end, *late, *waits)
        return min((at for at in times if at is not None), default=None)

    @property
    def queued(self) -> int:
        """The number of URLs that wait in queues, of all sites."""
        return len(self._state.queues)

    def check_some(self, first: int, count: int) -> int:
        """Check some active sites from the one at this position on; returns where to continue."""
        return self.schedule.check_some(first, count)

    def check_invariants(self) -> None:
        """Check what must hold between any two calls."""
        self.schedule.check_invariants()
        self.schedule.addresses.check_under_way(lease.task.ip for lease in self._leases if lease.task.ip is not None)
        delegated = (lease.task.site for lease in self._leases if lease.task.site != lease.visited)
        self._preflight.check_invariants(delegated)
        for site, under_way in Counter(self._visited(lease).site for lease in self._leases).items():
            if under_way != self._leases.under_way(site) or under_way > self._politeness.max_parallel:
                raise InvariantError(f"{site} has {under_way} requests under way, which is too many or miscounted")
        if self._pages_out != sum(lease.is_of_page for lease in self._leases):
            raise InvariantError("pages under way were miscounted")

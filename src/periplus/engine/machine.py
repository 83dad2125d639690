"""A shard as a state machine: inputs in, effects out, and one writer of its state.

`apply` is pure: what it does depends on the state, on the input, which has its time, and on a seeded random generator
whose state is committed. It touches no clock, no network and no file but the state it was given. So the log of inputs
is all that recovery needs, the simulator runs the same lines as the crawler, and a run can be replayed.

`flush` writes what is held in memory back to the state; between any two inputs it changes nothing but that. A machine
opened on a flushed state applies later inputs exactly as the one that was flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from msgspec.structs import replace

from periplus.model import (
    NO_PREFERENCES,
    Delegation,
    Discovery,
    Located,
    Messages,
    ParsedPage,
    Purpose,
    Redirected,
    RobotsAnswer,
)
from periplus.policy.filters import MediaTypes
from periplus.policy.weights import PageWeights
from periplus.store import State
from periplus.urls import site_of

from .comparison import PageComparer
from .frontier import Frontier, FrontierDesk, Revisiting, SiteRecords
from .inputs import (
    Acknowledged,
    AddressesReviewed,
    Adopted,
    AdoptionEnded,
    Answered,
    Claim,
    Discovered,
    Effect,
    Emit,
    Fetch,
    FetchAnswer,
    Flushed,
    Granted,
    Input,
    Learnt,
    PageBudgetSet,
    Received,
    Restarted,
    ScopeExtended,
    SharesSet,
    SitemapsSubmitted,
    Steered,
    Tick,
    VisitBudgetSet,
)
from .link_state import LinkState
from .links import LinkValuation, PageReader
from .machine_settings import LoadLearnt, MachineSettings, ShardMeta, UrlPolicy
from .part import Desk, MakeParts, P, TakeLearnt, TakeProbe, overriding
from .pipeline import PagePipeline, Pipeline, Processed, follow_chains, with_last_visits
from .router import ShardPlacement, ShardRouter
from .sitemaps.scheduler import SitemapScheduler, no_sitemaps
from .sitemaps.store import make_due
from .stats import CrawlStats, EventCounter, IgnoredEvents

MakeRevisits = Callable[[State, SiteRecords, PageWeights, Random], Revisiting]
"""Makes what schedules further visits to pages."""
LONG_REST = 1_800.0
"""Seconds: a part whose next step is later, as that of a form that rests until tomorrow, keeps no crawl running."""


class Machine:
    """The state machine of a shard, with the parts that `parts` make.

    `pipeline` is made for it, unless the simulator passes its own.
    """

    def __init__(
        self,
        settings: MachineSettings,
        state: State,
        policy: UrlPolicy,
        *,
        make_revisits: MakeRevisits = lambda *_: Revisiting(),
        make_sitemaps: Callable[[Desk], SitemapScheduler] = no_sitemaps,
        parts: Sequence[MakeParts] = (),
        pipeline: Pipeline | None = None,
        load_learnt: LoadLearnt = lambda _kind, _generation: None,
        is_observed: bool = True,
    ) -> None:
        self._settings = settings
        self._state = state
        self.meta = meta = state.meta(ShardMeta) or ShardMeta()  # what was committed when the machine was opened
        self._events = (EventCounter if is_observed else IgnoredEvents)(meta.stats)
        self._records = SiteRecords(state.sites)
        self._random = Random(settings.random_seed)  # noqa: S311 - chance, not secrets
        if meta.frontier.random is not None:
            self._random.setstate(meta.frontier.random)
        self.weights = weights = policy.weights
        self.revisits = make_revisits(state, self._records, weights, self._random)
        self._guard = guard = policy.make_guard(lambda site: self._records.get(site).traps)
        shared = FrontierDesk(
            state,
            self._records,
            settings,
            guard=guard,
            ordering=policy.ordering,
            events=self._events,
            random=self._random,
            revisits=self.revisits,
        )
        self.frontier = Frontier(shared, meta.frontier)
        self.router = ShardRouter(
            settings.shard, settings.shards, frontier=self.frontier, exchange=state.exchange,
            screen=policy.screen, scope=policy.scope, events=self._events, moved=meta.moved,
        )  # fmt: skip
        if settings.shards > 1:
            owner, here = ShardPlacement(settings.shards).owner, settings.shard
            self.frontier.preflight.share_sites(lambda site: owner(site) != here)
        self._load_learnt = load_learnt
        self.learnt = dict(meta.learnt)
        desk = Desk(
            state, self._records, self.frontier, self.router, guard, self._events, weights, self.revisits,
            self._forget_links,
        )  # fmt: skip
        self.sitemaps = make_sitemaps(desk)
        self._desk = desk = replace(desk, has_read=self.sitemaps.has_read)
        self.parts = [part for make in parts for part in make(desk)]
        self._hook_up()
        self._pipeline = pipeline or self._page_pipeline(meta.links)

    def _hook_up(self) -> None:
        """Have each part called where it overrides a hook."""
        parts = self.parts
        self._probes: dict[str, TakeProbe] = {}
        self._takers: dict[str, TakeLearnt] = {}
        for part in parts:
            self._probes.update(part.probes())
            self._takers.update(part.learnt())
        for kind in self._takers:
            if kind in self.learnt:
                self._learn(kind, self.learnt[kind], 0.0)
        self._learners = overriding(parts, "learn")
        self._readers = overriding(parts, "read")
        self._leaders = overriding(parts, "lead")
        self._followers = overriding(parts, "passed_on")
        self._timed = [part for part in parts if overriding([part], "step")]

    def part(self, kind: type[P]) -> P | None:
        """The part of this type, if the machine has one."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    def _learn(self, kind: str, generation: int, now: float) -> None:
        """Take over what a job has learnt, if a part of this machine wants it."""
        self.learnt[kind] = generation
        take = self._takers.get(kind)
        content = self._load_learnt(kind, generation) if take is not None else None
        if take is not None and content is not None:
            take(content, now)

    def _page_pipeline(self, links: LinkState) -> PagePipeline:
        scores, media = self.frontier.scores, MediaTypes(self._settings.media)
        worths = next((values for part in self.parts if (values := part.worths()) is not None), None)
        reader = PageReader(
            self._settings.reading,
            LinkValuation(scores.learns, scores.keeps_links, worths),
            records=self._state.records,
            watches=self.revisits.is_watching,
            rows=self._state.recent_links,
            saved=links,
            media=media,
            completing=self._desk.completing,
            inspecting=overriding(self.parts, "inspect"),
        )
        comparer = PageComparer(self._records, self._settings.churn, self.revisits)
        return PagePipeline(
            self._state,
            reader,
            comparer,
            events=self._events,
            worth=scores.worth,
            media=media,
            marks=[self._with_preferences, *overriding(self.parts, "mark")],
        )

    def _with_preferences(self, page: ParsedPage) -> ParsedPage:
        """A page with what robots.txt says about its use."""
        stated = self.frontier.gate.preferences(site_of(page.url), page.url)
        return page if stated is NO_PREFERENCES else replace(page, preferences=page.preferences.and_also(stated))

    # inputs

    def apply(self, given: Input) -> list[Effect]:  # noqa: C901 - one case for each kind of input
        """Apply an input: the effects that it has outside."""
        effects: list[Effect] = []
        now = given.at
        match given:
            case Granted(limit=limit):
                effects += map(Fetch, self.frontier.take(limit, now))
            case Answered():
                self._answered(self._pipeline.process(given.answers, now), now)
            case Tick(is_read=is_read):
                if not is_read:
                    self.sitemaps.give_up_reading(now)
                self.sitemaps.step(now)
                for part in self._timed:
                    part.step(now)
            case Discovered(discoveries=discoveries):
                self._receive(discoveries, now)
                self.router.deliver(discoveries, now)
            case Received(batch=batch):
                self._take(self.router.receive(batch), now)
            case Acknowledged(receiver=receiver, number=number):
                self._state.exchange.acknowledged(receiver, number)
            case PageBudgetSet(pages=pages, is_spent=is_spent):
                self.frontier.page_budget, self.frontier.is_spent = pages, is_spent
            case VisitBudgetSet(visits_per_day=visits):
                self.revisits.set_budget(visits, now)
            case SharesSet(shares=shares):
                self.frontier.schedule.addresses.set_shares(dict(shares), now)
            case ScopeExtended(places=places):
                self.frontier.schedule.domains.add_seeds(places)
                if self.router.extend_scope(places):
                    self._forget_links(now)
            case SitemapsSubmitted():
                self.sitemaps.submit(now)
            case Learnt(kind=kind, generation=generation):
                self._learn(kind, generation, now)
            case Steered():
                self.frontier.steer(given.excluded, given.preferred, given.allowed, now)
            case AddressesReviewed():
                self.frontier.schedule.addresses.review(now)
            case Flushed():
                self._pass_gains(now)
                self.router.flush()
            case Restarted():
                is_set_back = self.revisits.restart(now)
                self.sitemaps.restart(now, is_set_back=is_set_back)
                self.frontier.restart(now)
            case Adopted():
                self._adopted(given, now)
            case AdoptionEnded():
                self._events.is_counting = given.is_counted
                self.frontier.end_adoption(now)
        self._settle(now)
        claimed, released = self.frontier.schedule.addresses.claims()
        if claimed or released:
            effects.append(Claim(claimed, released))
        if events := self._events.drain():
            effects.append(Emit(events))
        return effects

    def _receive(self, discoveries: Sequence[Discovery], now: float) -> None:
        self.sitemaps.received(discoveries, now)
        for receive in self._desk.on_received:
            receive(discoveries, now)

    def _take(self, messages: Messages, now: float) -> None:
        """Take the messages of another shard."""
        found = [message for message in messages if isinstance(message, Discovery)]
        self._receive(found, now)
        self.frontier.discover(found, now)
        for message in messages:
            match message:
                case Delegation():
                    self.frontier.robots_asked(message, now)
                case RobotsAnswer(stored=stored):
                    outcome = self.frontier.robots_answered(message, now)
                    if outcome is not None:
                        processed = Processed(FetchAnswer(outcome, stored), None, None)
                        self._learn_from([processed], now)
                        self._pass_on(processed, now)
                case _:
                    pass

    def _send_robots(self, answer: FetchAnswer | None = None) -> None:
        """Send what other shards are asked and answered; with the place where an `answer` is stored."""
        asked, answers = self.frontier.drain_robots()
        for wanted in asked:
            self.router.ask(wanted)
        if answers:
            task, stored = (None, None) if answer is None else (answer.outcome.task, answer.stored)
            self.router.answer([replace(e, stored=stored) if e.outcome.task == task else e for e in answers])

    def _settle(self, now: float) -> None:
        """After an input: pass on which files were refused, which URLs were renamed, and which queues ran empty."""
        while refused := self.frontier.drain_refused_files():
            for outcome in refused:
                self.sitemaps.refused(outcome, now)
                for refuse in self._desk.on_refused:
                    refuse(outcome, now)
        renamed = [discovery for drain in self._desk.renamed for discovery in drain()] + self.frontier.renamed
        if renamed:
            self.frontier.renamed.clear()
            self.router.deliver(renamed, now)
        for site in self.frontier.drain_recovered():
            make_due(self._state, site, missing=True)
        if emptied := self.frontier.drain_emptied():
            self.sitemaps.emptied(emptied)
        if exhausted := self.frontier.drain_exhausted(now):
            for exhaust in self._desk.on_exhausted:
                exhaust(exhausted, now)
            self.sitemaps.exhausted(exhausted)
        self._send_robots()
        self.revisits.end_of_input()

    def _answered(self, processed: list[Processed], now: float) -> None:
        for index, (answer, _, reading) in enumerate(processed):
            if answer.payload is not None:
                self._state.payloads.add_new(answer.payload)
            self._events.stats.copies += reading is not None and reading.is_copy
            counted = self.frontier.report(answer.outcome, now, reading)
            self._send_robots(answer)
            if counted is not None and counted is not answer.outcome:
                processed[index] = Processed(replace(answer, outcome=counted), None, None)
        processed = [each for each in processed if not isinstance(each.answer.outcome, Located)]  # nothing was asked
        self._learn_from(processed, now)
        for each in processed:
            for read in self._readers:
                read(each, now)
            self._pass_on(each, now)

    def _learn_from(self, processed: Sequence[Processed], now: float) -> None:
        follow_chains(self._guard, processed)
        for learn in self._learners:
            learn(processed, now)

    def _adopted(self, given: Adopted, now: float) -> None:
        """Learn from archived answers. Of the sites of other shards only what links lead here."""
        self._events.is_counting = given.is_counted
        own = [answer for answer in given.answers if self.router.owns_site(answer.outcome.task.site)]
        others = [answer for answer in given.answers if not self.router.owns_site(answer.outcome.task.site)]
        processed = self._pipeline.process(with_last_visits(own, self._state.records), now) if own else []
        for answer, _, reading in processed:
            self._events.stats.copies += given.is_counted and reading is not None and reading.is_copy
            self.frontier.adopt(answer.outcome, now, reading, is_counted=given.is_counted)
        self._learn_from(processed, now)
        for each in processed:
            self._pass_on(each, now)
        for each in self._pipeline.read(others, now) if others else []:
            self._pass_links(each, now)
        if given.is_counted:
            for payload in (answer.payload for answer in given.answers):
                if payload is not None:
                    self._state.payloads.add_new(payload)

    def _pass_links(self, processed: Processed, now: float) -> None:
        """Where an answer of another shard's site leads, as far as that is here."""
        outcome = processed.answer.outcome
        if isinstance(outcome, Redirected) and outcome.task.purpose is Purpose.PAGE:
            self.router.follow_seed(outcome)
        found = self._pipeline.links(processed, now, lambda _links: 0.0)
        own = [discovery for discovery in found if self.router.owns_site(site_of(discovery.url))]
        if own:
            self.frontier.discover(own, now)

    def _pass_on(self, processed: Processed, now: float) -> None:
        """Where an answer leads: links, places that seeds moved to, what parts make of it."""
        outcome, page = processed.answer.outcome, processed.page
        task = outcome.task
        found = self._pipeline.links(processed, now, partial(self.frontier.scores.share, task.url))
        for lead in self._leaders:
            found = lead(processed, found, now)
        if isinstance(outcome, Redirected) and task.purpose is Purpose.PAGE and self.router.follow_seed(outcome):
            self._forget_links(now)
        if found:
            self.router.deliver(found, now)
        if task.purpose is Purpose.PROBE:
            take = self._probes.get(task.probe)
            if take is not None:
                take(outcome, self._pipeline.read_probe(processed.answer), now)
        else:
            if page is not None:
                self.revisits.linked(task.url, page.links.urls, now)
            self.sitemaps.passed_on(processed, now)
            for follow in self._followers:
                follow(processed, now)
        self._pipeline.count_again(self.frontier.gain)
        if self._pipeline.gaining >= self._pipeline.max_gaining:
            self._pass_gains(now)

    def _pass_gains(self, now: float) -> None:
        """Pass on what URLs have gained that have another name here, or are on another shard."""
        if self._pipeline.gaining:
            self.router.deliver(self._pipeline.gains(now), now)

    def _forget_links(self, now: float) -> None:
        """Forget links that were seen before, which may be wanted now; what they gained is passed on first."""
        self._pass_gains(now)
        self._pipeline.forget_links()

    # committing

    def flush(self) -> ShardMeta:
        """Write what is held in memory to the state; the caller puts the rest into it, and commits."""
        frontier = self.frontier.flush()
        for value in (*self.revisits.flush(), self.sitemaps.flush(), *(part.flush() for part in self.parts)):
            if value is not None:
                self._state.put_meta(value)
        links = self._pipeline.flush()
        self._records.flush()
        return ShardMeta(
            ordering=self._settings.learning_ordering,
            stats=self._events.stats,
            moved=self.router.moved,
            frontier=frontier,
            links=links or LinkState(),
            learnt=self.learnt,
        )

    # what the engine asks

    @property
    def stats(self) -> CrawlStats:
        """The crawl in numbers."""
        return self._events.stats

    def wants_tick(self, now: float) -> bool:
        """Whether a `Tick` would do something."""
        return self.sitemaps.wants_step(now) or self._is_due(now)

    def _is_due(self, at: float) -> bool:
        """Whether a part wants a step by then."""
        return any((due := part.next_at) is not None and due <= at for part in self._timed)

    def wants_grant(self, now: float) -> bool:
        """Whether a `Granted` could do something."""
        if self.revisits.is_watching:
            return True
        next_at = self.frontier.next_at
        return next_at is not None and next_at <= now

    @property
    def is_reading(self) -> bool:
        """Whether a file was not read to its end that has arrived."""
        return self.sitemaps.is_reading

    @property
    def has_unread(self) -> bool:
        """Whether files wait that are not read to their end."""
        return self.sitemaps.has_unread

    @property
    def listed(self) -> int:
        """URLs that were read in files and are not queued yet."""
        return self.sitemaps.listed

    @property
    def next_step_at(self) -> float | None:
        """When a part will want a step, as far as that is known."""
        return min((at for part in self._timed if (at := part.next_at) is not None), default=None)

    def is_idle(self, now: float) -> bool:
        """Whether nothing waits and nothing is under way; or the page budget was fetched."""
        if not self.frontier.is_idle:
            return False
        is_over = self.frontier.is_satisfied or self._settings.revisits_only
        return is_over or self._are_parts_idle(now)

    def awaits_missing_servers(self, now: float) -> bool:
        """Whether all that is left are sitemaps and the like at sites whose server does not exist."""
        return self.frontier.awaits_missing_servers and self._are_parts_idle(now)

    def _are_parts_idle(self, now: float) -> bool:
        return self.sitemaps.is_idle(now) and not self._is_due(now + LONG_REST)

    def check_invariants(self) -> None:
        """Check what must hold between any two inputs."""
        self.frontier.check_invariants()

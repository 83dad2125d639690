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

from periplus.model import NO_PREFERENCES, Fetched, Filter, Located, Ordering, Page, Purpose, Redirected, Site
from periplus.parts.dust.given import GivenRules
from periplus.parts.dust.part import PROBE_KIND, DustLearner
from periplus.parts.focus.part import FocusState, MakeTopic, appraising, focus_of
from periplus.parts.forms.part import CHECK, Forms
from periplus.parts.judges import Judges
from periplus.parts.media.held_seeds import HeldSeeds
from periplus.parts.mirrors.policy import GuardWithHosts, MirrorHosts, decode_hosts
from periplus.parts.render.part import ScriptNeeds
from periplus.parts.reputation.part import ReputationFollower
from periplus.parts.revisit.records import SampleRows
from periplus.parts.revisit.revisits import Revisits
from periplus.parts.sitemaps.scheduler import SitemapScheduler
from periplus.parts.sitemaps.scores import RankOf
from periplus.parts.spam.part import SpamFollower
from periplus.policy.filters import Guard, MediaTypes, Scope, SiteFilterState
from periplus.policy.weights import PageWeights
from periplus.store import State
from periplus.urls import site_of

from .comparison import PageComparer
from .frontier import Frontier, FrontierDesk, Preview, SiteRecords, preview
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
from .links import LinkState, PageReader
from .machine_settings import LoadBody, LoadLearnt, MachineSettings, ShardMeta, TakeLearnt, TakeProbe, with_bodies
from .pipeline import PagePipeline, Pipeline, Processed, follow_chains, with_last_visits
from .router import ShardRouter
from .stats import CrawlStats, EventCounter, IgnoredEvents


class Machine:
    """The state machine of a shard. `pipeline` is made for it, unless the simulator passes its own."""

    def __init__(
        self,
        settings: MachineSettings,
        state: State,
        *,
        ordering: Ordering,
        scope: Scope,
        make_guard: Callable[[Callable[[Site], SiteFilterState | None]], Guard],
        screen: Filter,
        weights: PageWeights | None = None,
        rank_of: RankOf = lambda _url: None,
        pipeline: Pipeline | None = None,
        load_body: LoadBody = lambda outcome, _stored: outcome,
        load_learnt: LoadLearnt = lambda _kind, _generation: None,
        given: GivenRules | None = None,
        make_topic: MakeTopic | None = None,
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
        self._hosts = MirrorHosts(settings.judges.mirrors, settings.judges.suffixes)
        weights = weights or PageWeights()
        self.revisits = Revisits(
            state,
            self._records,
            settings.refresh,
            watching=settings.watching,
            weights=weights,
            churn=settings.churn,
            random=self._random,
            saved=meta.revisits,
            sample=state.meta(SampleRows),
        )
        guard = make_guard(lambda site: self._records.get(site).traps)
        desk = FrontierDesk(
            state,
            self._records,
            settings,
            guard=GuardWithHosts(guard, self._hosts),
            ordering=ordering,
            events=self._events,
            random=self._random,
            revisits=self.revisits,
        )
        self.frontier = Frontier(desk, meta.frontier)
        self.router = ShardRouter(
            settings.shard, settings.shards, frontier=self.frontier, exchange=state.exchange, screen=screen,
            scope=scope, hosts=self._hosts, events=self._events, moved=meta.moved,
        )  # fmt: skip
        self._judges = Judges(
            state, self._records, settings.judges, events=self._events, queue=self.frontier.queue_probes,
            worth=self.frontier.scores.worth, saved=meta.compared,
        )  # fmt: skip
        spam = None
        if settings.follows_spam:  # before the focus: both multiply weights
            spam = SpamFollower(self.frontier, weights, self._records)
        self.focus = focus_of(make_topic, ordering, settings.explore, state.meta(FocusState))
        if self.focus is not None:
            self.focus.weigh(self.frontier.scores, weights)
        self._pipeline = pipeline or self._page_pipeline(meta.links)
        self.sitemaps = SitemapScheduler(
            settings.sitemaps,
            state=state,
            records=self._records,
            frontier=self.frontier,
            revisits=self.revisits,
            deliver=self.router.deliver,
            is_ours=self.router.owns_site,
            events=self._events,
            rank_of=rank_of,
            saved=with_bodies(meta.sitemaps, load_body),
        )
        held = (url for url in settings.held_seeds if self.router.owns_site(site_of(url)))
        self._held = HeldSeeds(held, state, self.frontier, self.sitemaps, self.router.deliver)
        self._guard = guard
        self._dust = DustLearner(
            guard.states, state, self.frontier, self._events, self._forget_links, settings.dust, given
        )
        self._script_needs = ScriptNeeds(guard.states, settings.render, self._events)
        self.frontier.selector.how_to_render = self._script_needs.render if settings.render.is_on else None
        self.forms = Forms(settings.forms, state, self._records, self.frontier, self.router, self._events)
        self._load_learnt = load_learnt
        self._takers_of_learnt: dict[str, TakeLearnt] = {}
        self._takers_of_probes: dict[str, TakeProbe] = self._judges.takers | {CHECK: self.forms.checked}
        self.takes_probes(PROBE_KIND, self._dust.probed)
        self.learnt = dict(meta.learnt)
        self.takes_learnt("dust", self._dust.take_learnt)
        self.takes_learnt("mirrors", lambda content, _now: self._hosts.load(decode_hosts(content)))
        self.takes_learnt("reputation", ReputationFollower(self.frontier).take)
        if spam is not None:
            self.takes_learnt("spam", spam.take)

    def takes_learnt(self, kind: str, take: TakeLearnt) -> None:
        """Have a part of this machine take what jobs learn of a kind: what is known now, and later generations."""
        self._takers_of_learnt[kind] = take
        if kind in self.learnt:
            self._learn(kind, self.learnt[kind], 0.0)

    def takes_probes(self, kind: str, take: TakeProbe) -> None:
        """Have a part of this machine take the answers to probes of a kind."""
        self._takers_of_probes[kind] = take

    def _learn(self, kind: str, generation: int, now: float) -> None:
        """Take over what a job has learnt, if a part of this machine wants it."""
        self.learnt[kind] = generation
        take = self._takers_of_learnt.get(kind)
        content = self._load_learnt(kind, generation) if take is not None else None
        if take is not None and content is not None:
            take(content, now)

    def _page_pipeline(self, links: LinkState) -> PagePipeline:
        scores, media = self.frontier.scores, MediaTypes(self._settings.media)
        reader = PageReader(
            self._settings.reading,
            learns=scores.learns,
            keeps_links=scores.keeps_links,
            records=self._state.records,
            watches=self._settings.watching is not None,
            rows=self._state.recent_links,
            saved=links,
            media=media,
            focus=self.focus,
        )
        churn, shortest = self._settings.churn, self._settings.refresh.shortest
        comparer = PageComparer(self._records, churn, self.revisits, shortest=shortest)
        return PagePipeline(
            self._state,
            reader,
            comparer,
            events=self._events,
            worth=scores.worth,
            media=media,
            mark=appraising(self.focus, self._marked, self.stats),
            is_focused=self.focus is not None,
        )

    def _marked(self, page: Page) -> Page:
        """A page with what robots.txt says about its use, and with the problem `soft-404` if it is one."""
        stated = self.frontier.gate.preferences(site_of(page.url), page.url)
        page = page if stated is NO_PREFERENCES else replace(page, preferences=page.preferences.and_also(stated))
        return self._judges.marked(page)

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
                self.forms.step(now)
                self._held.release(now)
            case Discovered(discoveries=discoveries):
                self.sitemaps.discovery.received(discoveries, now)
                self.router.deliver(discoveries, now)
            case Received(batch=batch):
                found = self.router.receive(batch)
                self.sitemaps.discovery.received(found, now)
                self.frontier.discover(found, now)
            case Acknowledged(receiver=receiver, number=number):
                self._state.exchange.acknowledged(receiver, number)
            case PageBudgetSet(pages=pages):
                self.frontier.page_budget = pages
            case VisitBudgetSet(visits_per_day=visits):
                self.revisits.set_budget(visits, now)
            case SharesSet(shares=shares):
                self.frontier.schedule.addresses.set_shares(dict(shares), now)
            case ScopeExtended(places=places):
                self.frontier.schedule.domains.add_seeds(places)
                if self.router.extend_scope(places):
                    self._forget_links(now)
            case SitemapsSubmitted():
                self.sitemaps.discovery.submit(now)
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
                self.sitemaps.restart(now, is_set_back=self.revisits.restart(now))
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

    def _settle(self, now: float) -> None:
        """After an input: end refused sitemaps, and pass on which queues ran empty."""
        while refused := self.frontier.drain_refused_files():
            for outcome in refused:
                self.sitemaps.ended(outcome, now)
        renamed = [*self._hosts.drain_renamed(), *self.frontier.renamed]
        if renamed:
            self.frontier.renamed.clear()
            self.router.deliver(renamed, now)
        if emptied := self.frontier.drain_emptied():
            self.sitemaps.queues_emptied(emptied)
        self.revisits.end_of_input()

    def _answered(self, processed: Sequence[Processed], now: float) -> None:
        for answer, _, reading in processed:
            if answer.payload is not None:
                self._state.payloads.add_new(answer.payload)
            self._events.stats.copies += reading is not None and reading.is_copy
            self.frontier.report(answer.outcome, now, reading)
        self._learn_from(processed, now)
        for each in processed:
            self._judges.answered(each.answer.outcome, each.page, each.reading, self.stats.pages, now)
            self._pass_on(each, now)

    def _learn_from(self, processed: Sequence[Processed], now: float) -> None:
        follow_chains(self._guard, processed)
        self._dust.learn(processed, now)
        self._script_needs.learn(processed, now)

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
        """Where an answer leads: links, places that seeds moved to, sitemaps."""
        outcome, page = processed.answer.outcome, processed.page
        task = outcome.task
        found = self._pipeline.links(processed, now, partial(self.frontier.scores.share, task.url))
        found = self.forms.answered(outcome, page, found, now)
        if isinstance(outcome, Redirected) and task.purpose is Purpose.PAGE and self.router.follow_seed(outcome):
            self._forget_links(now)
        if found:
            self.router.deliver(found, now)
        if task.purpose is Purpose.PROBE:
            take = self._takers_of_probes.get(task.probe)
            if take is not None and not isinstance(outcome, Located):
                take(outcome, self._pipeline.read_probe(processed.answer), now)
        elif page is not None:
            self.revisits.linked(task.url, page.links.urls, now)
            self.sitemaps.discovery.linked(page, now)
            self.forms.page_read(page, task.depth, now)
        elif task.purpose is Purpose.SITEMAP:
            if isinstance(outcome, Fetched) and outcome.status == 200 and processed.answer.is_read:
                self.sitemaps.read(outcome, processed.answer.stored, now)
            else:
                self.sitemaps.ended(outcome, now)
        elif task.purpose is Purpose.ROBOTS and (task.ip is not None or isinstance(outcome, Fetched | Redirected)):
            self.sitemaps.discovery.robots_read(task, now)
        if self._pipeline.gaining >= self._pipeline.max_gaining:
            self._pass_gains(now)

    def _pass_gains(self, now: float) -> None:
        """Pass the gains of links that were seen before to the frontier."""
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
        sample = self.revisits.sample_rows()
        if sample is not None:
            self._state.put_meta(sample)
        if self.focus is not None:
            self._state.put_meta(self.focus.state)
        links = self._pipeline.flush()
        self.forms.flush()
        self._records.flush()
        return ShardMeta(
            ordering=self._settings.learning_ordering,
            stats=self._events.stats,
            moved=self.router.moved,
            frontier=frontier,
            revisits=self.revisits.snapshot(),
            links=links or LinkState(),
            sitemaps=self.sitemaps.snapshot(),
            learnt=self.learnt,
            compared=self._judges.state,
        )

    # what the engine asks

    @property
    def stats(self) -> CrawlStats:
        """The crawl in numbers."""
        return self._events.stats

    def wants_tick(self, now: float) -> bool:
        """Whether a `Tick` would do something."""
        return self.sitemaps.wants_step(now) or self.forms.wants_step(now) or self._held.are_due(now)

    def wants_grant(self, now: float) -> bool:
        """Whether a `Granted` could do something."""
        if self.revisits.is_watching:
            return True
        next_at = self.frontier.next_at
        return next_at is not None and next_at <= now

    @property
    def is_full(self) -> bool:
        """Whether too much waits to be read or sent to fetch more."""
        return self.sitemaps.is_full or self.router.is_full

    def is_idle(self, now: float) -> bool:
        """Whether nothing waits and nothing is under way; or the page budget was fetched."""
        if not self.frontier.is_idle or self._held.are_due(now):
            return False
        is_over = self.frontier.is_satisfied or self._settings.revisits_only
        return is_over or (self.sitemaps.is_idle(now) and self.forms.is_idle(now))

    def preview(self, pattern: str) -> Preview:
        """Which waiting URLs a pattern matches."""
        return preview(self._state.queues, pattern)

    def check_invariants(self) -> None:
        """Check what must hold between any two inputs."""
        self.frontier.check_invariants()

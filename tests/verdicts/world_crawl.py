"""A crawl of a generated world in virtual time: the real machine on real pages, without a network or a disk.

Pages are read, compared and filtered by the code that crawls; the world answers at once, and time moves only when
politeness asks for it. So a crawl of some ten thousand pages takes seconds to a minute, and is the same each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Protocol

from periplus.collection.config.settings import Config
from periplus.engine.inputs import (
    Answered,
    Discovered,
    Effect,
    Emit,
    Fetch,
    FetchAnswer,
    Flushed,
    Granted,
    Learnt,
    PageBudgetSet,
)
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import MachineSettings, UrlPolicy
from periplus.engine.sitemaps.scheduler import SitemapScheduler
from periplus.engine.sitemaps.settings import SitemapCrawlSettings, SitemapRules
from periplus.model import (
    Discovery,
    Event,
    Fetched,
    FetchOutcome,
    FetchTask,
    Located,
    Purpose,
    Redirected,
    Rewrite,
    Site,
    Source,
    Url,
)
from periplus.parts.absence.part import AbsenceJudge
from periplus.parts.absence.settings import AbsenceTables
from periplus.parts.dust.given import GivenRules, RuleFile, write_rule_file
from periplus.parts.dust.part import DustLearner
from periplus.parts.dust.renames import Renames
from periplus.parts.dust.settings import DustTables
from periplus.parts.mirrors.part import Mirrors
from periplus.parts.mirrors.policy import MirrorHosts
from periplus.parts.mirrors.settings import MirrorTables
from periplus.policy.filters import Chain, Guard, Scope, SiteFilterState, screening_chain, standard_chain
from periplus.store import MemoryState
from periplus.urls import canonical, site_of
from periplus_lab import Answer, Request

_TOGETHER = 16
"""Requests that are answered together, as those of a crawl with a few connections."""
_COMMITTED_EVERY = 64
"""Rounds between two commits."""
_DURATION = 0.001
"""Seconds that an answer takes."""


class AnsweringWorld(Protocol):
    """A world that answers requests."""

    @property
    def epoch(self) -> float:
        """When it begins."""

    def answer(self, request: Request) -> Answer:
        """The answer to a request."""


class WorldCrawl:
    """One crawl of a world. `fetched` are the URLs of pages that were asked for, in order, with their status.

    `given` are rules for duplicate URLs from a file that a person names, `learnt` those that `periplus judge` wrote.
    """

    def __init__(
        self,
        world: AnsweringWorld,
        seeds: Iterable[str],
        config: Config | None = None,
        *,
        limit: int | None = None,
        given: GivenRules | None = None,
        learnt: RuleFile | None = None,
    ) -> None:
        self._world = world
        self._seeds = [url for seed in seeds if (url := canonical(seed)) is not None]
        config = config or hurried()
        scope = Scope(self._seeds, config.scope)
        settings = MachineSettings(
            politeness=config.politeness,
            retries=config.retries,
            frontier=config.frontier,
            reading=config.reading,
            budgets=config.budgets.of_domains() if config.scope.kind == "any" else None,
            suffixes=config.scope.suffixes,
            seeds=tuple(self._seeds),
        )
        self.state = MemoryState()
        self._guard: Guard = Chain([])

        def make_guard(recall: Callable[[Site], SiteFilterState | None]) -> Guard:
            self._guard = standard_chain(
                scope,
                config.filters,
                recall,
                learning=[partial(Renames, settings=config.some(DustTables).dust, given=given)],
            )
            return self._guard

        self.machine = Machine(
            settings,
            self.state,
            UrlPolicy(config.ordered(), scope, make_guard, screening_chain(scope, config.filters)),
            make_sitemaps=lambda desk: SitemapScheduler(
                desk, SitemapRules(SitemapCrawlSettings(config.sitemaps.follow))
            ),
            parts=[
                lambda desk: [DustLearner(desk, config.some(DustTables).dust, given or GivenRules())],
                lambda desk: [
                    AbsenceJudge(desk, config.some(AbsenceTables).absence),
                    Mirrors(desk, MirrorHosts(config.some(MirrorTables).mirrors, config.scope.suffixes)),
                ],
            ],
            load_learnt=lambda kind, _generation: self._learnt.get(kind),
        )
        self.fetched: list[tuple[Url, int]] = []
        self.events: list[Event] = []
        self.now = world.epoch
        self._learnt: dict[str, bytes] = {}
        self._generations = count(1)
        if learnt is not None:
            self.teach("dust", write_rule_file(learnt))
        self._limit = limit

    def teach(self, kind: str, content: bytes) -> None:
        """Give the crawl what a job has learnt."""
        self._learnt[kind] = content
        self._apply(self.machine.apply(Learnt(kind, next(self._generations), self.now)))

    def run(self) -> WorldCrawl:
        """Crawl until nothing is left, or the limit is reached."""
        self._apply(
            self.machine.apply(
                Discovered(tuple(Discovery(url, Source.SEED, self.now) for url in self._seeds), self.now)
            )
        )
        return self.go_on(self._limit)

    def go_on(self, limit: int | None = None) -> WorldCrawl:
        """Crawl on until nothing is left, or this limit of all pages is reached."""
        self._apply(self.machine.apply(PageBudgetSet(limit, self.now)))
        rounds = 0
        while not self.machine.frontier.is_idle:
            tasks = self._apply(self.machine.apply(Granted(_TOGETHER, self.now)))
            if not tasks:
                next_at = self.machine.frontier.next_at
                if next_at is None or self.machine.frontier.is_satisfied:
                    break
                self.now = max(self.now + _DURATION, next_at)
                continue
            answers = tuple(FetchAnswer(self._fetch(task)) for task in tasks)
            self.now += _DURATION
            self._apply(self.machine.apply(Answered(answers, self.now)))
            rounds += 1
            if rounds % _COMMITTED_EVERY == 0:
                self._apply(self.machine.apply(Flushed(self.now)))
                self.machine.flush()
        return self

    def renamed(self) -> list[tuple[Url, Url]]:
        """URLs that were not fetched because rules of their site know their pages by other names, and those names."""
        sites = dict.fromkeys(site_of(url) for url, _ in self.fetched)
        records = [record for site in sites for record in self.state.records.of_site(site)]
        old = [record.url for record in records if record.reason == "renamed"]
        judged = zip(old, self._guard.judge_all([Discovery(url, Source.LINK, self.now) for url in old]), strict=True)
        return [(url, verdict.url) for url, verdict in judged if isinstance(verdict, Rewrite)]

    def _apply(self, effects: Sequence[Effect]) -> list[FetchTask]:
        for effect in effects:
            if isinstance(effect, Emit):
                self.events += effect.events
        return [effect.task for effect in effects if isinstance(effect, Fetch)]

    def _fetch(self, task: FetchTask) -> FetchOutcome:
        if task.ip is None:
            return Located(task, "127.0.0.1", self.now + 1e9)
        host, _, target = task.url.partition("://")[2].partition("/")
        said = self._world.answer(Request("GET", host, f"/{target}", (("user-agent", "periplus"),), self.now))
        body = said.body if isinstance(said.body, bytes) else b"".join(said.body)
        if task.purpose is Purpose.PAGE:
            self.fetched.append((task.url, said.status))
        location = next((value for name, value in said.headers if name.lower() == "location"), None)
        place = canonical(location, task.url) if location is not None and 300 <= said.status < 400 else None
        if place is not None:
            return Redirected(task, said.status, place, said.headers, self.now, _DURATION, task.ip, body)
        return Fetched(task, said.status, said.headers, body, self.now, _DURATION, task.ip)


def hurried(**options: object) -> Config:
    """Settings of a crawl that waits for nothing and reads no sitemaps, with these options (`table__key`)."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    calm: dict[str, object] = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "sitemaps.follow": False}
    calm["retries.max_site_failures"] = 1000
    return Config().with_options(calm | named)

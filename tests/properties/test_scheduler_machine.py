"""The scheduler as a state machine: any verb at any time, in any order, by whoever calls it."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import Crawl

from periplus.crawl.frontier import PolitenessSettings
from periplus.model import Discovery, FetchOutcome, Source

some = st.integers(0, 1_000)


class SchedulerMachine(RuleBasedStateMachine):
    """Outcomes come early, late, never, or twice; processes die; and the watchman of `watched_crawl` looks on."""

    crawl: Crawl

    @initialize(
        seed=st.integers(0, 2**32),
        sites=st.integers(1, 5),
        capacity=st.sampled_from((1, 2, 100)),
        pages_per_visit=st.sampled_from((1, 3)),
        max_parallel=st.sampled_from((1, 2)),
    )
    def begin(self, seed: int, sites: int, capacity: int, pages_per_visit: int, max_parallel: int) -> None:
        politeness = PolitenessSettings(pages_per_visit=pages_per_visit, max_parallel=max_parallel, lease=100.0)
        self.crawl = Crawl(World(seed, sites, 5, addresses=2), politeness=politeness, capacity=capacity)
        self.late: list[FetchOutcome] = []

    @rule(which=some)
    def discover(self, which: int) -> None:
        crawl = self.crawl
        url = crawl.world.urls[which % len(crawl.world.urls)]
        crawl.scheduler.discover([Discovery(url, Source.LINK, crawl.now)], crawl.now)

    @rule(limit=st.integers(0, 5))
    def take(self, limit: int) -> None:
        self.crawl.begin(limit)

    @precondition(lambda self: self.crawl.under_way)
    @rule(which=some)
    def end(self, which: int) -> None:
        self.crawl.end(which % len(self.crawl.under_way))

    @precondition(lambda self: self.crawl.under_way)
    @rule(which=some)
    def lose(self, which: int) -> None:
        outcome = self.crawl.lose(which % len(self.crawl.under_way))
        if outcome is not None:
            self.late.append(outcome)

    @precondition(lambda self: self.late)
    @rule()
    def report_what_nobody_waits_for(self) -> None:
        """A report that comes when its lease is over changes nothing."""
        scheduler, outcome = self.crawl.scheduler, self.late.pop()
        self.crawl.wait(max(0.0, outcome.task.lease_ends_at - self.crawl.now))
        self.crawl.begin(0)
        before = scheduler.census(), scheduler.next_at
        scheduler.report(outcome, self.crawl.now)
        assert (scheduler.census(), scheduler.next_at) == before

    @rule(seconds=st.sampled_from((0.01, 0.5, 3.0, 40.0, 1000.0, 90_000.0)))
    def wait(self, seconds: float) -> None:
        crawl = self.crawl
        soon = min((entry[0] for entry in crawl.under_way if entry[3] is None), default=crawl.now + seconds)
        crawl.wait(min(seconds, max(0.0, soon - crawl.now)))

    @rule(is_saved=st.booleans())
    def die(self, is_saved: bool) -> None:
        if is_saved:
            self.crawl.scheduler.save()
        self.crawl.crash()
        self.late.clear()

    @invariant()
    def everything_holds(self) -> None:
        if hasattr(self, "crawl"):
            self.crawl.scheduler.check_invariants()

    def teardown(self) -> None:
        """Left alone with an ordinary wire, it comes to its end."""
        if hasattr(self, "crawl"):
            while self.crawl.under_way:
                self.crawl.end(0)
            self.crawl.run(5_000)
            self.crawl.check_end()


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

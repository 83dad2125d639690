"""The frontier as a state machine: any call at any time, in any order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.hypothesis_depth import examples
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import Crawl

from periplus.engine.frontier import PolitenessSettings
from periplus.engine.overview import frontier_stats
from periplus.model import Discovery, FetchOutcome, Source

some = st.integers(0, 1_000)


class FrontierMachine(RuleBasedStateMachine):
    """Outcomes arrive early, late, never, or twice; processes are killed; `watched_crawl` checks every request."""

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
        crawl.discover([Discovery(url, Source.LINK, crawl.now)])

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
    def report_late(self) -> None:
        """A report after the end of the lease changes nothing."""
        crawl, outcome = self.crawl, self.late.pop()
        crawl.wait(max(0.0, outcome.task.lease_ends_at - crawl.now))
        crawl.begin(0)
        before = frontier_stats(crawl.state, crawl.frontier), crawl.frontier.next_at
        assert not crawl.frontier.report(outcome, crawl.now)
        assert (frontier_stats(crawl.state, crawl.frontier), crawl.frontier.next_at) == before

    @rule(seconds=st.sampled_from((0.01, 0.5, 3.0, 40.0, 1000.0, 90_000.0)))
    def wait(self, seconds: float) -> None:
        crawl = self.crawl
        soon = min((entry[0] for entry in crawl.under_way if entry[3] is None), default=crawl.now + seconds)
        crawl.wait(min(seconds, max(0.0, soon - crawl.now)))

    @rule()
    def commit(self) -> None:
        self.crawl.commit()

    @rule(has_power=st.booleans())
    def die(self, has_power: bool) -> None:
        if has_power:
            self.crawl.crash()
        else:
            self.crawl.lose_power()
        self.late.clear()

    @invariant()
    def everything_holds(self) -> None:
        if hasattr(self, "crawl"):
            self.crawl.frontier.check_invariants()

    def teardown(self) -> None:
        """Without further trouble, the crawl ends."""
        if hasattr(self, "crawl"):
            while self.crawl.under_way:
                self.crawl.end(0)
            self.crawl.run(5_000)
            self.crawl.check_end()


TestFrontier = FrontierMachine.TestCase
TestFrontier.settings = settings(max_examples=examples(15), stateful_step_count=40, deadline=None)

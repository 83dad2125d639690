"""Politeness and exactly once, over worlds of chance in virtual time: the watchman of `watched_crawl` breaks off.

What it watches at every request: none but as many as allowed are under way at a site, the site has rested, its address
has been left alone, its robots.txt is known and allows it, the URL has not come to its end before. What it checks at
the end: every URL came to one end and says which, within its attempts.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import Crawl, Weather

from periplus.crawl.frontier import PolitenessSettings, RetrySettings, reason_of, retry_for
from periplus.model import Fetched, Purpose
from periplus.store import DiskState

worlds = st.builds(World, st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 8), addresses=st.integers(1, 4))
manners = st.builds(
    PolitenessSettings,
    delay=st.sampled_from((0.0, 1.0, 5.0)),
    slow_factor=st.sampled_from((0.0, 5.0)),
    ip_delay=st.sampled_from((-1.0, 0.0, 2.0)),
    pages_per_visit=st.sampled_from((1, 1, 3)),
    max_parallel=st.sampled_from((1, 1, 3)),
)
weathers = st.builds(
    Weather, lost=st.sampled_from((0.0, 0.1)), cancelled=st.sampled_from((0.0, 0.1)), slots=st.sampled_from((1, 2, 8))
)


@settings(max_examples=150)
@given(worlds, manners, weathers)
def test_every_request_is_polite_and_every_url_ends_once(
    world: World, politeness: PolitenessSettings, weather: Weather
) -> None:
    """Whatever sites answer, and whatever becomes of tasks."""
    crawl = Crawl(world, politeness=politeness, weather=weather)
    crawl.seed()
    crawl.run(5_000)
    crawl.check_end()


@settings(max_examples=50)
@given(worlds, st.integers(1, 3), weathers)
def test_more_sites_than_places(world: World, capacity: int, weather: Weather) -> None:
    """Sites that find no place on the workbench are visited in the end, also when errands lead to them."""
    crawl = Crawl(world, capacity=capacity, weather=weather)
    crawl.seed()
    crawl.run(5_000)
    crawl.check_end()


@settings(max_examples=50)
@given(worlds, manners, st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=4))
def test_a_scheduler_that_dies_loses_nothing(
    world: World, politeness: PolitenessSettings, lives: list[tuple[int, bool]]
) -> None:
    """Whoever opens the state anew finds all that waited; sites that may have been under way rest once more."""
    crawl = Crawl(world, politeness=politeness)
    crawl.seed()
    for steps, is_saved in lives:
        crawl.run(steps)
        if is_saved:
            crawl.scheduler.save()
        crawl.crash()
    crawl.run(5_000)
    crawl.check_end()


@settings(max_examples=25)
@given(st.integers(0, 2**32), manners, st.lists(st.tuples(st.integers(1, 30), st.booleans()), max_size=4))
def test_what_had_arrived_but_was_not_committed_is_resumed(
    seed: int, politeness: PolitenessSettings, lives: list[tuple[int, bool]]
) -> None:
    """On disk, killed between commits: with the outcomes noted since, nothing that had arrived is fetched again."""
    with TemporaryDirectory() as folder:
        opened: list[DiskState] = []

        def reopen() -> DiskState:
            if opened:
                opened[-1].close()
            opened.append(DiskState(Path(folder)))
            return opened[-1]

        crawl = Crawl(World(seed, 4, 5), state=reopen(), politeness=politeness)
        crawl.seed()
        crawl.commit()
        for steps, is_committed in lives:
            crawl.run(steps)
            if is_committed:
                crawl.commit()
            crawl.run(3)
            crawl.crash(reopen)
        crawl.run(5_000)
        crawl.check_end(is_counted=False)
        opened[-1].check_invariants()
        opened[-1].close()


@settings(max_examples=30)
@given(worlds, weathers)
def test_the_same_seed_is_the_same_crawl(world: World, weather: Weather) -> None:
    """Chance comes from the given `Random` and from nowhere else."""
    runs = []
    for _ in range(2):
        world.asked.clear()
        crawl = Crawl(world, weather=weather)
        crawl.seed()
        crawl.run(5_000)
        runs.append([(start.at, start.task.url, start.task.attempt) for start in crawl.starts])
    assert runs[0] == runs[1]


@settings(max_examples=50)
@given(worlds, st.integers(0, 12), weathers)
def test_no_more_pages_than_allowed(world: World, allowance: int, weather: Weather) -> None:
    """An allowance counts what arrived, not what was tried; when it is used up nothing begins, and nobody waits."""
    crawl = Crawl(world, allowance=allowance, weather=weather)
    crawl.seed()
    crawl.run(5_000)
    assert crawl.scheduler.is_idle
    pages = [out for out in crawl.reported if out.task.purpose is Purpose.PAGE and isinstance(out, Fetched)]
    good = sum(page.status < 400 for page in pages)
    assert good <= allowance
    if good < allowance:
        crawl.check_end()


@settings(max_examples=50)
@given(worlds, manners)
def test_nobody_looks_in_vain_for_long(world: World, politeness: PolitenessSettings) -> None:
    """A scheduler that said when to come back has something to do then: to give a task, or to file what was aside."""
    crawl = Crawl(world, politeness=politeness)
    crawl.seed()
    crawl.run(5_000)
    failures = sum(retry_for(reason_of(outcome)).again for outcome in crawl.reported)
    assert crawl.vain_takes <= len(world.sites) + failures
    assert crawl.takes <= 4 * (len(crawl.reported) + len(world.urls)) + 20


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_a_crawl_ends_in_bounded_time(seed: int) -> None:
    """So many attempts, each with so long a wait: no site can hold a crawl for ever."""
    world = World(seed, 5, 6)
    retries = RetrySettings(max_attempts=3, backoff=10.0, max_backoff=100.0)
    crawl = Crawl(world, retries=retries, politeness=PolitenessSettings(lease=60.0), weather=Weather(lost=0.2))
    crawl.seed()
    began_at = crawl.now
    crawl.run(5_000)
    crawl.check_end()
    questions = 3 * len(world.urls) + 30 * len(world.sites)
    assert crawl.now - began_at <= questions * (100.0 * 1.25 + 60.0 + 150.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_world(seed: int) -> None:
    """The same rules with a hundred sites on twenty addresses, and a workbench of thirty."""
    world = World(Random(seed).randrange(2**32), 100, 10, addresses=20)
    crawl = Crawl(world, capacity=30, weather=Weather(slots=20))
    crawl.seed()
    crawl.run(100_000)
    crawl.check_end()

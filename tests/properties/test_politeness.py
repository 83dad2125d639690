"""Politeness and exactly once, over random worlds in virtual time, checked by `watched_crawl`.

At every request: no more than allowed are under way at the site, the site has rested, so has its address, its
robots.txt is known and allows the request, and the URL has not ended before. At the end: every URL ended once, within
its attempts, and its record says how.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples
from tests.properties.simulated_web import World
from tests.properties.watched_crawl import Crawl, Trouble

from periplus.engine.frontier import PolitenessSettings, RetrySettings, reason_of, retry_for
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
troubles = st.builds(
    Trouble, lost=st.sampled_from((0.0, 0.1)), cancelled=st.sampled_from((0.0, 0.1)), slots=st.sampled_from((1, 2, 8))
)


@settings(max_examples=examples(15))
@given(worlds, manners, troubles)
def test_every_request_is_polite_and_every_url_ends_once(
    world: World, politeness: PolitenessSettings, trouble: Trouble
) -> None:
    """Whatever sites answer, and whether tasks are lost or cancelled."""
    crawl = Crawl(world, politeness=politeness, trouble=trouble)
    crawl.seed()
    crawl.run(5_000)
    crawl.check_end()


@settings(max_examples=examples(10))
@given(worlds, st.integers(1, 3), troubles)
def test_more_sites_than_capacity(world: World, capacity: int, trouble: Trouble) -> None:
    """Sites beyond the capacity are visited in the end, also when delegated requests lead to them."""
    crawl = Crawl(world, capacity=capacity, trouble=trouble)
    crawl.seed()
    crawl.run(5_000)
    crawl.check_end()


lives = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 10), st.booleans()), min_size=1, max_size=4)
"""For each process: steps before its commit, steps after it, and whether it is killed or the machine loses power."""


@settings(max_examples=examples(10))
@given(worlds, manners, lives)
def test_killed_process_loses_nothing(
    world: World, politeness: PolitenessSettings, lives: list[tuple[int, int, bool]]
) -> None:
    """The next process has everything that was logged; sites rest once more before they are asked."""
    crawl = Crawl(world, politeness=politeness)
    crawl.seed()
    crawl.commit()
    for committed, logged, has_power in lives:
        crawl.run(committed)
        crawl.commit()
        crawl.run(logged)
        if has_power:
            crawl.crash()
        else:
            crawl.lose_power()
    crawl.run(5_000)
    crawl.check_end()


@settings(max_examples=examples(5))
@given(st.integers(0, 2**32), manners, lives)
def test_killed_process_loses_nothing_on_disk(
    seed: int, politeness: PolitenessSettings, lives: list[tuple[int, int, bool]]
) -> None:
    """The same with stores on disk: what had arrived is not fetched again."""
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
        for committed, logged, has_power in lives:
            crawl.run(committed)
            crawl.commit()
            crawl.run(logged)
            if has_power:
                crawl.crash(reopen)
            else:
                crawl.lose_power(reopen)
        crawl.run(5_000)
        crawl.check_end()
        opened[-1].check_invariants()
        opened[-1].close()


@settings(max_examples=examples(8))
@given(worlds, troubles)
def test_same_seed_gives_same_crawl(world: World, trouble: Trouble) -> None:
    """Chance comes from the given `Random` only."""
    runs = []
    for _ in range(2):
        world.asked.clear()
        crawl = Crawl(world, trouble=trouble)
        crawl.seed()
        crawl.run(5_000)
        runs.append([(start.at, start.task.url, start.task.attempt) for start in crawl.starts])
    assert runs[0] == runs[1]


@settings(max_examples=examples(10))
@given(worlds, st.integers(0, 12), troubles)
def test_no_more_pages_than_the_budget(world: World, page_budget: int, trouble: Trouble) -> None:
    """The budget counts what arrived, not what was tried; when it is used up, the frontier is idle."""
    crawl = Crawl(world, page_budget=page_budget, trouble=trouble)
    crawl.seed()
    crawl.run(5_000)
    assert crawl.frontier.is_idle
    pages = [out for out in crawl.reported if out.task.purpose is Purpose.PAGE and isinstance(out, Fetched)]
    good = sum(page.status < 400 for page in pages)
    assert good <= page_budget
    if good < page_budget:
        crawl.check_end()


@settings(max_examples=examples(10))
@given(worlds, manners)
def test_next_at_is_seldom_wrong(world: World, politeness: PolitenessSettings) -> None:
    """At the time that `next_at` gives there is something to do: grant a task, or release what was postponed."""
    crawl = Crawl(world, politeness=politeness)
    crawl.seed()
    crawl.run(5_000)
    failures = sum(retry_for(reason_of(outcome)).again for outcome in crawl.reported)
    assert crawl.vain_takes <= len(world.sites) + failures
    assert crawl.takes <= 4 * (len(crawl.reported) + len(world.urls)) + 20


@settings(max_examples=examples(8))
@given(st.integers(0, 2**32))
def test_a_crawl_ends_in_bounded_time(seed: int) -> None:
    """Attempts and waits are bounded: no site can hold up a crawl forever."""
    world = World(seed, 5, 6)
    retries = RetrySettings(max_attempts=3, backoff=10.0, max_backoff=100.0)
    crawl = Crawl(world, retries=retries, politeness=PolitenessSettings(lease=60.0), trouble=Trouble(lost=0.2))
    crawl.seed()
    began_at = crawl.now
    crawl.run(5_000)
    crawl.check_end()
    questions = 3 * len(world.urls) + 30 * len(world.sites)
    assert crawl.now - began_at <= questions * (100.0 * 1.25 + 60.0 + 150.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_larger_world(seed: int) -> None:
    """The same rules with a hundred sites at twenty addresses, of which thirty may be active."""
    world = World(Random(seed).randrange(2**32), 100, 10, addresses=20)
    crawl = Crawl(world, capacity=30, trouble=Trouble(slots=20))
    crawl.seed()
    crawl.run(100_000)
    crawl.check_end()

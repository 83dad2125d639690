"""No verdict loses an honest page, on webs of every kind that three seeds draw; and what a kind may waste."""

from __future__ import annotations

from random import Random

import pytest
from tests.verdicts.crawled import crawl_kind
from tests.verdicts.webs import KINDS, clubs
from tests.verdicts.world_crawl import WorldCrawl, hurried

from periplus_lab.spam_web import Farm, HostileWorld

pytestmark = pytest.mark.proof


SEEDS = (1, 2, 3)
ONCE_LOST = [
    ("large trees", 42384825),
    ("trees that are nearly alike", 42384822),
    ("trees that are nearly alike", 42384823),
]
"""Kinds and seeds of webs that were not read whole once."""


@pytest.mark.proof
@pytest.mark.parametrize(("kind", "seed"), [*((kind, seed) for kind in KINDS for seed in SEEDS), *ONCE_LOST])
def test_no_honest_page_is_lost(kind: str, seed: int) -> None:
    """Every page that is owed is found, and no more is wasted than the kind allows."""
    harvest = crawl_kind(kind, seed)
    assert harvest.lost == ()
    assert not harvest.missed
    assert harvest.wasted <= harvest.allowance
    assert harvest.requests <= harvest.most


@pytest.mark.proof
@pytest.mark.parametrize("delay", [0.0, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_small_domains_behind_one_hub_are_read_when_others_are(seed: int, delay: float) -> None:
    """Domains that nobody has judged come last, and all of them come, whether or not a verdict ever does."""
    web = clubs(Random(seed))
    crawl = WorldCrawl(web, web.seeds, hurried(scope__kind="any", politeness__delay=delay)).run()
    found = {web.subject(url) for url, _ in crawl.fetched}
    assert web.owed <= found
    assert crawl.now - web.epoch < 2 * len(crawl.fetched) * max(delay, 0.1) + 60


@pytest.mark.proof
@pytest.mark.parametrize("delay", [0.0, 0.1, 1.0])
def test_a_farm_gets_little_before_the_first_verdict(delay: float) -> None:
    """However fast or slow the crawl is: while the domains of seeds have pages, others get their share at most."""
    world = HostileWorld(31, 200, pages=6000, parts=(Farm,))
    seeds = [f"http://{site.host}/" for site in list(world.sites())[::10]]
    config = hurried(scope__kind="any", scope__suffixes=("lab.test",), politeness__delay=delay)
    crawl = WorldCrawl(world, seeds, config, limit=400).run()
    farm = sum(world.is_spam(url.split("/")[2]) for url, _ in crawl.fetched)
    assert farm <= 0.1 * len(crawl.fetched)

"""A site with two sources of pages: what both list is fetched once and credited to both."""

from __future__ import annotations

from tests.properties.simulated_web import World
from tests.properties.watched_crawl import START, Crawl

from periplus.model import Discovery, Purpose, Site, Source, Url
from periplus.policy.balance import Epoch, SiteBalance

SITE = Site("s0.test")


def crawl_of(world: World, linked: list[Url], listed: list[Url]) -> tuple[Crawl, tuple[Epoch, ...]]:
    """Crawl to the end; the epochs of the balance."""
    crawl = Crawl(world)
    crawl.seed(linked)
    crawl.discover([Discovery(url, Source.SITEMAP, START, 1, score=1.0) for url in listed])
    crawl.run()
    crawl.check_end()
    crawl.commit()
    [kept] = crawl.state.sites.get([SITE])
    assert kept is not None
    return crawl, SiteBalance(record=kept.balance).history


def test_what_both_know_is_fetched_once_and_counts_for_both() -> None:
    """The two take turns, so that one alone would be credited with every even page and the other with every odd one."""
    world = World.plain(1, 24)
    for url in world.urls[1::2]:
        world.kinds[url] = "404"
    crawl, history = crawl_of(world, world.urls, world.urls)
    pages = [start.task.url for start in crawl.starts if start.task.purpose is Purpose.PAGE]
    assert sorted(pages) == sorted(world.urls)
    for good, known in (
        (history[0].sitemaps_good, history[0].sitemaps_known),
        (history[0].discovery_good, history[0].discovery_known),
    ):
        assert known == 5
        assert 0 < good < 5


def test_what_one_alone_knows_counts_for_it_alone() -> None:
    """A list of dead pages takes its source's credit, and its budget, and not the other's."""
    world = World.plain(1, 200)
    linked, listed = world.urls[:100], world.urls[100:]
    for url in listed:
        world.kinds[url] = "404"
    crawl, history = crawl_of(world, linked, listed)
    assert (history[0].sitemaps_good, history[0].discovery_good) == (0, 5)
    assert [epoch.sitemaps for epoch in history[:3]] == [10, 5, 5]
    first = [start.task.url for start in crawl.starts if start.task.purpose is Purpose.PAGE][:80]
    assert sum(url in linked for url in first) >= 55

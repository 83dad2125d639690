"""A crawl that reads what sites publish about themselves, compared with what the world itself knows of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.crawling import by_proxy, crawl, make_files_due, rows, standing

from periplus.engine.sitemaps.store import SitemapStore
from periplus.engine.sitemaps.trees import SitemapNode
from periplus.model import Site
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.urls import canonical
from periplus_lab import World, sitemaps
from periplus_lab.log import Visit

HURRIED = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02, "sitemaps.follow": True}

FORGOTTEN = 100
"""URLs of a forgotten sitemap, instead of tens of thousands."""


class Crawled(NamedTuple):
    """A crawl, what the servers saw of it, and what they saw of a second one when every file was due again."""

    world: World
    folder: Path
    visits: list[Visit]
    again: list[Visit]
    readings: tuple[dict[str, int], dict[str, int]]


def files(folder: Path) -> list[SitemapNode]:
    """Every file that the crawl knows of."""
    state = DiskState.read_only(Layout(folder).shard(0))
    try:
        nodes = SitemapStore(state)
        hosts = {Site(node["site"]) for node in rows(folder, "select distinct site from fetches")}
        return [node for host in hosts for node in nodes.of_site(host)]
    finally:
        state.close()


def readings(folder: Path) -> dict[str, int]:
    """How often each file was read."""
    found = rows(folder, "select sitemap, count(*) n from sitemap_entries where kind = 'summary' group by all")
    return {row["sitemap"]: row["n"] for row in found}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Fifteen sites of all profiles, twice."""
    world = World(28, 15, pages=100)
    folder = tmp_path_factory.mktemp("sitemaps")
    seeds = [site.url for site in world.sites()]
    with standing(world) as lab, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sitemaps, "HUGE", FORGOTTEN)
        crawl(folder, seeds, by_proxy(lab) | HURRIED)
        first, read = lab.log.visits(), readings(folder)
        make_files_due(folder)
        crawl(folder, seeds, by_proxy(lab) | HURRIED)
        yield Crawled(world, folder, first, lab.log.visits()[len(first) :], (read, readings(folder)))


@pytest.mark.proof
def test_everything_that_a_readable_sitemap_lists_is_found(crawled: Crawled) -> None:
    """And who listed it is known, whether or not links had led there before."""
    world = crawled.world
    told = {
        row["url"] for row in rows(crawled.folder, "select url from discoveries where source in ('sitemap', 'feed')")
    }
    truth = {canonical(entry.url) for site in world.sites() for _, entry in world.listed(site.host, world.epoch)}
    assert len(truth) > 200
    assert truth - told == set()


@pytest.mark.proof
def test_nothing_is_fetched_that_robots_forbids(crawled: Crawled) -> None:
    """Neither pages that a sitemap lists, nor sitemaps."""
    asked = {visit.url for visit in crawled.visits if visit.target != "/robots.txt"}
    assert [url for url in asked if not crawled.world.allowed("periplus", url)] == []


@pytest.mark.proof
def test_first_seen_times_are_those_of_the_sources(crawled: Crawled) -> None:
    """A URL that both know has a time from each, and the earlier one made it new."""
    both = rows(
        crawled.folder,
        """select url, epoch(min(case when source in ('sitemap', 'feed') then found_at end)) listed,
                  epoch(min(case when source not in ('sitemap', 'feed') then found_at end)) linked,
                  count(*) filter (where is_new) as news
           from discoveries where refused is null group by url having count(*) > 1""",
    )
    both = [row for row in both if row["listed"] is not None and row["linked"] is not None]
    assert len(both) > 50
    assert {row["news"] for row in both} == {1}


@pytest.mark.proof
def test_a_page_of_two_lanes_is_fetched_once(crawled: Crawled) -> None:
    """However it is known."""
    asked = Counter(visit.url for visit in crawled.visits if visit.status == 200 and visit.target != "/robots.txt")
    assert [url for url, count in asked.items() if count > 1] == []


@pytest.mark.proof
def test_an_unchanged_forest_costs_one_request_a_file_and_no_reading(crawled: Crawled) -> None:
    """Those that were due are asked for once, most of them on condition; what they list is not read again."""
    due = {node.url for node in files(crawled.folder) if not node.retired}
    asked = [visit for visit in crawled.again if visit.url in due]
    assert len(asked) == len({visit.url for visit in asked}) == len(due)
    same = [visit.url for visit in asked if visit.status == 304]
    assert len(same) > 0.9 * len(due)
    before, after = crawled.readings
    assert len(before) > 100
    assert [url for url in same if after[url] != before[url]] == []

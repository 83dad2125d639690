"""What shards know of themselves, beside their sites, when their number changes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from periplus.collection.config.settings import Config
from periplus.collection.resizing import resize
from periplus.engine.frontier import FrontierState, ScoreState
from periplus.engine.frontier.steering import SteeringState
from periplus.engine.link_state import LinkState
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.revisit.records import RevisitState
from periplus.engine.router import owner_of
from periplus.engine.sitemaps.file import unpack_slice
from periplus.engine.sitemaps.store import SitemapState, SitemapStore, UnfinishedFile
from periplus.engine.sitemaps.trees import Origin, SitemapNode, TreeSpending
from periplus.engine.stats import CrawlStats
from periplus.model import (
    AddressVisits,
    Fetched,
    FetchTask,
    FirstSeen,
    Lane,
    LinkChunk,
    Purpose,
    Queued,
    Site,
    SiteVisits,
    Source,
    Stage,
    Url,
    UrlRecord,
    UrlScore,
)
from periplus.store import DiskState, SiteState
from periplus.store.layout import Layout

SITES = [Site(f"site{number}.test") for number in range(60)]
NOW = 1_800_000_000.0
STEERING = SteeringState(("*/private/*",), ("*/news/*",))
ENTRIES = 9_000
"""Entries of a sitemap: more than are read in one step."""


def file_of(site: Site) -> Url:
    return Url(f"https://{site}/sitemap.xml")


def found(folder: Path, shards: int) -> None:
    """Shards that are at rest, each with its sites, and what it has counted of them."""
    for number in range(shards):
        with closing(DiskState(Layout(folder).shard(number), shard=number)) as state:
            mine = [site for site in SITES if owner_of(site, shards) == number]
            for site in mine:
                fill(state, site)
            state.addresses.put([AddressVisits(number, NOW)])
            state.recent_links.put([LinkChunk(3, b"")])
            state.put_meta(
                ShardMeta(
                    commits=5,
                    ordering="batch-pagerank",
                    stats=CrawlStats(pages=10 + number),
                    moved=[Url(f"https://moved{number}.test/")],
                    frontier=FrontierState(
                        10 + number,
                        99,
                        False,
                        2 * len(mine),
                        scores=ScoreState(8, len(mine), 3 * len(mine)),
                        steering=STEERING,
                    ),
                    links=LinkState(1, 2, 4),
                )
            )
            state.put_meta(RevisitState("x", 500.0, 300.0, shards, 2.5, factor=9, waiting=1, added=(file_of(mine[0]),)))
            state.put_meta(SitemapState([], [file_of(site) for site in mine]))
            state.commit()


def fill(state: DiskState, site: Site) -> None:
    """Three URLs that wait for their first visit, two for the next, one in the pool; and a sitemap."""
    urls = [Url(f"https://{site}/{number}") for number in range(6)]
    lanes = [Lane.DISCOVERY, Lane.DISCOVERY, Lane.SITEMAPS, Lane.REFRESH, Lane.REFRESH]
    state.records.add_new([UrlRecord(url, (FirstSeen(Source.LINK, NOW),)) for url in urls])
    state.queues.push([Queued(url, site, lane, 7) for url, lane in zip(urls, lanes, strict=False)])
    state.queues.push([Queued(file_of(site), site, Lane.FILES, 0)])
    state.standings.put([(urls[5], UrlScore(1.0, Stage.POOLED)), (urls[0], UrlScore(1.0, Stage.DONE))])
    state.sites.put([SiteState(site, ready_at=NOW)])
    state.visits.put([SiteVisits(site, 1, NOW, 7)])
    store = SitemapStore(state)
    store.put(SitemapNode(file_of(site), file_of(site), Origin.ROBOTS, NOW))
    store.put_spending(file_of(site), TreeSpending(1, 2, 3))


@pytest.mark.parametrize("after", [1, 2, 4])
def test_what_was_counted_is_counted_of_the_new_sites(tmp_path: Path, after: int) -> None:
    """Numbers that depend on the sites of a shard are those of its new ones; numbers of the past add up."""
    found(tmp_path, 3)
    resize(Config(), tmp_path, (), after)
    layout, metas = Layout(tmp_path), []
    for number in range(after):
        mine = [site for site in SITES if owner_of(site, after) == number]
        with closing(DiskState.read_only(layout.shard(number), shard=number)) as state:
            meta = state.meta(ShardMeta)
            assert meta is not None
            assert [list(state.visits), list(state.addresses), list(state.recent_links)] == [[], [], []]
            spent = [SitemapStore(state).spending(file_of(site)) for site in mine]
            sitemaps = state.meta(SitemapState) or SitemapState()
            revisits = state.meta(RevisitState) or RevisitState()
        frontier = meta.frontier
        assert (frontier.is_crowded, frontier.leases, frontier.revisits_waiting) == (True, [], 2 * len(mine))
        assert frontier.scores is not None
        assert frontier.steering == STEERING
        assert (frontier.scores.pooled, frontier.scores.left) == (len(mine), 3 * len(mine))
        assert (revisits.factor, revisits.added, revisits.waiting) == (0, (), 2 * len(mine))
        assert revisits.parts not in (after, 3)
        assert meta.links == LinkState()
        assert set(map(file_of, mine)) <= set(sitemaps.postponed)
        assert spent == [TreeSpending(1, 2, 3)] * len(mine)
        assert (meta.ordering, meta.commits) == ("batch-pagerank", 5 if number < 3 else 1)
        metas.append(meta)
    assert sum(meta.stats.pages for meta in metas) == sum(meta.frontier.pages_done for meta in metas) == 33
    assert {url for meta in metas for url in meta.moved} == {f"https://moved{number}.test/" for number in range(3)}
    if after == 4:
        assert len(metas[3].moved) == 3


def test_a_plan_that_comes_back_changes_nothing(tmp_path: Path) -> None:
    """A machine that lost power may find the file of a plan again, of which all was done, and crawled since."""
    found(tmp_path, 2)
    layout = Layout(tmp_path)
    layout.resizing.write_bytes(b'{"before":2,"after":3,"token":"x"}')
    plan = layout.resizing.read_bytes()
    resize(Config(), tmp_path, (), 3)
    with closing(DiskState(layout.shard(2), shard=2)) as state:
        meta = state.meta(ShardMeta)
        assert meta is not None
        crawled = replace(meta, commits=7, stats=CrawlStats(pages=4))
        site = next(site for site in SITES if owner_of(site, 3) == 2)
        state.put_meta(crawled)
        state.visits.put([SiteVisits(site, 1, NOW, 7)])
        state.commit()
    layout.resizing.write_bytes(plan)
    assert resize(Config(), tmp_path, (), 3).rows == 0
    with closing(DiskState.read_only(layout.shard(2), shard=2)) as state:
        assert state.meta(ShardMeta) == crawled
        assert [row.site for row in state.visits] == [site]


def test_sitemaps_that_are_half_read_are_read_to_their_end(tmp_path: Path) -> None:
    """What they list of their own site and of one at another shard is with the shards that have these afterwards."""
    own = next(site for site in SITES if owner_of(site, 2) == 0 and owner_of(site, 3) == 0)
    foreign = next(site for site in SITES if owner_of(site, 2) == 1 and owner_of(site, 3) == 1)
    unfinished = half_read(own, foreign)
    layout = Layout(tmp_path)
    for number in range(2):
        with closing(DiskState(layout.shard(number), shard=number)) as state:
            files = [unfinished] if number == 0 else []
            if number == 0:
                SitemapStore(state).put(unfinished.node)
            state.put_meta(ShardMeta(commits=1))
            state.put_meta(SitemapState(files))
            state.commit()
    seeds = [Url(f"https://{site}/") for site in (own, foreign)]
    resize(Config(), tmp_path, seeds, 3)
    listed: dict[Site, set[Url]] = {own: set(), foreign: set()}
    for number in range(3):
        with closing(DiskState(layout.shard(number), shard=number)) as state:
            meta = state.meta(ShardMeta)
            assert meta is not None
            assert (state.meta(SitemapState) or SitemapState()).unfinished == []
            for site in (own, foreign):
                urls = waiting(state, site)
                assert not urls or owner_of(site, 3) == number
                listed[site] |= urls
            if number == 0:
                node = SitemapStore(state).get(file_of(own))
                assert node is not None
                assert (node.entries, node.read_at is not None) == (ENTRIES, True)
    for site, urls in listed.items():
        assert urls == {f"https://{site}/{number}" for number in range(ENTRIES) if (own, foreign)[number % 2] == site}


def half_read(own: Site, foreign: Site) -> UnfinishedFile:
    """A sitemap of one site that lists pages of both, and for which both vouch; not read at all yet."""
    urls = [f"https://{(own, foreign)[number % 2]}/{number}" for number in range(ENTRIES)]
    body = "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"
    task = FetchTask(file_of(own), own, Purpose.SITEMAP, Lane.FILES, NOW + 60)
    outcome = Fetched(task, 200, (("Content-Type", "application/xml"),), body.encode(), NOW, 0.1)
    node = SitemapNode(file_of(own), file_of(own), Origin.ROBOTS, NOW, vouching=(own, foreign), due_at=NOW)
    return UnfinishedFile(outcome, None, node, (own, foreign), NOW, 0)


def waiting(state: DiskState, site: Site) -> set[Url]:
    """The pages of a site that wait in its queues, or are listed to be queued."""
    urls = {ticket.entry.url for lane in Lane for ticket in state.queues.heads(site, lane, ENTRIES)}
    while (packed := state.listings.take(site)) is not None:
        urls |= {found.url for found in unpack_slice(packed).discoveries()}
    return urls

"""Two sources, one budget, on sites of which one is bad: balance against either source alone, and against halves."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.balanced_crawls import BALANCE, WAYS, Yield, crawled, harvest, is_worth
from tests.lab.cluttered_world import KINDS, ClutteredWorld
from tests.lab.crawling import rows

from periplus.collection.facts.balance import BalanceFacts, balance_of
from periplus.engine.sitemaps.show import sources_of
from periplus.model import Site, SourceFacts
from periplus.policy.settings import BalanceSettings
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab.sites import Profile

BUDGET = 360
OTHERS = ("links alone", "sitemaps alone", "half and half")
GOOD_LINKS, GOOD_SITEMAP = Profile.STALE, Profile.BUILD


class Balanced(NamedTuple):
    """What the balanced crawl brought, and where its collection lies."""

    world: ClutteredWorld
    balanced: Yield
    folder: Path

    def host(self, profile: Profile) -> Site:
        """The site that says this of itself."""
        return Site(next(site.host for site in self.world.sites() if site.profile is profile))

    def facts(self, host: Site) -> tuple[BalanceFacts, SourceFacts]:
        """What a person is told of a site."""
        state = DiskState.read_only(Layout(self.folder).shard(0))
        try:
            kept = state.sites.get([host])[0]
            balance = None if kept is None else balance_of(kept, BalanceSettings())
            assert balance is not None
            return balance, sources_of(state, host)
        finally:
            state.close()


@pytest.fixture(scope="module")
def balanced(tmp_path_factory: pytest.TempPathFactory) -> Balanced:
    """Two sites, each with one bad source: links that name the page they stand on, and a forgotten sitemap."""
    profiles = (GOOD_SITEMAP, GOOD_LINKS)
    world = ClutteredWorld(6, 2, pages=1600, profiles=profiles, of=frozenset({GOOD_SITEMAP}))
    folder = tmp_path_factory.mktemp("balance")
    return Balanced(world, harvest(world, crawled(world, WAYS[BALANCE], BUDGET, folder), BUDGET), folder)


@pytest.mark.slow
def test_balance_brings_a_tenth_more_than_any_other_way(balanced: Balanced, tmp_path: Path) -> None:
    """Of the same number of requests, unique and indexable pages by the world's own judgement."""
    world, found = balanced.world, {}
    for way in OTHERS:
        (tmp_path / way).mkdir()
        found[way] = harvest(world, crawled(world, WAYS[way], BUDGET, tmp_path / way), BUDGET)
    assert {each.requests for each in (balanced.balanced, *found.values())} == {BUDGET}
    assert [way for way in OTHERS if balanced.balanced.total < 1.1 * found[way].total] == []


@pytest.mark.proof
def test_budget_moves_to_the_better_source_of_each_site(balanced: Balanced) -> None:
    """By what it earned there, not by what it is; and the moves can be told."""
    listed, _ = balanced.facts(balanced.host(GOOD_SITEMAP))
    linked, _ = balanced.facts(balanced.host(GOOD_LINKS))
    assert listed.sitemaps >= 3 * listed.links
    assert linked.links >= 2 * linked.sitemaps
    assert {epoch.move for epoch in listed.history} >= {"to-sitemaps", "at-bound"}
    assert "to-discovery" in {epoch.move for epoch in linked.history}


def test_what_each_source_brought_is_what_the_tables_say(balanced: Balanced) -> None:
    """Known by links, by sitemaps, or by both, and who was first: told from the state, counted again from the rows."""
    host = balanced.host(GOOD_LINKS)
    _, facts = balanced.facts(host)
    found = rows(
        balanced.folder,
        f"""select url, min(case when source in ('sitemap', 'feed') then epoch(found_at) end) listed,
                   min(case when source not in ('sitemap', 'feed') then epoch(found_at) end) linked
            from discoveries where refused is null and url like 'http://{host}/%' and url not like '%/sitemap%'
            group by url""",
    )
    both = [row for row in found if row["listed"] is not None and row["linked"] is not None]
    assert facts.links_only.known == sum(row["listed"] is None for row in found)
    assert facts.sitemaps_only.known == sum(row["linked"] is None for row in found)
    assert facts.both.known == len(both)
    assert abs(facts.first_by_sitemaps - sum(row["listed"] < row["linked"] for row in both)) <= 0.02 * len(both)


@pytest.mark.parametrize("kind", KINDS)
def test_clutter_leads_astray_and_hides_nothing(kind: str) -> None:
    """Every page of a cluttered site has links that bring nothing; what was there is still there, by its own name."""
    profiles = (Profile.BUILD, Profile.ARCHIVE, Profile.ALWAYS_NOW)
    world = ClutteredWorld(3, 3, pages=600, profiles=profiles, of=frozenset(profiles))
    host = next(site.host for site in world.sites() if world.kind_of(site.host) == kind)
    home, plain = f"http://{host}/", ClutteredWorld(3, 3, pages=600, profiles=profiles, of=frozenset())
    links = set(world.links(home, world.epoch))
    meant = {world.unspelt(link) for link in links}
    assert {link for link in plain.links(home, world.epoch) if host in link} <= meant
    bad = {link for link in links if link != world.unspelt(link) or not is_worth(world, link)}
    assert len(bad) >= 10
    assert [url for url in world.urls(host, world.epoch) if not world.exists(url, world.epoch)] == []

"""What changes at every visit, told from what changes: learnt from the living web, and held against its truth.

The churning region (a quotation, an advertisement, a token) is moved into the main text, where it counts unless
somebody learns better.
"""

from __future__ import annotations

from tests.lab.churning import moved

from periplus.content import (
    Churn,
    RawPage,
    SiteTemplate,
    difference,
    is_heading_same,
    page_version,
    read_pages,
    settled_level,
    version_of,
)
from periplus.model import ChangeLevel, ParsedPage
from periplus_lab import World

HOUR, DAY = 3_600.0, 86_400.0


def visited(world: World, url: str, at: float) -> ParsedPage:
    return read_pages([RawPage(moved(world.content(url, at)), url, "text/html; charset=utf-8", wants_blocks=True)])[0]


def test_churn_is_learnt_by_fetching_twice_and_changes_are_still_seen() -> None:
    """After 20 pages of each site were fetched twice in a row, what churns is not a change, and what changed is one."""
    world = World(11, 12, pages=400)
    sites = [site for site in world.sites() if 0 < site.churn_every <= HOUR]
    assert len(sites) >= 2
    wrong, naive, total, changed = 0, 0, 0, 0
    for site in sites:
        churn = Churn()
        now = world.epoch
        urls = [url for url in world.urls(site.host, now) if world.exists(url, now + 2 * DAY)][:60]
        for url in urls[:20]:
            old, new = visited(world, url, now), visited(world, url, now + site.churn_every)
            churn.observe(old.blocks, new.blocks)
        for url in urls:
            before, after = visited(world, url, now), visited(world, url, now + 2 * DAY)
            is_true = world.changed_between(url, now, now + 2 * DAY)
            plain = SiteTemplate().level(difference(page_version(before), page_version(after)))
            is_same = is_heading_same(version_of(before), version_of(after))
            level = settled_level(plain, churn, before.blocks, after.blocks, is_heading_same=is_same)
            naive += (plain >= ChangeLevel.MINOR) != is_true
            wrong += (level >= ChangeLevel.MINOR) != is_true
            total, changed = total + 1, changed + is_true
    assert total > 60
    assert 0 < changed < total
    assert naive > total / 3
    assert wrong <= total / 50

"""What changes at every visit, told from what changes: learnt from the living web, and held against its truth.

The churning region (a quotation, an advertisement, a token) is moved into the main text, where it counts unless
somebody learns better.
"""

from __future__ import annotations

from tests.lab.churning import moved

from periplus.content import Churn, Snapshot, blocks_of, change_level, read_page, settled_level, snapshot
from periplus.lab.web import World
from periplus.model import ChangeLevel, Url

HOUR, DAY = 3_600.0, 86_400.0


def visited(world: World, url: str, at: float) -> tuple[Snapshot, bytes]:
    html = moved(world.content(url, at))
    return snapshot(read_page(html, Url(url), "text/html; charset=utf-8")), blocks_of(html)


def test_churn_is_learnt_by_fetching_twice_and_changes_are_still_seen() -> None:
    """After 20 pages of each site were fetched twice in a row, what churns is no change, and what changed is one."""
    world = World(11, 12, pages=400)
    sites = [site for site in world.sites() if 0 < site.churn_every <= HOUR]
    assert len(sites) >= 2
    wrong, naive, total, changed = 0, 0, 0, 0
    for site in sites:
        churn = Churn()
        now = world.epoch
        urls = [url for url in world.urls(site.host, now) if world.exists(url, now + 2 * DAY)][:60]
        for url in urls[:20]:
            (_, old), (_, new) = visited(world, url, now), visited(world, url, now + site.churn_every)
            churn.observe(old, new)
        for url in urls:
            (before, old), (after, new) = visited(world, url, now), visited(world, url, now + 2 * DAY)
            is_true = world.changed_between(url, now, now + 2 * DAY)
            plain = change_level(before, after)
            is_same = (before.title, before.canonical) == (after.title, after.canonical)
            level = settled_level(plain, churn, old, new, is_heading_same=is_same)
            naive += (plain >= ChangeLevel.MINOR) != is_true
            wrong += (level >= ChangeLevel.MINOR) != is_true
            total, changed = total + 1, changed + is_true
    assert total > 60
    assert 0 < changed < total
    assert naive > total / 3
    assert wrong <= total / 50

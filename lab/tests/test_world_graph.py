"""The shape of the web: who links to whom, who cannot be reached, what hubs tell."""

from __future__ import annotations

from collections import Counter, deque
from itertools import islice, pairwise

import numpy as np
import pytest

from periplus_lab import World
from periplus_lab.sites import Profile, Role

DAY = 86_400.0


class Walk:
    """A breadth-first crawl from the first site's home page."""

    def __init__(self, world: World) -> None:
        start = world.sites()[0].url
        self.depth, self.out = {start: 0}, dict[str, list[str]]()
        waiting = deque([start])
        while waiting:
            url = waiting.popleft()
            self.out[url] = list(dict.fromkeys(world.links(url, world.epoch)))
            for link in self.out[url]:
                if link not in self.depth:
                    self.depth[link] = self.depth[url] + 1
                    waiting.append(link)


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=7, sites=50, pages=8000)


@pytest.fixture(scope="module")
def walk(world: World) -> Walk:
    return Walk(world)


def role_of(world: World, url: str) -> Role:
    return world.site(url.split("/")[2]).role


@pytest.mark.slow
def test_a_bow_tie(world: World, walk: Walk) -> None:
    """From the core one reaches core and outer sites, wholly but for orphans; inner sites and islands never."""
    for site in world.sites():
        alive = list(world.urls(site.host, world.epoch))
        reached = [url in walk.depth for url in alive]
        if site.role in (Role.IN, Role.ISLAND):
            assert not any(reached), site.host
        else:
            assert [world.is_orphan(url) for url in alive] == [not found for found in reached], site.host


def test_inner_sites_link_to_the_core_and_outer_sites_to_none(world: World) -> None:
    """The wings of the bow-tie."""
    roles = Counter(site.role for site in world.sites())
    assert set(roles) == set(Role)
    for site in world.sites():
        links = {link.split("/")[2] for link in world.links(site.url, world.epoch)} - {site.host}
        targets = {world.site(host).role for host in links}
        if site.role in (Role.OUT, Role.ISLAND):
            assert not targets
        else:
            assert Role.CORE in targets or site.number == 0
            assert targets <= {Role.CORE, Role.OUT}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_home_pages_lead_to_every_core_and_outer_site(seed: int) -> None:
    """Whatever the seed, the core hangs together and the outer sites hang on it."""
    world = World(seed=seed, sites=60, pages=800)
    own = {site.host for site in world.sites()}
    seen, waiting = {world.sites()[0].host}, [world.sites()[0]]
    while waiting:
        for host in {link.split("/")[2] for link in world.links(waiting.pop().url, world.epoch)} & own - seen:
            seen.add(host)
            waiting.append(world.site(host))
    assert seen == {site.host for site in world.sites() if site.role in (Role.CORE, Role.OUT)}


@pytest.mark.slow
def test_in_links_follow_a_power_law(world: World, walk: Walk) -> None:
    """The tail of the in-degrees has an exponent near the web's 2.1 (Hill's estimate); a few pages have hundreds."""
    degrees = Counter(link for links in walk.out.values() for link in links)
    tail = np.array([degree for url, degree in degrees.items() if degree >= 20 and url in walk.out], dtype=float)
    exponent = 1 + len(tail) / np.log(tail / 19.5).sum()
    assert 1.7 < exponent < 2.8
    assert tail.max() > 300


@pytest.mark.slow
def test_depth_tells_of_rank_near_the_root_only(walk: Walk) -> None:
    """Mean PageRank falls by a lot from level to level for the first three, and hardly after the fourth."""
    nodes = {url: number for number, url in enumerate(walk.out)}
    pairs = np.array([(nodes[url], nodes[link]) for url, links in walk.out.items() for link in links])
    rank = page_rank(pairs, len(nodes))
    depths = np.array([walk.depth[url] for url in nodes])
    means = [rank[depths == depth].mean() for depth in range(6)]
    assert all(upper > 2 * lower for upper, lower in pairwise(means[:4]))
    assert all(upper < 2 * lower for upper, lower in pairwise(means[4:]))


def page_rank(
    pairs: np.ndarray[tuple[int, ...], np.dtype[np.int64]], size: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sources, targets = pairs[:, 0], pairs[:, 1]
    degrees = np.bincount(sources, minlength=size)
    rank = np.full(size, 1 / size)
    for _ in range(40):
        given = np.where(degrees > 0, rank / np.maximum(degrees, 1), 0)
        rank = 0.15 / size + 0.85 * (
            np.bincount(targets, weights=given[sources], minlength=size) + rank[degrees == 0].sum() / size
        )
    return rank


def test_some_links_are_dead_but_few(world: World) -> None:
    """Links stay when their target goes."""
    some = [url for site in world.sites() for url in islice(world.urls(site.host, world.epoch), 3)]
    links = [link for url in some for link in world.links(url, world.epoch)]
    dead = sum(not world.exists(link, world.epoch) for link in links)
    assert 0.005 < dead / len(links) < 0.15


def test_a_few_hubs_tell_nine_of_ten_new_pages(world: World) -> None:
    """Reading the hubs daily for a week finds 90 % of what was born (Dasgupta et al. 2007)."""
    born, told, hubs = 0, 0, 0
    for site in world.sites():
        hubs += site.hubs
        before = set(world.urls(site.host, world.epoch))
        new = set(world.urls(site.host, world.epoch + 7 * DAY)) - before
        seen = {
            link
            for day in range(1, 8)
            for hub in range(site.hubs)
            for link in world.links(f"http://{site.host}/latest/{hub}/", world.epoch + day * DAY)
        }
        born += len(new)
        told += len(new & seen)
    assert hubs < 0.02 * sum(site.size for site in world.sites())
    assert 0.84 < told / born < 0.97


def test_orphans_stand_in_sitemaps_alone(world: World) -> None:
    """Sites with a sitemap of all their pages have some that nothing else shows."""
    for site in world.sites():
        if site.profile is Profile.DIRTY:
            continue
        orphans = {url for url in world.urls(site.host, world.epoch) if world.is_orphan(url)}
        assert bool(orphans) <= site.has_orphans
        if orphans and site.profile in (Profile.ALWAYS_NOW, Profile.BUILD):
            assert orphans <= {entry.url for _, entry in world.listed(site.host, world.epoch)}


def test_sizes_follow_zipf() -> None:
    """A few sites of 10^4 to 10^5 pages, most of 10 to 100."""
    sizes = [site.size for site in World(sites=200).sites()]
    assert sum(size >= 10_000 for size in sizes) in range(1, 10)
    assert sum(10 <= size <= 100 for size in sizes) > 100
    assert max(sizes) <= 100_000
    assert sum(site.size for site in World(sites=200, pages=50_000).sites()) == pytest.approx(50_000, rel=0.1)

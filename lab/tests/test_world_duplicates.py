"""Duplicates: as many as Broder et al. found, and each what it is said to be."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.markup import elements

from periplus_lab import World


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=7, sites=80, pages=12_000)


def shingles(body: bytes) -> set[tuple[str, ...]]:
    words = " ".join(elements(body, "//text()[not(parent::style)]")).split()
    return set(zip(words, words[1:], words[2:], words[3:], strict=False))


def test_a_third_of_all_urls_show_what_others_show(world: World) -> None:
    """About 29 % near-duplicate of another and 11 % exact."""
    found = list(world.duplicates())
    alive = sum(1 for site in world.sites() for _ in world.urls(site.host, world.epoch))
    exact = {url for pair in found if pair.is_exact for url in (pair.url, pair.of)}
    every = {url for pair in found for url in (pair.url, pair.of)}
    total = alive + len(found)
    assert len(exact) / total == pytest.approx(0.11, abs=0.03)
    assert len(every) / total == pytest.approx(0.29, abs=0.04)
    assert {pair.why for pair in found} == {"parameter", "print", "order", "index", "twin", "mirror"}


@pytest.mark.parametrize("day", [0, pytest.param(20, marks=pytest.mark.slow)])
def test_exact_is_exact_and_near_is_near(world: World, day: int) -> None:
    """Byte by byte for the one, more than half of the shingles but not all for the other."""
    at = world.epoch + day * 86_400.0 + 777
    found = list(world.duplicates(at))
    kinds: Counter[str] = Counter()
    for pair in Random(day).sample(found, 100):
        kinds[pair.why] += 1
        one, other = world.content(pair.url, at), world.content(pair.of, at)
        assert world.exists(pair.url, at), pair
        assert world.exists(pair.of, at), pair
        if pair.is_exact:
            assert one == other, pair
            continue
        assert one != other, pair
        mine, theirs = shingles(one), shingles(other)
        assert len(mine & theirs) / len(mine | theirs) > 0.5, pair
    assert len(kinds) >= 3


def test_pages_that_are_not_duplicates_differ(world: World) -> None:
    """Pages share sentences as the web shares phrases, not pages."""
    random = Random(4)
    urls = [url for site in world.sites()[:20] for url in random.sample(list(world.urls(site.host, world.epoch)), 6)]
    texts = [shingles(world.content(url, world.epoch)) for url in urls]
    pairs = [(random.choice(texts), random.choice(texts)) for _ in range(100)]
    assert all(len(a & b) / len(a | b) < 0.4 for a, b in pairs if a is not b)


def test_duplicates_can_be_found_by_links(world: World) -> None:
    """Links lead to second spellings and printable versions, so that a crawler meets them."""
    linked: set[str] = set()
    for site in world.sites()[8:18]:
        for url in world.urls(site.host, world.epoch):
            linked.update(world.links(url, world.epoch))
    hosts = {site.host for site in world.sites()[8:18]}
    kinds: dict[str, list[bool]] = {}
    for pair in world.duplicates():
        if pair.of.split("/")[2] in hosts:
            kinds.setdefault(pair.why, []).append(pair.url in linked)
    assert sum(kinds["print"]) == len(kinds["print"])
    assert sum(kinds["parameter"]) == len(kinds["parameter"])
    assert all(kinds["index"])


def test_index_names_and_idle_parameters_change_nothing(world: World) -> None:
    """`/`, `/index.html` and `/?utm_source=x` are one page."""
    for site in world.sites()[:10]:
        home = f"http://{site.host}/"
        assert len({world.content(home + rest, world.epoch) for rest in ("", "index.html", "?utm_source=x")}) == 1

"""What a crawl knows of pages that say the same, compared with what the world has planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.crawling import by_proxy, crawl, rows, standing

from periplus.insight.clusters import clusters_of
from periplus.model import Placement, Url
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.urls import fingerprint
from periplus_lab import World
from periplus_lab.sites import Profile

HURRIED: dict[str, object] = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02}
FEW_WORDS = 100
"""A page whose main text is shorter has hardly a sentence: the lab's are "not here" and "search our records"."""


HONEST = frozenset({Profile.SHOP, Profile.NEWS, Profile.ARCHIVE})


class Crawled(NamedTuple):
    """A crawl, where its pages were put, and which of them show the same, as the world knows it."""

    world: World
    folder: Path
    copies: int
    placed: dict[str, Placement]
    truth: dict[str, str]


def placements(folder: Path, urls: list[str]) -> dict[str, Placement]:
    """From the state of the only shard."""
    state = DiskState.read_only(Layout(folder).shard(0))
    try:
        placed = zip(urls, state.sketches.get([Url(url) for url in urls]), strict=True)
        return {url: each for url, each in placed if each is not None}
    finally:
        state.close()


def shown(world: World, urls: list[str]) -> dict[str, str]:
    """What each URL shows: what it was planted as a copy of, byte by byte."""
    names = {pair.url: pair.of for pair in world.duplicates(world.epoch)}

    def root(url: str) -> str:
        return root(names[url]) if url in names else url

    return {url: sha256(world.content(root(url), world.epoch)).hexdigest() for url in urls}


def pairs_in(groups: Mapping[str, object]) -> int:
    return sum(size * (size - 1) // 2 for size in Counter(groups.values()).values())


def groups(found: Mapping[str, object]) -> set[frozenset[str]]:
    members: dict[object, set[str]] = {}
    for url, group in found.items():
        members.setdefault(group, set()).add(url)
    return {frozenset(urls) for urls in members.values()}


def precision_and_recall(found: Mapping[str, object], truth: Mapping[str, str]) -> tuple[float, float]:
    """Of the pairs that are together."""
    both = pairs_in({url: (truth[url], found[url]) for url in found})
    return both / pairs_in(found), both / pairs_in(truth)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """All that links lead to on fifteen sites."""
    world = World(28, 15, pages=400)
    folder = tmp_path_factory.mktemp("copies")
    with standing(world) as lab:
        (status,) = crawl(folder, [site.url for site in world.sites()], by_proxy(lab) | HURRIED)
    read = rows(folder, f"select url from pages where main_length >= {FEW_WORDS}")
    urls = [str(row["url"]) for row in read]
    return Crawled(world, folder, status.crawl.copies, placements(folder, urls), shown(world, urls))


@pytest.mark.proof
def test_planted_duplicates_are_together_and_nothing_else(crawled: Crawled) -> None:
    """Precision and recall of .95 at least, of pairs, in the state as the crawl left it."""
    assert pairs_in(crawled.truth) >= 50
    found = {url: each.cluster for url, each in crawled.placed.items()}
    precision, recall = precision_and_recall(found, crawled.truth)
    assert precision >= 0.95
    assert recall >= 0.95


@pytest.mark.proof
def test_clusters_from_the_tables_are_those_of_the_crawl(crawled: Crawled) -> None:
    """All pages at once, as the views put them together, or one by one, as the crawl did: the same clusters."""
    members, firsts = clusters_of(Layout(crawled.folder).tables)
    first_of = dict(zip(members.tolist(), firsts.tolist(), strict=True))
    later = {url: first_of[key] for url in crawled.truth if (key := fingerprint(Url(url))) in first_of}
    precision, recall = precision_and_recall(later, crawled.truth)
    assert min(precision, recall) >= 0.95
    assert groups(later) == groups({url: each.cluster for url, each in crawled.placed.items() if each.size > 1})


@pytest.mark.proof
def test_every_page_but_the_first_is_counted_as_a_copy(crawled: Crawled) -> None:
    """Each once; and so is what is said in hardly a sentence, word by word, by several URLs."""
    placed = crawled.placed.values()
    assert sum(each.is_copy for each in placed) == len(placed) - len({each.cluster for each in placed})
    few = rows(
        crawled.folder,
        f"""select coalesce(sum(n - 1), 0) as copies from (
              select count(*) n from pages where main_length between 1 and {FEW_WORDS - 1} group by main_digest)""",
    )
    assert few[0]["copies"] > 10
    assert crawled.copies == sum(each.is_copy for each in placed) + few[0]["copies"]


@pytest.mark.slow
def test_a_cluster_is_known_by_the_page_that_is_listed(tmp_path: Path) -> None:
    """Whichever was read first, and whether it was listed before it was read or after."""
    world = World(28, 15, pages=400)
    honest = [site for site in world.sites() if site.profile in HONEST]
    with standing(world) as lab:
        options = by_proxy(lab) | HURRIED | {"sitemaps.follow": True, "scope.kind": "host"}
        crawl(tmp_path, [site.url for site in honest], options)
    urls = [str(row["url"]) for row in rows(tmp_path, "select url from pages")]
    listed = {row["url"] for row in rows(tmp_path, "select url from discoveries where source = 'sitemap'")}
    placed = {url: each for url, each in placements(tmp_path, urls).items() if each.size > 1}
    judged = [each for url, each in placed.items() if url in listed]
    assert len(judged) > 5
    assert {each.canonical for each in judged} <= listed

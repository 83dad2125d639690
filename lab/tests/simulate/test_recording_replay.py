"""A finished crawl as a web: held against the tables it came from, which DuckDB reads in its own way."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.insight.asked_collection import Made
from tests.lab.crawling import by_proxy, crawl, rows, standing

from periplus.model import CollectionError
from periplus_lab import World
from periplus_lab.simulate.graph_files import ranked
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.recording import web_of_collection
from periplus_lab.simulate.runs import PolicyChoice, run_ordering
from periplus_lab.simulate.web import NO_ANSWER, Web

HOME = "http://a.test/"
VISITED = """(select * from fetches where purpose = 'page' and outcome <> 'excluded'
              qualify row_number() over (partition by url order by started_at desc) = 1)"""
HURRIED = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02}


class Crawled(NamedTuple):
    """A crawl of a small world, and the web that was made of it."""

    folder: Path
    web: Web


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    world = World(28, 6, pages=120)
    folder = tmp_path_factory.mktemp("replay")
    with standing(world) as lab:
        crawl(folder, [site.url for site in world.sites()[:2]], by_proxy(lab) | HURRIED)
    return Crawled(folder, web_of_collection(folder))


def links_of(web: Web) -> set[tuple[str, str]]:
    sources, targets = web.edges
    return {(web.url(a), web.url(b)) for a, b in zip(sources.tolist(), targets.tolist(), strict=True)}


def reached(web: Web) -> int:
    """How many pages the links lead to, from the seeds."""
    known = set(web.seeds.tolist())
    waiting = list(known)
    while waiting:
        page = waiting.pop()
        new = set(web.targets[web.starts[page] : web.starts[page + 1]].tolist()) - known
        known |= new
        waiting += new
    return len(known)


def test_every_page_that_was_visited_is_a_page(crawled: Crawled) -> None:
    """With the status, bytes and seconds of its last visit."""
    asked = f"select url, site, status, bytes, duration from {VISITED}"
    told = {row["url"]: row for row in rows(crawled.folder, asked)}
    web = crawled.web
    assert len(web) == len(told) > 100
    for page, url in enumerate(web.names()):
        row = told[url]
        assert web.status[page] == (row["status"] or NO_ANSWER)
        assert web.size[page] == (row["bytes"] or 0)
        assert row["duration"] is None or web.took is None or web.took[page] == row["duration"]
        assert web.sites[web.site[page]] == row["site"]


def test_links_are_those_of_the_tables(crawled: Crawled) -> None:
    """Between visited pages, each once; besides them only redirects and first namings."""
    among = f"""select distinct page, target from links
                where page in (select url from {VISITED}) and target in (select url from {VISITED})"""
    read = {(row["page"], row["target"]) for row in rows(crawled.folder, among)}
    moved = f"""select url as page, target from {VISITED} where target in (select url from {VISITED})"""
    redirected = {(row["page"], row["target"]) for row in rows(crawled.folder, moved)}
    named = f"""select distinct referrer as page, url as target from discoveries where is_new
                and referrer in (select url from {VISITED}) and url in (select url from {VISITED})"""
    first = {(row["page"], row["target"]) for row in rows(crawled.folder, named)}
    assert len(read) > 200
    assert redirected
    assert len(crawled.web.targets) == len(links_of(crawled.web))
    assert links_of(crawled.web) == read | redirected | first


def test_a_crawl_of_it_begins_where_the_crawl_began_and_can_find_everything(crawled: Crawled) -> None:
    """The seeds are seeds; others only as links lead to some pages from nowhere."""
    told = {row["url"] for row in rows(crawled.folder, "select distinct url from discoveries where source = 'seed'")}
    seeds = {crawled.web.url(page) for page in crawled.web.seeds.tolist()}
    assert told <= seeds
    assert reached(crawled.web) == len(crawled.web)


def test_a_crawl_of_it_to_the_end_has_all_pagerank(tmp_path: Path) -> None:
    """Its seed redirects to the home page, as `http:` often does to `https:`."""
    made = Made(tmp_path)
    for url, links in (("", ("a", "b")), ("a", ("", "old")), ("b", ()), ("c", ("b",))):
        made.got(HOME + url, 1, [HOME + link for link in links])
    made.read(f"{HOME}old", 1, [f"{HOME}b"], when=50)
    for url, target in (("seed", ""), ("old", "c")):
        made.asked(HOME + url, 301, target=HOME + target)
    made.told(f"{HOME}seed", "seed")
    made.write()
    web = ranked(web_of_collection(tmp_path))
    result = run_ordering(web, PolicyChoice("breadth_first"), NetworkSettings(), seed=0, budgets=(0.5, 1.0))
    assert (result.pages, result.total) == (4, 4)
    assert result.mass[0][1] < 1.0
    assert dict(result.mass)[1.0] == pytest.approx(1.0)


def test_unvisited_urls_come_along_when_asked_for(crawled: Crawled, tmp_path: Path) -> None:
    """A crawl that was cut short knows more than it has seen; that is guessed to be like the rest."""
    world = World(28, 6, pages=120)
    with standing(world) as lab:
        crawl(tmp_path, [world.sites()[0].url], by_proxy(lab) | HURRIED | {"crawl.limit": 20})
    few, more = web_of_collection(tmp_path), web_of_collection(tmp_path, with_unvisited=True)
    assert len(few) < len(more)
    assert more.names()[: len(few)] == few.names()
    assert (np.diff(more.starts)[len(few) :] == 0).all()
    assert (more.status[len(few) :] == 200).all()
    assert more.took is not None
    assert more.took[len(few) :] == pytest.approx(more.took[: len(few)].mean())


def test_what_is_not_a_collection_is_refused(tmp_path: Path) -> None:
    """With a word on what to give instead."""
    with pytest.raises(CollectionError, match="is not a collection") as caught:
        web_of_collection(tmp_path)
    assert caught.value.hint

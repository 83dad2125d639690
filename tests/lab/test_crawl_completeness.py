"""A crawl of a whole web finds what can be found, and nothing twice: compared with what the world itself knows.

The truth is worked out from the world's answers alone (`crawling.truth`), with neither our reader nor our filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.crawling import Truth, by_proxy, crawl, rows, standing, truth

from periplus_lab import World
from periplus_lab.log import Visit

ATTEMPTS = 3
FLEETING = {500, 502, 503, 504}


class Crawled(NamedTuple):
    """A crawl, and the truth about its web."""

    world: World
    folder: Path
    visits: list[Visit]
    truth: Truth

    @property
    def asked(self) -> Counter[str]:
        """How often each page was asked for."""
        return Counter(visit.url for visit in self.visits if visit.target != "/robots.txt")


@pytest.fixture(
    scope="module", params=[pytest.param(1, marks=pytest.mark.slow, id="alone"), pytest.param(2, id="two-workers")]
)
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """From three of fifteen sites over all that can be reached, by one process and by two."""
    world = World(28, 15, pages=250)
    seeds = [site.url for site in world.sites()[:3]]
    folder = tmp_path_factory.mktemp("complete")
    hurried = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02}
    with standing(world) as lab:
        crawl(folder, seeds, by_proxy(lab) | hurried, request.param)
        yield Crawled(world, folder, lab.log.visits(), truth(world, seeds))


@pytest.mark.proof
def test_what_can_be_reached_is_asked_for_and_nothing_else(crawled: Crawled) -> None:
    """Exactly the URLs of the truth, over many sites, dead ends and redirects included."""
    assert len(crawled.truth.statuses) > 300
    assert {301, 404, 410} <= set(crawled.truth.statuses.values())
    assert len({visit.host for visit in crawled.visits}) > 10
    assert set(crawled.asked) == set(crawled.truth.statuses)


@pytest.mark.proof
def test_everything_is_asked_for_once(crawled: Crawled) -> None:
    """But for what fails in a way that passes."""
    expected = {url: ATTEMPTS if status in FLEETING else 1 for url, status in crawled.truth.statuses.items()}
    assert crawled.asked == expected


@pytest.mark.proof
def test_every_url_ends_as_the_truth_says(crawled: Crawled) -> None:
    """One last word in `fetches` on each: the status, or the rule that forbids it."""
    said = rows(
        crawled.folder,
        "select url, last(status order by attempt) as status, last(reason order by attempt) as reason"
        " from fetches where purpose = 'page' group by url",
    )
    assert {row["url"]: row["status"] for row in said if row["status"]} == crawled.truth.statuses
    assert {row["url"] for row in said if row["reason"] == "robots"} == crawled.truth.forbidden


@pytest.mark.proof
def test_pages_are_what_was_good(crawled: Crawled) -> None:
    """A row in `pages` for each answer of 200, and no other."""
    pages = Counter(row["url"] for row in rows(crawled.folder, "select url from pages"))
    assert pages == Counter(url for url, status in crawled.truth.statuses.items() if status == 200)


@pytest.mark.proof
def test_links_are_those_of_the_world(crawled: Crawled) -> None:
    """Every anchor of every page, once where it is repeated, as the world has it."""
    found: dict[str, set[str]] = {}
    for row in rows(crawled.folder, "select page, target from links"):
        found.setdefault(row["page"], set()).add(row["target"])
    there = [url for url in crawled.truth.statuses if crawled.world.exists(url, crawled.world.epoch)]
    assert len(there) > 200
    for url in there:
        assert found.get(url, set()) == set(crawled.world.links(url, crawled.world.epoch))


@pytest.mark.proof
def test_what_was_discovered_is_what_is_known(crawled: Crawled) -> None:
    """Every URL of the truth was discovered, by a seed, a link or a redirect; only the idle parameter was cut off."""
    known = {row["url"] for row in rows(crawled.folder, "select distinct url from discoveries where refused is null")}
    assert known == set(crawled.truth.statuses) | crawled.truth.forbidden

"""A crawl of hosts that hide missing pages or cloak: what it accuses, beside the lab's truth, and at what cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.crawling import by_address, crawl, standing

from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.collection.judging import judge
from periplus.insight.views import Views
from periplus_lab.spam_web import AbsentPages, Cloakers, HostileWorld, ParkedDomains

ABSENT = [host for host in AbsentPages.hosts if "-0." in host]
CLOAKING = ["full-0.cloaks.lab.test", "rotating-0.cloaks.lab.test"]
OPTIONS: dict[str, object] = {
    "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "politeness.ip_delay": 0.0, "scope.suffixes": ["lab.test"],
    "cloaking.enabled": True, "absence.enabled": True, "cloaking.share": 0.05,
}  # fmt: skip


class Judged:
    """The crawled collection, its world, and its rows."""

    def __init__(self, folder: Path, views: Views, world: HostileWorld, agents: list[tuple[str, str]]) -> None:
        self.folder = folder
        self.views = views
        self.world = world
        self.agents = agents

    def column(self, question: str) -> list[str]:
        return [next(iter(row.values())) for row in self.views.rows(question)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    folder = tmp_path_factory.mktemp("judged")
    world = HostileWorld(7, 1, pages=20, parts=(AbsentPages, Cloakers, ParkedDomains))
    with standing(world) as lab:
        seeds = [lab.url(host) for host in (*ABSENT, *CLOAKING, *ParkedDomains.hosts)]
        crawl(folder, seeds, by_address(lab) | OPTIONS)
        agents = [(visit.host, visit.agent) for visit in lab.log.visits()]
    with Views(folder) as views:
        yield Judged(folder, views, world, agents)


def host_of(url: str) -> str:
    return url.partition("://")[2].partition(":")[0]


@pytest.mark.proof
def test_every_soft_404_is_found_and_nothing_else(judged: Judged) -> None:
    fetched = judged.column("select url from fetches where purpose = 'page' and outcome in ('fetched', 'redirected')")
    marked = judged.column("select url from pages where list_contains(problems, 'soft-404')")
    told = judged.column("select subject from verdicts where judge = 'soft-404'")
    true = {url for url in fetched if judged.world.is_error(url)}
    assert len(true) == 36
    assert {*marked, *told} == true
    assert marked
    assert told


@pytest.mark.proof
def test_a_site_is_asked_at_most_twice(judged: Judged) -> None:
    impossible = "regexp_matches(url, '/[a-p]{16}(/|[.]html)?$')"
    probes = Counter(judged.column(f"select site from fetches where purpose = 'probe' and {impossible}"))
    assert max(probes.values()) <= 2
    assert {host.partition("-")[0] for host in probes} == {"apology", "homeward", "sections", "honest", "wall"}


@pytest.mark.proof
def test_soft_404s_are_not_indexable(judged: Judged) -> None:
    found = judged.column("select url from urls where is_indexable and is_page")
    assert found
    assert not [url for url in found if judged.world.is_error(url)]


@pytest.mark.proof
def test_the_cloaker_is_judged_and_the_innocent_is_not(judged: Judged) -> None:
    verdicts = judged.column("select subject from verdicts where judge = 'cloaking' and kind = 'site'")
    assert [site.partition(":")[0] for site in verdicts] == ["full-0.cloaks.lab.test"]
    disguised = [host for host, agent in judged.agents if "Mozilla" in agent]
    assert {*CLOAKING} <= {*disguised}
    assert len(disguised) < 0.05 * len(judged.agents)


@pytest.mark.proof
def test_parked_domains_are_found_in_the_tables(judged: Judged) -> None:
    config = Config().with_options({"scope.suffixes": ["lab.test"]})
    found = judge(CollectionSetup(judged.folder, config, (), False), 0.0)
    assert {each.subject for each in found["parked"]} == {host for host in ParkedDomains.hosts if "for-sale" in host}
    with Views(judged.folder) as views:
        assert len(views.rows("select subject from verdicts where judge = 'parked'")) == 8
    assert not found["mirrors"]

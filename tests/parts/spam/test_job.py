"""The job over the tables: a farm among honest sites, with reasons, overrides, and old tables."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from periplus.content import read_page
from periplus.insight.views import QUESTIONS, Views
from periplus.model import Discovery, PageRead, Source, Url, UrlDiscovered
from periplus.parts.spam.job import SpamJob
from periplus.parts.spam.model import shipped
from periplus.parts.spam.scores import SpamScores
from periplus.parts.spam.settings import SpamSettings
from periplus.store.tables import Tables
from periplus.store.tables.verdicts import write_verdicts
from periplus_lab import traps
from periplus_lab.http import Request
from periplus_lab.world import World

SUFFIXES = ("lab.test",)
NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten pages of each farm host, and ten of each of twelve sites."""
    folder = tmp_path_factory.mktemp("spam")
    world = World(seed=5, sites=12, pages=600)
    urls = [url for site in world.sites() for url in islice(world.urls(site.host, world.epoch), 10)]
    bodies = {url: world.content(url, world.epoch) for url in urls}
    for host in traps.FARM:
        for number in range(10):
            target = "/" if not number else f"/word{number}.html"
            answer = traps.answer(Request("GET", host, target, (), 0.0), 5)
            assert answer is not None
            assert isinstance(answer.body, bytes)
            bodies[f"http://{host}{target}"] = answer.body
    tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)
    seed = Url(f"http://{world.sites()[0].host}/")
    tables.record([UrlDiscovered(Discovery(seed, Source.SEED, NOW), True)])
    tables.record([PageRead(read_page(body, url, "text/html; charset=utf-8"), NOW) for url, body in bodies.items()])
    tables.settle()
    tables.close()
    return folder


def test_farm_is_found_and_sites_are_not(collection: Path) -> None:
    """Recall 1 and precision 1 above .5 after ten pages each, with evidence; the crawl's table says the same."""
    with Views(collection) as views:
        found = SpamJob(views, shipped(), SpamSettings(), SUFFIXES).judge(NOW)
    assert {host for host, score in found.hosts.items() if score > 0.5} == set(traps.FARM)
    assert max(score for host, score in found.hosts.items() if host not in traps.FARM) < 0.3
    spam = [verdict for verdict in found.verdicts if verdict.kind == "site" and verdict.verdict == "spam"]
    assert len(spam) == len(traps.FARM)
    assert all(len(verdict.evidence) == 3 for verdict in spam)
    scores = SpamScores()
    scores.learn(found.learnt)
    assert scores.of_host(traps.FARM[0]) > 0.5
    assert scores.budget(traps.FARM[0]) < 0.6
    write_verdicts(collection, "spam", found.verdicts)
    with Views(collection) as views:
        rows = views.rows(QUESTIONS["wasted"].sql)
    assert {row["subject"] for row in rows} >= set(traps.FARM)


def test_a_person_overrides_the_model(collection: Path) -> None:
    """A trusted host is not spam, a banned one is, and what links to it is suspected more."""
    trusted, banned = traps.FARM[0], "calendar.trap.lab.test"
    with Views(collection) as views:
        found = SpamJob(views, shipped(), SpamSettings(trusted=(trusted,), banned=(banned,)), SUFFIXES).judge(NOW)
    assert found.hosts[trusted] == 0.0
    assert [verdict.verdict for verdict in found.verdicts if verdict.subject == trusted] == ["trusted"]


def test_explaining_and_seeds(collection: Path) -> None:
    """Every feature of a host, and domains from which others are reached."""
    with Views(collection) as views:
        job = SpamJob(views, shipped(), SpamSettings(), SUFFIXES)
        explained = job.explain(traps.FARM[1])
        assert explained is not None
        facts, parts = explained
        assert facts.page_count == 10
        assert {"outgoing_domains", "title_repeats", "stuffing"} <= {part.name for part in parts}
        assert job.explain("unknown.example") is None
        assert len(job.seeds()) > 10

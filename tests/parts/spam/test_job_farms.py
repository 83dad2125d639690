"""The farm of the hostile web, judged by what was read of it: after ten pages, after one page, and unread."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from periplus.content import read_page
from periplus.insight.views import Views
from periplus.model import Discovery, PageRead, Source, Url, UrlDiscovered
from periplus.parts.reputation.job import ReputationSettings, learn_reputation
from periplus.parts.spam.job import SpamJob, SpamJudgement
from periplus.parts.spam.model import shipped
from periplus.parts.spam.scores import SpamScores
from periplus.parts.spam.settings import SpamSettings
from periplus.store.tables import Tables
from periplus_lab.http import Request
from periplus_lab.spam_web import Farm, HostileWorld

SUFFIXES = ("lab.test",)
NOW = 1_800_000_000.0
OFTEN = 8
"""Domains of the farm of which ten pages were read."""
ONCE = 120
"""Further domains of which one page was read."""


@pytest.fixture(scope="module")
def world() -> HostileWorld:
    return HostileWorld(7, 20, pages=400, parts=(Farm,))


@pytest.fixture(scope="module")
def collection(world: HostileWorld, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten pages of each of 20 sites, and pages of the farm."""
    folder = tmp_path_factory.mktemp("farm")
    urls = [url for site in world.sites() for url in islice(world.urls(site.host, world.epoch), 10)]
    farm = [host for host in world.hosts if world.is_spam(host)]
    urls += [f"http://{host}/{number}.html" for host in farm[:OFTEN] for number in range(10)]
    urls += [f"http://{host}/" for host in farm[OFTEN : OFTEN + ONCE]]
    tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)
    seed = Url(f"http://{world.sites()[0].host}/")
    tables.record([UrlDiscovered(Discovery(seed, Source.SEED, NOW), True)])
    tables.record([PageRead(read_page(_body(world, url), url, "text/html; charset=utf-8"), NOW) for url in urls])
    tables.settle()
    tables.close()
    return folder


def _body(world: HostileWorld, url: str) -> bytes:
    host, _, target = url.removeprefix("http://").partition("/")
    body = world.answer(Request("GET", host, f"/{target}", (), world.epoch)).body
    assert isinstance(body, bytes)
    return body


@pytest.fixture(scope="module")
def judged(collection: Path) -> SpamJudgement:
    with Views(collection) as views:
        return SpamJob(views, shipped(), SpamSettings(), SUFFIXES).judge(NOW)


def test_after_ten_pages_the_farm_is_accused_and_no_site_is(world: HostileWorld, judged: SpamJudgement) -> None:
    """Every host with ten pages, and no honest one."""
    farm = [host for host in world.hosts if world.is_spam(host)]
    assert min(judged.hosts[host] for host in farm[:OFTEN]) > 0.5
    assert max(score for host, score in judged.hosts.items() if not world.is_spam(host)) < 0.3


def test_domains_with_one_page_are_judged_by_what_they_link_to(world: HostileWorld, judged: SpamJudgement) -> None:
    """Most of them are accused, and the verdict says why."""
    once = [host for host in world.hosts if world.is_spam(host)][OFTEN : OFTEN + ONCE]
    accused = {host for host in once if judged.hosts[host] > 0.5}
    assert len(accused) > 0.9 * len(once)
    verdicts = [verdict for verdict in judged.verdicts if verdict.kind == "site" and verdict.subject in accused]
    assert any("domains that it links to look like spam" in " ".join(verdict.evidence) for verdict in verdicts)


def test_unread_domains_are_judged_by_what_links_to_them(world: HostileWorld, judged: SpamJudgement) -> None:
    """Domains of the farm that only the farm links to; no honest domain is among them."""
    scores = SpamScores()
    scores.learn(judged.learnt)
    unread = [host for host in world.hosts if world.is_spam(host)][OFTEN + ONCE :]
    assert sum(scores.of_domain(host) > 0.5 for host in unread) > 0.7 * len(unread)
    said = [verdict for verdict in judged.verdicts if "no page of it was read" in " ".join(verdict.evidence)]
    assert said
    assert all(world.is_spam(verdict.subject) for verdict in said)


def test_trust_does_not_flow_through_spam(world: HostileWorld, collection: Path, judged: SpamJudgement) -> None:
    """Comments on a seed's site lead to three domains; without verdicts the whole farm shares what they get."""
    seeds = [Url(f"http://{world.sites()[10].host}/")]
    scores = SpamScores()
    scores.learn(judged.learnt)
    settings = ReputationSettings(suffixes=SUFFIXES)
    raised = []
    for spam_of in (None, scores.of_domain):
        found = learn_reputation(collection, seeds=seeds, settings=settings, spam_of=spam_of, now=NOW)
        farm = [number for number, name in enumerate(found.names) if world.is_spam(name)]
        raised.append(int((found.budgets[farm] > settings.base).sum()))
    assert raised[0] > 20
    assert raised[1] <= 3

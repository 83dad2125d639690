"""Whether lastmod is honest, as visits show it, against what the world knows of every change and every date."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.lab.crawling import by_proxy, crawl, make_due, make_files_due, standing
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.apps.audit import Audit, AuditSettings, audit
from periplus.insight.views import Views
from periplus.model import ChangeLevel
from periplus_lab import World
from periplus_lab.server import SteppedClock
from periplus_lab.sites import Profile, Site

DAY = 86_400.0
LATER = 10 * DAY
PROFILES = (Profile.SHOP, Profile.NONE, Profile.ARCHIVE)
HURRIED: dict[str, object] = {
    "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.01, "retries.max_attempts": 1,
    "sitemaps.follow": True, "scope.kind": "host", "traps.min_unique": 0.0, "churn.instant": 0.0,
}  # fmt: skip
"""The days between two visits pass in the lab, not here: visits in a row are none."""


@pytest.fixture(scope="module")
def world() -> World:
    """The second day that is audited is today: dates of the future are a finding of their own."""
    return World(31, 3, pages=450, profiles=PROFILES, epoch=float(int(time.time() - LATER)))


@pytest.fixture(scope="module")
def audits(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[Profile, Audit]:
    """A crawl; ten days later the sitemaps are read again, and then every listed page."""
    folder = tmp_path_factory.mktemp("dated")
    seeds = [site.url for site in world.sites()]
    with standing(world) as lab:
        crawl(folder, seeds, by_proxy(lab) | HURRIED)
        assert isinstance(lab.clock, SteppedClock)
        lab.clock.advance(LATER)
        make_files_due(folder)
        crawl(folder, seeds, by_proxy(lab) | HURRIED)
        make_due(folder, sorted({url for site in world.sites() for url in lasting(world, site)}))
        crawl(folder, seeds, by_proxy(lab) | HURRIED)
    return {site.profile: audited(folder, site) for site in world.sites()}


def audited(folder: Path, site: Site) -> Audit:
    with Views(folder) as views:
        return audit(views, [site.host], None, is_whole=True, settings=AuditSettings(examples=10**6))


def told(world: World, site: Site, at: float) -> dict[str, float]:
    """The latest lastmod of every page that the sitemaps list at a time."""
    dates: dict[str, float] = {}
    for _, entry in world.listed(site.host, at):
        if entry.lastmod is not None:
            dates[entry.url] = max(entry.lastmod.at, dates.get(entry.url, 0.0))
    return dates


def lasting(world: World, site: Site) -> list[str]:
    """Pages that were listed with a date, and are there at both times."""
    then = world.epoch + LATER
    return [
        url for url in told(world, site, world.epoch)
        if world.exists(url, world.epoch) and world.exists(url, then) and world.allowed("periplus", url)
    ]  # fmt: skip


def truth(world: World, site: Site) -> tuple[float, float]:
    """Precision and recall of lastmod between the two times."""
    then = world.epoch + LATER
    before, after = told(world, site, world.epoch), told(world, site, then)
    pages = [url for url in lasting(world, site) if url in after]
    moved = {url for url in pages if after[url] > before[url]}
    levels = {url: world.change_level(url, world.epoch, then) for url in pages}
    right = sum(levels[url] >= ChangeLevel.MINOR for url in moved)
    major = {url for url in pages if levels[url] >= ChangeLevel.MAJOR}
    return (right / len(moved) if moved else -1.0), (len(major & moved) / len(major) if major else -1.0)


def names(found: Audit) -> set[str]:
    return {each.name for each in found.findings if each.area == "lastmod"}


@pytest.mark.slow
def test_dates_that_move_without_a_change_are_found(world: World, audits: dict[Profile, Audit]) -> None:
    """The archive: of five dates two are wrong, and it is told how many."""
    found = audits[Profile.ARCHIVE]
    precision, recall = truth(world, world.sites()[PROFILES.index(Profile.ARCHIVE)])
    assert found.dates.precision == pytest.approx(precision, abs=0.06)
    assert found.dates.recall == pytest.approx(recall, abs=0.06)
    assert names(found) - {"lastmod-misses"} == ({"lastmod-wrong"} if precision < 0.8 else set())


@pytest.mark.slow
def test_honest_dates_are_found_honest(world: World, audits: dict[Profile, Audit]) -> None:
    """The shop tells of every change of its products, in files of their own."""
    found = audits[Profile.SHOP]
    precision, recall = truth(world, world.sites()[PROFILES.index(Profile.SHOP)])
    assert precision > 0.95
    assert recall > 0.8
    assert found.dates.precision == pytest.approx(precision, abs=0.06)
    assert found.dates.recall == pytest.approx(recall, abs=0.06)
    assert names(found) - {"lastmod-missing"} == set()


def test_changes_that_lastmod_does_not_tell_and_pages_that_are_sent_in_vain(tmp_path: Path) -> None:
    """Twelve pages change and their dates stand; twelve others do not change, and are sent in full again."""
    home = "http://a.test"
    changing, standing_still = ([f"{home}/{kind}-{n}" for n in range(12)] for kind in ("news", "rules"))
    dates = [f"{url} 2025-0{1 + n % 9}-01" for n, url in enumerate((*changing, *standing_still))]
    said: dict[str, str | bytes] = {
        f"{home}/": page("Home", *changing, *standing_still),
        f"{home}/robots.txt": f"Sitemap: {home}/sitemap.xml",
        f"{home}/sitemap.xml": urlset(*dates),
    }
    said |= {url: page(f"First {url}", f"{home}/") for url in (*changing, *standing_still)}
    with ScriptedWeb(said, knows_etags=False) as web:
        crawl(tmp_path, [f"{home}/"], web.settings | {"churn.instant": 0.0})
        web.said |= {url: page(f"Second {url}", f"{home}/", f"{url}?more") for url in changing}
        make_due(tmp_path, [*changing, *standing_still])
        crawl(tmp_path, [f"{home}/"], web.settings | {"churn.instant": 0.0})
    with Views(tmp_path) as views:
        found = audit(views, ["a.test"], None, is_whole=True, settings=AuditSettings(examples=100, pause=0.0))
    told_of = {each.name: {example.url for example in each.examples} for each in found.findings}
    assert (found.dates.recall, found.dates.precision) == (0.0, None)
    assert told_of["lastmod-misses"] == set(changing)
    assert told_of["no-validators"] == set(standing_still)
    assert "lastmod-wrong" in found.unjudged

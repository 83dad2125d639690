"""Audits of lab sites whose every fault is known: each is found, with every page that has it, and no other."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.crawling import by_proxy, crawl, standing

from periplus.apps.audit import Area, Audit, AuditSettings, SiteFinding, audit
from periplus.insight.views import Views
from periplus.model import Site as Host
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.urls import canonical
from periplus.view.findings import Severity
from periplus_lab import World, sitemaps
from periplus_lab.http import Request
from periplus_lab.sites import Profile, Site

HURRIED = {
    "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.01, "retries.max_attempts": 1,
    "sitemaps.follow": True, "scope.kind": "host", "traps.min_unique": 0.0,
}  # fmt: skip
OTHERS = {
    "redirect-chains", "deep-pages", "slow-pages", "one-inlink", "links-to-forbidden", "robots-unmatched",
    "robots-missing",
}  # fmt: skip
JUDGED = set(Area) - {Area.PAGES, Area.DATA, Area.MEDIA, Area.SAFETY}
"""Findings about what the lab, or a busy machine, does by chance, with tests of their own; so are those about texts."""
PROFILES = (Profile.STALE, Profile.ALWAYS_NOW, Profile.BUILD, Profile.PARTIAL, Profile.NONE)
QUICK = (0, 2, 4)
"""Places of the sites that every run audits; the others differ from one of them in a single finding."""
PLACES = [
    pytest.param(place, id=profile.value, marks=() if place in QUICK else pytest.mark.slow)
    for place, profile in enumerate(PROFILES)
]
_LINK = re.compile(rb'<a href="([^"]*)"')
_CANONICAL = re.compile(rb'<link rel="canonical" href="([^"]*)"')


class Crawled(NamedTuple):
    """A world, and where a whole crawl of it lies; what was asked for, by host."""

    world: World
    folder: Path
    views: Views
    asked: dict[str, set[str]]
    audits: dict[str, Audit]
    truths: dict[str, Truth]

    def truth(self, site: Site) -> Truth:
        """What is wrong with a site; worked out once."""
        if site.host not in self.truths:
            self.truths[site.host] = Truth(self, site)
        return self.truths[site.host]

    def audit(self, site: Site) -> Audit:
        """The audit of a site, with every example; made once."""
        return self.audits[site.host] if site.host in self.audits else self._made(site)

    def _made(self, site: Site) -> Audit:
        state = DiskState.read_only(Layout(self.folder).shard(0))
        robots = state.robots.get(Host(site.host))
        state.close()
        settings = AuditSettings(examples=10**6)
        self.audits[site.host] = audit(self.views, [site.host], robots, is_whole=True, settings=settings)
        return self.audits[site.host]


class Answered(NamedTuple):
    """What the world says to a URL: the truth about a page."""

    status: int
    body: bytes

    @property
    def is_apology(self) -> bool:
        return self.status == 200 and b"Sorry, this page is not here" in self.body

    @property
    def is_page(self) -> bool:
        return self.status == 200 and not self.is_apology

    @property
    def has_noindex(self) -> bool:
        return b'content="noindex"' in self.body

    def canonical(self, url: str) -> str:
        found = _CANONICAL.search(self.body)
        return found[1].decode().replace("&amp;", "&") if found else url

    def links(self, host: str) -> set[str]:
        hrefs = (href.replace(b"&amp;", b"&").decode() for href in _LINK.findall(self.body))
        return {str(canonical(href, f"http://{host}/")) for href in hrefs} if self.status == 200 else set()


class Truth:
    """What is wrong with a site, worked out from the world's answers to all that was asked for."""

    def __init__(self, crawled: Crawled, site: Site) -> None:
        world, host = crawled.world, site.host
        self.world, self.site = world, site
        self.entries = [entry for _, entry in world.listed(host, world.epoch)]
        self.listed = {str(canonical(entry.url)) for entry in self.entries if f"//{host}/" in entry.url}
        self.answers = {url: self._ask(url) for url in crawled.asked[host] if not _is_file(url)}
        self.linked = {
            link
            for url, said in self.answers.items()
            for link in said.links(host)
            if link != url and f"//{host}/" in link
        }
        self.aliases = {duplicate.url for duplicate in world.duplicates(world.epoch)}

    def _ask(self, url: str) -> Answered:
        host, _, target = url.removeprefix("http://").partition("/")
        said = self.world.answer(Request("GET", host, f"/{target}", (), self.world.epoch))
        return Answered(said.status, said.body if isinstance(said.body, bytes) else b"".join(said.body))

    def faults(self) -> dict[str, set[str]]:
        """The URLs of every fault that a page can have."""
        answers = self.answers
        good = {
            url for url, said in answers.items()
            if said.is_page and not said.has_noindex and said.canonical(url) == url and url not in self.aliases
        }  # fmt: skip
        pages = {url for url, said in answers.items() if said.is_page}
        seen = self.listed & answers.keys()
        found = {
            "pages-unlisted": (good & self.linked) - self.listed if self.listed else set(),
            "listed-errors": {url for url in seen if answers[url].status >= 400 or answers[url].is_apology},
            "listed-redirects": {url for url in seen if answers[url].status == 301},
            "listed-noindex": {url for url in seen & pages if answers[url].has_noindex},
            "listed-canonical": {
                url for url in seen & pages if not answers[url].has_noindex and answers[url].canonical(url) != url
            },
            "listed-forbidden": {url for url in self.listed if not self.world.allowed("periplus", url)},
            "orphans": (self.listed & good) - self.linked - {self.site.url},
            "broken-links": {url for url in self.linked & answers.keys() if answers[url].status >= 400},
            "soft-errors": {url for url, said in answers.items() if said.is_apology},
            "redirected-links": {url for url in self.linked & answers.keys() if answers[url].status == 301},
        }
        return {name: urls for name, urls in found.items() if urls}

    def unmarked_copies(self) -> set[str]:
        """Second names of pages that do not say whose they are."""
        return {
            url for url, said in self.answers.items()
            if url in self.aliases and said.is_page and not said.has_noindex and said.canonical(url) == url
        }  # fmt: skip


def _is_file(url: str) -> bool:
    return url.endswith(("/robots.txt", "/feed.xml")) or "/sitemap" in url


def crawled_world(folder: Path, world: World, **options: object) -> Iterator[Crawled]:
    with standing(world) as lab:
        crawl(folder, [site.url for site in world.sites()], by_proxy(lab) | HURRIED | options)
        asked: dict[str, set[str]] = {site.host: set() for site in world.sites()}
        for visit in lab.log.visits():
            if visit.host in asked:
                asked[visit.host].add(visit.url)
    with Views(folder) as views:
        yield Crawled(world, folder, views, asked, {}, {})


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Five sites, a few hundred pages; the lab's time is about ours, because dates are judged by it."""
    world = World(28, len(PROFILES), pages=100, profiles=PROFILES, epoch=float(int(time.time())))
    yield from crawled_world(tmp_path_factory.mktemp("audited"), world)


def by_name(found: Audit) -> dict[str, SiteFinding]:
    return {each.name: each for each in found.findings}


@pytest.mark.proof
@pytest.mark.parametrize("place", PLACES)
def test_every_planted_fault_is_found_and_no_other(crawled: Crawled, place: int) -> None:
    """By its name, and with exactly the pages that have it."""
    site = crawled.world.sites()[place]
    truth, found = crawled.truth(site), crawled.audit(site)
    faults = truth.faults()
    told = {name: each for name, each in by_name(found).items() if each.area in JUDGED and name not in OTHERS}
    assert {name: {example.url for example in told[name].examples} for name in faults if name in told} == faults
    assert told.keys() - faults.keys() == planted_elsewhere(truth, found)
    assert ("lastmod-always-now" in found.unjudged) == (site.profile is Profile.ALWAYS_NOW)


def planted_elsewhere(truth: Truth, found: Audit) -> set[str]:
    """Names of the faults that are not of single pages."""
    profile, entries = truth.site.profile, truth.entries
    names = {
        Profile.STALE: {"sitemap-stale"},
        Profile.BUILD: {"lastmod-build-time"},
        Profile.NONE: {"no-sitemap"},
    }.get(profile, set())
    priorities = [entry.priority for entry in entries if entry.priority is not None]
    frequencies = [entry.changefreq for entry in entries if entry.changefreq is not None]
    dated = [entry for entry in entries if entry.lastmod is not None]
    names = names | ({"priority-constant"} if len(priorities) >= 10 and len(set(priorities)) == 1 else set())
    names |= {"changefreq-constant"} if len(frequencies) >= 10 and len(set(frequencies)) == 1 else set()
    names |= {"lastmod-missing"} if len(entries) >= 10 and len(dated) < 0.5 * len(entries) else set()
    names |= {"robots-silent"} if entries and truth.site.robots in ("missing", "empty") else set()
    names |= {"duplicate-pages"} if truth.unmarked_copies() else set()
    return names | ({"needless-requests"} if found.cost.share >= 0.2 and found.cost.visits >= 20 else set())


@pytest.mark.proof
@pytest.mark.parametrize("place", PLACES)
def test_pages_with_second_names_are_found(crawled: Crawled, place: int) -> None:
    """Every group of names for one page, but for the one that stands for it."""
    site = crawled.world.sites()[place]
    truth, found = crawled.truth(site), by_name(crawled.audit(site)).get("duplicate-pages")
    told = set() if found is None else {example.url for example in found.examples}
    aliases = truth.unmarked_copies()
    assert len(told) == len(aliases)


@pytest.mark.proof
def test_what_a_crawl_costs_is_what_the_server_saw(crawled: Crawled) -> None:
    """Requests for pages, and how many of them brought nothing."""
    for place in QUICK:
        site = crawled.world.sites()[place]
        truth, cost = crawled.truth(site), crawled.audit(site).cost
        answers = truth.answers.values()
        assert cost.visits == len(truth.answers)
        assert cost.wasted.get("redirects", 0) == sum(said.status == 301 for said in answers)
        assert cost.wasted.get("errors", 0) == sum(said.status >= 400 for said in answers)
        assert cost.wasted.get("soft_errors", 0) == sum(said.is_apology for said in answers)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """One site that does everything wrong, but for a file with too many URLs, which takes long to read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sitemaps, "HUGE", 200)
        world = World(28, 2, pages=60, profiles=(Profile.DIRTY, Profile.NONE), epoch=float(int(time.time())))
        yield from crawled_world(tmp_path_factory.mktemp("dirty"), world, **{"traps.min_unique": 0.05})


@pytest.mark.proof
def test_everything_wrong_with_files_is_found(dirty: Crawled) -> None:
    """Of the dirty profile: each sitemap with what is wrong with it, and each line of robots.txt."""
    told = by_name(dirty.audit(dirty.world.sites()[0]))
    assert told["sitemap-format"].parts == {
        "bad-encoding": 1, "gzip-truncated": 1, "sitemap-foreign-host": 1, "sitemap-loop": 1, "sitemap-repeated": 1,
        "truncated": 1,
    }  # fmt: skip
    assert [example.url.rpartition("/")[2] for example in told["sitemap-errors"].examples] == ["sitemap-missing.xml"]
    assert told["robots-format"].count == 2
    assert told["sitemap-errors"].severity is Severity.ERROR
    assert "no-sitemap" not in told


@pytest.mark.proof
def test_listed_copies_are_found(dirty: Crawled) -> None:
    """The huge file lists the same pages over and over under names that say nothing."""
    site = dirty.world.sites()[0]
    told = by_name(dirty.audit(site))
    name = "listed-canonical" if site.names_canonical else "listed-duplicates"
    asked = {url for url in dirty.asked[site.host] if "?from=sitemap" in url}
    assert len(asked) > 10
    assert asked <= {example.url for example in told[name].examples}

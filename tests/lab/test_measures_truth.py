"""Every measure of a crawl of the lab, compared with what the world itself says that it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab import measured_truth
from tests.lab.crawling import by_proxy, crawl, place, rows, standing
from tests.lab.measured_truth import Truth

from periplus.insight.measures import UrlMeasures, UrlSelection, measures, measures_by, urls_of
from periplus.insight.views import Views
from periplus_lab import World, sitemaps
from periplus_lab.sites import Profile

PROFILES = (Profile.SHOP, Profile.NEWS, Profile.PARTIAL, Profile.STALE, Profile.DIRTY, Profile.NONE)
ENDLESS = "from=sitemap"
"""A forgotten sitemap names thousands of URLs with this in them: they are excluded here."""
FORGOTTEN = 200
"""How many: enough to be excluded again and again."""
HURRIED = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02, "sitemaps.follow": True}
LISTING = {"sitemap", "feed"}
WHERE = ["", *PROFILES]


class Crawled(NamedTuple):
    """A crawl that came to its end, opened to be asked; and the truth about its web."""

    world: World
    views: Views
    truth: Truth
    shows: dict[str, str]
    ranks: dict[str, float]
    first_seen: dict[str, dict[bool, int]]
    """When each URL was first told of by Discovery and by Sitemaps, in microseconds."""

    def host(self, profile: Profile) -> str:
        """The site that says this of itself."""
        return next(site.host for site in self.world.sites() if site.profile is profile)

    def part(self, where: Profile | str) -> UrlSelection:
        return UrlSelection(site=self.host(where)) if isinstance(where, Profile) else UrlSelection()

    def inside(self, where: Profile | str) -> Callable[[str], bool]:
        host = self.host(where) if isinstance(where, Profile) else ""
        return lambda url: not host or place(url)[0] == host


def first_seen(folder: Path) -> dict[str, dict[bool, int]]:
    """As the crawl wrote it down, row by row."""
    told = rows(folder, "select url, source, epoch_us(found_at) as at from discoveries where refused is null")
    seen: dict[str, dict[bool, int]] = {}
    for row in told:
        times = seen.setdefault(row["url"], {})
        is_listing = row["source"] in LISTING
        times[is_listing] = min(times.get(is_listing, row["at"]), row["at"])
    return seen


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Six sites, one of each kind, by links and sitemaps together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sitemaps, "HUGE", FORGOTTEN)
        yield from crawled_world(tmp_path_factory.mktemp("measured"))


def crawled_world(folder: Path) -> Iterator[Crawled]:
    world = World(11, 6, pages=700, profiles=PROFILES)
    seeds = [site.url for site in world.sites()]
    with standing(world) as lab:
        crawl(folder, seeds, by_proxy(lab) | HURRIED | {"patterns.exclude": [f"*{ENDLESS}*"]})
    truth = measured_truth.known(world, seeds, without=ENDLESS)
    with Views(folder) as views:
        shows = measured_truth.clusters(world, truth)
        yield Crawled(world, views, truth, shows, measured_truth.pageranks(truth), first_seen(folder))


def expected(crawled: Crawled, where: Profile | str) -> dict[str, float | None]:
    """All that does not depend on when what was seen, set by set."""
    truth, inside = crawled.truth, crawled.inside(where)
    listed = {url for url in truth.listed if inside(url)}
    linked = {url for url in truth.linked if inside(url)}
    asked = {url for url in truth.shown if inside(url)}
    pages = {url for url in truth.pages if inside(url)}
    fit = {url for url in pages if not truth.shown[url].noindex and truth.shown[url].canonical in ("", url)}
    rank = {url: crawled.ranks.get(url, 0.0) for url in listed | linked}

    def unique(urls: set[str]) -> int:
        return len({crawled.shows[url] for url in urls})

    counts = {
        "seen": len(listed | linked),
        "seen_sitemaps": len(listed),
        "seen_discovery": len(linked),
        "seen_both": len(listed & linked),
        "crawled": len(asked),
        "crawled_sitemaps": len(asked & listed),
        "crawled_discovery": len(asked & linked),
        "unique": unique(pages),
        "unique_sitemaps": unique(pages & listed),
        "unique_discovery": unique(pages & linked),
        "indexed": unique(fit),
        "indexed_sitemaps": unique(fit & listed),
        "indexed_discovery": unique(fit & linked),
    }

    def share(one: str, other: str) -> float | None:
        return counts[one] / counts[other] if counts[other] else None

    coverage, index = share("unique_sitemaps", "unique"), share("indexed_sitemaps", "indexed")
    shares = {
        "coverage": share("crawled_sitemaps", "crawled"),
        "unique_coverage": coverage,
        "index_coverage": index,
        "pagerank_coverage": sum(rank[url] for url in listed) / sum(rank.values()) if listed else None,
        "signal_to_noise_sitemaps": share("unique_sitemaps", "seen_sitemaps"),
        "signal_to_noise_discovery": share("unique_discovery", "seen_discovery"),
        "efficiency_sitemaps": share("unique_sitemaps", "crawled_sitemaps"),
        "efficiency_discovery": share("unique_discovery", "crawled_discovery"),
        "utility": index / coverage if index is not None and coverage else None,
    }
    return {**counts, **shares}


def found(measured: UrlMeasures, names: dict[str, float | None]) -> dict[str, float | None]:
    return {name: getattr(measured, name) for name in names}


@pytest.mark.proof
def test_the_web_is_worth_measuring(crawled: Crawled) -> None:
    """Something of everything is there, or equal numbers would say little."""
    truth = crawled.truth
    assert min(len(truth.listed), len(truth.linked), len(truth.pages)) > 500
    assert truth.listed - truth.linked
    assert truth.linked - truth.listed
    assert len(set(crawled.shows.values())) < len(crawled.shows)
    assert {301, 404} <= {shown.status for shown in truth.shown.values()}


@pytest.mark.proof
@pytest.mark.parametrize("where", WHERE, ids=lambda where: getattr(where, "value", "all"))
def test_every_measure_is_what_the_world_says(crawled: Crawled, where: Profile | str) -> None:
    """Of the whole web and of each site: counts exactly, shares as the paper defines them."""
    wanted = expected(crawled, where)
    assert found(measures(crawled.views, crawled.part(where)), wanted) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.proof
def test_measures_by_site_are_those_of_each_site(crawled: Crawled) -> None:
    """As a table, and one by one; by prefix too."""
    by_site = measures_by(crawled.views, "site")
    for profile in PROFILES:
        host = crawled.host(profile)
        alone = measures(crawled.views, UrlSelection(prefix=f"http://{host}/"))
        assert by_site[host] == measures(crawled.views, UrlSelection(site=host)) == alone
    assert sum(each.seen for each in by_site.values()) == measures(crawled.views).seen


@pytest.mark.proof
@pytest.mark.parametrize("share", [0.3, None], ids=["early", "whole"])
@pytest.mark.parametrize(
    "where",
    ["", Profile.SHOP, *(pytest.param(where, marks=pytest.mark.slow) for where in PROFILES[1:])],
    ids=lambda where: getattr(where, "value", "all"),
)
def test_seen_delta_is_the_sum_over_what_both_saw(crawled: Crawled, where: Profile | str, share: float | None) -> None:
    """In any span of time: only what both saw within it counts; ties count for neither in the share."""
    seen = {url: times for url, times in crawled.first_seen.items() if crawled.inside(where)(url)}
    moments = sorted(min(times.values()) for times in crawled.first_seen.values())
    until = None if share is None else moments[int(len(moments) * share)]
    deltas = [
        (times[False] - times[True]) / 1e6
        for times in seen.values()
        if len(times) == 2 and (until is None or max(times.values()) < until)
    ]
    apart = [delta for delta in deltas if delta]
    part = crawled.part(where)
    end = None if until is None else until / 1e6
    measured = measures(crawled.views, UrlSelection(site=part.site, until=end))
    assert measured.seen == sum(1 for times in seen.values() if until is None or min(times.values()) < until)
    assert measured.seen_delta == (pytest.approx(sum(deltas)) if deltas else None)
    assert measured.seen_delta_mean == (pytest.approx(sum(deltas) / len(deltas)) if deltas else None)
    wanted = sum(delta > 0 for delta in apart) / len(apart) if apart else None
    assert measured.first_seen_share == (pytest.approx(wanted) if apart else None)


@pytest.mark.proof
def test_new_urls_are_all_urls_once_a_source(crawled: Crawled) -> None:
    """Over time they add up to what each source told of."""
    rows = crawled.views.rows("select source, sum(urls)::bigint as urls from new_urls group by source")
    whole = measures(crawled.views)
    assert {row["source"]: row["urls"] for row in rows} == {
        "sitemaps": whole.seen_sitemaps,
        "discovery": whole.seen_discovery,
    }


@pytest.mark.proof
@pytest.mark.parametrize("where", WHERE, ids=lambda where: getattr(where, "value", "all"))
def test_what_sitemaps_missed_is_what_the_world_planted(crawled: Crawled, where: Profile | str) -> None:
    """Errors, redirects, copies by a parameter and others, lists, and pages that are really missing."""
    planted = measured_truth.missed(crawled.world, crawled.truth, crawled.shows)
    inside = crawled.inside(where)
    wanted = Counter(kind for url, kind in planted.items() if inside(url))
    urls = f"select url from {urls_of(crawled.part(where))}"
    rows = crawled.views.rows(f"select class, count(*) as urls from missed where url in ({urls}) group by class")
    assert {row["class"]: row["urls"] for row in rows} == wanted


@pytest.mark.proof
def test_pagerank_is_that_of_the_web(crawled: Crawled) -> None:
    """Of every URL, as power iteration over the world's own links has it."""
    ranks = {row["url"]: row["pagerank"] for row in crawled.views.rows("select url, pagerank from urls")}
    assert max(abs(rank - crawled.ranks.get(url, 0.0)) for url, rank in ranks.items()) < 1e-6

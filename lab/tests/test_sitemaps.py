"""Sitemaps: what each profile serves is what `listed` says, and as true as its profile promises."""

from __future__ import annotations

import gzip
from collections import Counter, deque
from functools import cache
from urllib.parse import urlsplit

import pytest

from periplus.formats import robots, sitemap
from periplus.formats.sitemap import Child, Entry
from periplus.model import ChangeFreq, Problem
from periplus_lab import Request, World, sitemaps
from periplus_lab.sitemaps import stored_gzip
from periplus_lab.sites import Profile

DAY = 86_400.0


@cache
def of_profile(profile: Profile, pages: int = 200) -> World:
    return World(seed=5, sites=1, pages=pages, profiles=[profile])


def body(world: World, url: str, at: float) -> bytes:
    parts = urlsplit(url)
    answer = world.answer(Request("GET", parts.netloc, parts.path, (), at))
    if answer.status != 200:
        return b""
    return answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)


def root(world: World, at: float) -> str:
    """Where robots.txt says that the sitemap is, or where one looks if it does not."""
    host = world.sites()[0].host
    told = robots.parse(body(world, f"http://{host}/robots.txt", at)).sitemaps
    usual = ("/sitemap_index.xml", "/sitemap.xml")
    return (
        told[0] if told else next(f"http://{host}{path}" for path in usual if body(world, f"http://{host}{path}", at))
    )


def crawl(world: World, at: float) -> tuple[dict[str, list[Entry]], dict[str, Child], Counter[str]]:
    """Read every sitemap that can be reached, as a crawler would."""
    waiting, seen = deque([root(world, at)]), set()
    found: dict[str, list[Entry]] = {}
    children: dict[str, Child] = {}
    problems: Counter[str] = Counter()
    while waiting:
        url = waiting.popleft()
        if url in seen:
            continue
        seen.add(url)
        for value in sitemap.read(body(world, url, at), url=url):
            if isinstance(value, Child):
                waiting.append(value.url)
                children[value.url] = value
            elif isinstance(value, Problem):
                problems[value.reason] += 1
            else:
                found.setdefault(url, []).append(value)
    return found, children, problems


def listed(world: World, at: float) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for url, entry in world.listed(world.sites()[0].host, at):
        found.setdefault(url, []).append(entry)
    return found


CLEAN = [profile for profile in Profile if profile not in (Profile.NONE, Profile.DIRTY)]


@pytest.mark.parametrize("profile", CLEAN)
def test_what_is_served_is_what_is_listed(profile: Profile) -> None:
    """Every document is reached from the announced one, and our reader reads from it what the truth tells."""
    world = of_profile(profile)
    for day in (0.0, 9.1):
        served, _, problems = crawl(world, world.epoch + day * DAY)
        assert not problems - Counter({"empty": 99})
        assert served == listed(world, world.epoch + day * DAY)


@pytest.mark.parametrize("profile", [Profile.SHOP, Profile.NEWS, Profile.PARTIAL])
def test_honest_profiles_tell_the_truth(profile: Profile) -> None:
    """Each date was the time of the page's last change when the file was written."""
    world = of_profile(profile)
    at = world.epoch + 12.5 * DAY
    dated = 0
    for url, entries in listed(world, at).items():
        written = at if "-day-" not in url else midnight_after(url, world)
        written = world.epoch - 30 * DAY if "-base-" in url else written
        for entry in entries:
            assert world.exists(entry.url, written)
            if entry.lastmod is not None:
                dated += 1
                assert entry.lastmod.at == world.modified_at(entry.url, written)
    assert dated


def midnight_after(url: str, world: World) -> float:
    """When the file of a day was closed: its name counts days since the world's origin, 520 weeks before its epoch."""
    day = int(url.split("-")[2])
    return world.epoch - 520 * 7 * DAY + (day + 1) * DAY


def test_a_shop_adds_a_file_each_day_and_never_touches_the_others() -> None:
    """Log-structured, as amazon.com: the old files are the same bytes permanently; the new one has what changed."""
    world = of_profile(Profile.SHOP)
    early, late = world.epoch + 3.2 * DAY, world.epoch + 9.1 * DAY
    before, after = crawl(world, early), crawl(world, late)
    assert set(before[0]) < set(after[0])
    assert len(after[1]) - len(before[1]) == 6
    for url in before[1]:
        assert before[0].get(url) == after[0].get(url)
        assert before[1][url] == after[1][url]
    for url in list(before[1])[-5:]:
        assert body(world, url, early) == body(world, url, late)


def test_a_shop_lists_every_product_and_nothing_else() -> None:
    """Complete for products that lived through a midnight, silent on the rest."""
    world = of_profile(Profile.SHOP)
    site = world.sites()[0]
    at = world.epoch + 9.1 * DAY
    entries = {entry.url for entries in listed(world, at).values() for entry in entries}
    alive = list(world.urls(site.host, at))
    products, others = set(alive[site.first_article :]), set(alive[: site.first_article])
    assert products <= entries
    assert not others & entries


def test_news_files_do_not_overlap_and_complete_each_other() -> None:
    """Day, week and month, as cnn.com; hub pages by the alphabet in an index of their own."""
    world = of_profile(Profile.NEWS)
    at = world.epoch + 12.5 * DAY
    found = {urlsplit(url).path: entries for url, entries in listed(world, at).items()}
    lists = ("/sitemap-news.xml", "/sitemap-week.xml", "/sitemap-month.xml")
    urls = [entry.url for path in lists for entry in found[path]]
    assert len(urls) == len(set(urls))
    for path, (youngest, oldest) in zip(lists, ((0, 1), (1, 7), (7, 31)), strict=True):
        for entry in found[path]:
            age = at - (world.modified_at(entry.url, at) or 0.0)
            assert youngest * DAY <= age < oldest * DAY
    assert all(entry.news for entry in found["/sitemap-news.xml"])
    hubs = [entry.url for path, entries in found.items() if "hubs" in path for entry in entries]
    assert len(hubs) == world.sites()[0].first_article
    for entry in found["/sitemap-news.xml"]:
        assert not world.is_orphan(entry.url) or world.exists(entry.url, at)


def test_an_archive_is_rewritten_nightly_and_often_wrong() -> None:
    """50 files or more, monthly everywhere; two dates in five are wrong; nothing moves between two nights."""
    world = of_profile(Profile.ARCHIVE, 1000)
    site = world.sites()[0]
    night = world.epoch + 5 * DAY + site.nightly
    served, children, _ = crawl(world, night + 3600)
    assert len(children) > 50
    again, later_children, _ = crawl(world, night + 20 * 3600)
    assert served == again
    assert children == later_children
    assert crawl(world, night + DAY + 60)[1] != children
    entries = [entry for entries in served.values() for entry in entries if "/articles/" in entry.url]
    assert {entry.changefreq for entry in entries} == {ChangeFreq.MONTHLY}
    assert len({entry.url for entry in entries}) == len(entries)
    wrong = [
        entry for entry in entries if entry.lastmod and entry.lastmod.at != day_of(world.modified_at(entry.url, night))
    ]
    assert 0.15 < len(wrong) / len(entries) < 0.45


def day_of(at: float | None) -> float | None:
    return None if at is None else at // DAY * DAY


def test_a_build_moves_every_date_at_once() -> None:
    """One file; the date of each page is that of the last build, changed or not."""
    world = of_profile(Profile.BUILD)
    site = world.sites()[0]
    built = world.epoch + site.nightly + 8 * DAY
    moments = [built + hours * 3600.0 for hours in (1, 12)]
    for at in moments:
        dates = {entry.lastmod.at for entries in listed(world, at).values() for entry in entries if entry.lastmod}
        assert len(dates) == 1
        (date,) = dates
        assert at - site.build_every <= date <= at
        assert (date - world.epoch - site.nightly) % site.build_every == 0
    alive = set(world.urls(site.host, moments[0]))
    assert {entry.url for entries in listed(world, moments[0]).values() for entry in entries} == alive


def test_always_now_says_now() -> None:
    """The date of everything is the time of the request."""
    world = of_profile(Profile.ALWAYS_NOW)
    for at in (world.epoch + 5000, world.epoch + 5001):
        assert {entry.lastmod.at for entries in listed(world, at).values() for entry in entries if entry.lastmod} == {
            at
        }


def test_partial_is_a_small_part() -> None:
    """One page in twenty, or so."""
    world = of_profile(Profile.PARTIAL, 2000)
    entries = [entry for entries in listed(world, world.epoch).values() for entry in entries]
    assert 0.02 < len(entries) / world.sites()[0].size < 0.1


def test_stale_never_changes_and_names_the_dead() -> None:
    """Written once: the same bytes at any time; dead pages, moved pages and pages that ask not to be indexed."""
    world = of_profile(Profile.STALE, 1200)
    at = world.epoch + 30 * DAY
    assert body(world, root(world, at), at) == body(world, root(world, at), world.epoch)
    urls = [entry.url for entries in listed(world, at).values() for entry in entries]
    statuses = Counter(world.answer(Request("GET", *split(url), (), at)).status for url in urls)
    assert statuses[301]
    assert sum(statuses[status] for status in (404, 410)) > 100 or world.sites()[0].gone == 200
    assert sum(not world.exists(url, at) for url in urls) > len(urls) / 3
    assert any(b"noindex" in world.content(url, at) for url in urls)


def split(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, parts.path + (f"?{parts.query}" if parts.query else "")


def test_dirt_can_be_read_with_care() -> None:
    """Brackets, twins, loops, a file too long, wrong bytes, cut gzip, foreign URLs: and every page is in there."""
    world = World(seed=5, sites=2, pages=700, profiles=[Profile.DIRTY, Profile.NONE])
    site, other = world.sites()
    at = world.epoch + 2 * DAY
    text = body(world, f"http://{site.host}/robots.txt", at)
    assert b"SITEMAP: <http://" in text
    found, children, problems = crawl(world, at)
    paths = {urlsplit(url).path: entries for url, entries in found.items()}
    assert paths["/sitemap-a.xml"] == paths["/sitemap-a.xml.gz"]
    assert f"http://{site.host}/sitemap_index.xml" in children
    assert len(paths["/sitemap-huge.xml"]) == sitemaps.HUGE > 50_000
    assert {urlsplit(entry.url).netloc for entry in paths["/sitemap-foreign.xml"]} == {other.host}
    assert problems["too-many-urls"]
    assert problems["gzip-truncated"]
    assert problems["bad-encoding"]
    assert 0 < len(paths["/sitemap-cut.xml.gz"]) < len(paths["/sitemap-c.xml"])
    assert set(world.urls(site.host, at)) <= {entry.url for entries in found.values() for entry in entries}


def test_a_site_without_sitemaps_has_none() -> None:
    """Most of the web."""
    world = of_profile(Profile.NONE)
    host = world.sites()[0].host
    assert not list(world.listed(host, world.epoch))
    assert not body(world, f"http://{host}/sitemap.xml", world.epoch)
    assert b"itemap" not in body(world, f"http://{host}/robots.txt", world.epoch)


def test_fields_are_as_frequent_as_on_the_web(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lastmod on 58 % of URLs, priority on 61 %, changefreq on 7 %; priorities that tell pages apart on few."""
    monkeypatch.setattr(sitemaps, "HUGE", 1)
    world = World(seed=7, sites=120, pages=6_000)
    urls: dict[str, Entry] = {}
    for site in world.sites():
        for path, entry in world.listed(site.host, world.epoch + DAY):
            if "huge" not in path:
                urls[entry.url] = entry
    total = len(urls)
    assert sum(entry.lastmod is not None for entry in urls.values()) / total == pytest.approx(0.58, abs=0.06)
    assert sum(entry.priority is not None for entry in urls.values()) / total == pytest.approx(0.61, abs=0.04)
    assert sum(entry.changefreq is not None for entry in urls.values()) / total == pytest.approx(0.07, abs=0.05)
    assert sum(entry.priority not in (None, 0.5) for entry in urls.values()) / total < 0.1
    assert {site.profile for site in world.sites()} == set(Profile)


def test_sitemaps_are_not_sent_again_for_nothing() -> None:
    """A file that has not changed since is a 304."""
    world = of_profile(Profile.SHOP)
    at = world.epoch + 5 * DAY
    url = next(url for url in crawl(world, at)[1] if "-day-" in url)
    parts = urlsplit(url)
    first = world.answer(Request("GET", parts.netloc, parts.path, (), at))
    modified = dict(first.headers)["Last-Modified"]
    again = Request("GET", parts.netloc, parts.path, (("if-modified-since", modified),), at + 40 * DAY)
    assert world.answer(again).status == 304


@pytest.mark.parametrize("size", [0, 1, 65_534, 65_535, 65_536, 200_000])
def test_gzip_without_compression_is_gzip(size: int) -> None:
    """Stored blocks, at every edge of a block."""
    data = bytes(range(256)) * (size // 256 + 1)
    assert gzip.decompress(stored_gzip(data[:size])) == data[:size]

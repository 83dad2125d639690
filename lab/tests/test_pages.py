"""Pages: what is served agrees with what is true, over virtual weeks."""

from __future__ import annotations

from collections import Counter
from random import Random
from urllib.parse import urlsplit

import pytest
from lxml.html import tostring
from tests.markup import elements

from periplus.formats.dates import read_http
from periplus.model import ChangeLevel
from periplus.urls import whatwg
from periplus_lab import Answer, Request, World
from periplus_lab.sites import Profile, Validation

DAY, WEEK = 86_400.0, 604_800.0


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=7, sites=40, pages=6000)


@pytest.fixture(scope="module")
def sample(world: World) -> list[str]:
    """A few pages of every site, home pages, hubs and listings among them."""
    random = Random(1)
    urls: list[str] = []
    for site in world.sites():
        alive = list(world.urls(site.host, world.epoch))
        urls += {*alive[:3], *random.sample(alive, min(len(alive), 3))}
    return sorted(urls)


def get(world: World, url: str, at: float, **headers: str) -> Answer:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return world.answer(Request("GET", parts.netloc, target, fields, at))


def header(answer: Answer, name: str) -> str | None:
    return dict(answer.headers).get(name)


def still_parts(body: bytes) -> str:
    """A page without what churns."""
    (page,) = elements(body, "/html")
    for churning in page.xpath("//aside[@class='churn']"):
        churning.drop_tree()
    return str(tostring(page, encoding="unicode"))


def test_what_exists_is_served_and_what_does_not_is_not(world: World, sample: list[str]) -> None:
    """`exists` is what a visitor finds, now and in later weeks; an apology with status 200 is not a page."""
    statuses: Counter[int] = Counter()
    for url in sample:
        for week in (0, 30, 80):
            at = world.epoch + week * WEEK
            answer = get(world, url, at)
            statuses[answer.status] += 1
            has_page = answer.status == 200 and b"<main>" in world.content(url, at)
            assert world.exists(url, at) == has_page, (url, week)
    assert statuses[200] > statuses[404] > 0
    assert statuses[301]
    assert statuses[410]


def test_a_moved_page_leads_to_one_that_lives(world: World, sample: list[str]) -> None:
    """301 points at the page that took the place of the dead one."""
    at = world.epoch + 60 * WEEK
    moved = [answer for answer in (get(world, url, at) for url in sample) if answer.status == 301]
    assert moved
    assert sum(world.exists(header(answer, "Location") or "", at) for answer in moved) >= len(moved) - 1


def test_pages_change_when_the_truth_says_so(world: World, sample: list[str]) -> None:
    """Between two moments the bytes differ, churn aside, if and only if `changed_between`."""
    random = Random(2)
    levels: Counter[ChangeLevel] = Counter()
    for url in sample:
        before = world.epoch + random.uniform(0, 4 * WEEK)
        after = before + random.choice([1800.0, DAY, 3 * DAY, WEEK])
        if not (world.exists(url, before) and world.exists(url, after)):
            continue
        first, second = world.content(url, before), world.content(url, after)
        level = world.change_level(url, before, after)
        levels[level] += 1
        assert (first == second) == (level is ChangeLevel.SAME), url
        assert (still_parts(first) == still_parts(second)) == (level < ChangeLevel.MINOR), url
        assert world.changed_between(url, before, after) == (level >= ChangeLevel.MINOR)
    assert set(levels) == set(ChangeLevel) - {
        ChangeLevel.TEMPLATE,
        ChangeLevel.ELSEWHERE,
    }  # the lab changes main texts only


def test_a_minor_change_touches_neither_links_nor_title(world: World, sample: list[str]) -> None:
    """Degrees of change: a minor one is a number or two."""
    seen = 0
    for url in sample:
        for day in range(10):
            before, after = world.epoch + day * DAY, world.epoch + (day + 1) * DAY
            if world.change_level(url, before, after) is not ChangeLevel.MINOR:
                continue
            seen += 1
            assert world.links(url, before) == world.links(url, after)
            lasting = "//h1 | //article/p[not(@class='by')]"
            one, other = (elements(world.content(url, at), lasting) for at in (before, after))
            assert [node.text_content() for node in one] == [node.text_content() for node in other]
    assert seen > 5


def test_the_time_of_the_last_change_is_the_first_moment_of_the_new_version(world: World, sample: list[str]) -> None:
    """Nothing changes from `modified_at` on, and something did with it."""
    at = world.epoch + 10 * DAY
    for url in sample:
        modified = world.modified_at(url, at)
        if modified is None:
            continue
        assert modified <= at
        assert not world.changed_between(url, modified, at), url
        assert world.changed_between(url, modified - 1, at), url


def test_links_are_those_that_a_parser_finds(world: World, sample: list[str]) -> None:
    """`links` against an HTML parser and the URL standard."""
    for url in sample:
        hrefs = elements(world.content(url, world.epoch), "//a/@href")
        assert [whatwg(href, url) for href in hrefs] == list(world.links(url, world.epoch)), url
        assert 8 <= len(hrefs) <= 130, url


def test_pages_are_of_ordinary_size(world: World, sample: list[str]) -> None:
    """8 KB or so of HTML, not two alike."""
    bodies = [world.content(url, world.epoch) for url in sample]
    assert len(set(bodies)) == len(bodies)
    assert 6_000 < sum(map(len, bodies)) / len(bodies) < 12_000


def test_links_turn_over(world: World, sample: list[str]) -> None:
    """About a quarter of all links are new after a week (Ntoulas, Cho, Olston 2004)."""
    new = total = 0
    for site in world.sites():
        for url in list(world.urls(site.host, world.epoch + WEEK))[-8:]:
            now, before = set(world.links(url, world.epoch + WEEK)), set(world.links(url, world.epoch))
            new += len(now - before)
            total += len(now)
    assert 0.15 < new / total < 0.35


@pytest.mark.parametrize("kind", list(Validation))
def test_validators_are_as_honest_as_the_site(world: World, sample: list[str], kind: Validation) -> None:
    """304 means that nothing changed, from honest sites; from the others what their kind means."""
    urls = [url for url in sample if world.site(urlsplit(url).netloc).validation is kind]
    assert urls
    for url in urls:
        for day in (0.0, 9.0):
            at, later = world.epoch + day * DAY, world.epoch + day * DAY + 2 * DAY
            first = get(world, url, at)
            if first.status != 200 or not world.exists(url, later):
                continue
            etag, modified = header(first, "ETag"), header(first, "Last-Modified")
            again = get(world, url, later, if_none_match=etag or '"x"', if_modified_since=modified or "")
            check_validators(world, url, kind, (at, later), (etag, modified), again)


def check_validators(
    world: World,
    url: str,
    kind: Validation,
    times: tuple[float, float],
    told: tuple[str | None, str | None],
    again: Answer,
) -> None:
    level = world.change_level(url, *times)
    etag, modified = told
    if kind is Validation.HONEST:
        assert again.status == (304 if level is ChangeLevel.SAME else 200), url
        assert etag is not None
        assert etag.startswith('"')
        site = world.site(urlsplit(url).netloc)
        if not site.churn_every:
            assert read_http(modified or "") == world.modified_at(url, times[0]), url
    elif kind is Validation.WEAK:
        assert etag is not None
        assert etag.startswith("W/")
        assert again.status == (304 if level < ChangeLevel.MINOR else 200), url
    elif kind is Validation.MISSING:
        assert (etag, modified) == (None, None)
        assert again.status == 200
    elif kind is Validation.RANDOM:
        assert again.status == 200
        assert modified is not None
    else:
        assert again.status == 304


def test_dates_alone_are_enough_for_a_304(world: World, sample: list[str]) -> None:
    """If-Modified-Since is obeyed where there is no If-None-Match, and ignored where there is."""
    site = next(site for site in world.sites() if site.validation is Validation.HONEST and not site.churn_every)
    url, at = f"http://{site.host}/", world.epoch + DAY
    modified = header(get(world, url, at), "Last-Modified") or ""
    assert get(world, url, at, if_modified_since=modified).status == 304
    assert get(world, url, at, if_modified_since=modified, if_none_match='"other"').status == 200
    assert get(world, url, at, if_modified_since="yesterday").status == 200
    assert get(world, url, at, if_none_match="*").status == 304
    earlier = "Mon, 05 Jan 2015 00:00:00 GMT"
    assert get(world, url, at, if_modified_since=earlier).status == 200


def test_methods(world: World) -> None:
    """HEAD is answered as GET, and the server drops the body; nothing else is allowed."""
    host = world.sites()[0].host
    asked = [world.answer(Request(method, host, "/", (), world.epoch)) for method in ("GET", "HEAD", "POST")]
    assert asked[0] == asked[1]
    assert asked[2].status == 405
    assert header(asked[2], "Allow") == "GET, HEAD"


def test_hosts(world: World) -> None:
    """Every host answers; an unknown one is told so; www twins serve or redirect; some addresses are shared."""
    assert len(set(world.hosts)) == len(world.hosts)
    for host in world.hosts:
        assert world.answer(Request("GET", host, "/", (), world.epoch)).status in (200, 301)
        assert world.address(host).startswith("127.")
    assert world.answer(Request("GET", "nobody.lab.test", "/", (), world.epoch)).status == 421
    addresses = Counter(site.address for site in world.sites())
    assert len([address for address, count in addresses.items() if count > 1]) > 1
    assert sum(host.kind == "redirect" for host in world.names())
    domains = Counter(site.host.split(".", 1)[1] for site in world.sites() if site.host.count(".") == 3)
    assert max(domains.values()) == 3


def test_built_sites_speak_of_their_last_build(world: World) -> None:
    """Every change of a built site is seen at a build, and none between two."""
    site = next(site for site in world.sites() if site.profile is Profile.BUILD)
    urls = list(world.urls(site.host, world.epoch))
    for url in urls[:40]:
        modified = world.modified_at(url, world.epoch)
        assert modified is not None
        assert (modified - world.epoch - site.nightly) % site.build_every == 0, url


def test_sick_pages_have_every_kind_of_trouble() -> None:
    """A few pages answer with 4xx and 5xx, steadily, and are linked like others."""
    world = World(seed=3, sites=3, pages=800)
    statuses: Counter[int] = Counter()
    for site in world.sites():
        for listing in list(world.urls(site.host, world.epoch))[: site.first_article]:
            for link in world.links(listing, world.epoch):
                statuses[get(world, link, world.epoch).status] += 1
    assert {401, 403, 451, 500, 502, 503} & set(statuses)
    assert sum(count for status, count in statuses.items() if status != 200) < 0.1 * statuses.total()


ODD = (
    "/nothing",
    "/p/1/2/3",
    "/dp/B00000",
    "/item.php",
    "/%ff",
    "/?",
    "//",
    "/latest/999/",
    "",
    "/record/1",
    "/record/x",
)


@pytest.mark.parametrize("target", [*ODD, "/sitemap", "/find?page=0", "/" + "a" * 5000, "/print/", "/print/print/"])
def test_no_target_is_too_odd(world: World, target: str) -> None:
    """Any target gets an answer, and the truth agrees that there is nothing."""
    for site in world.sites()[:12]:
        answer = world.answer(Request("GET", site.host, target, (), world.epoch))
        assert answer.status in (200, 301, 404)
        world.exists(f"http://{site.host}{target}", world.epoch)

"""What else sites say: robots.txt, feeds, forms; and traps that never end."""

from __future__ import annotations

from collections import deque
from urllib.parse import urlencode, urlsplit

import pytest
from tests.markup import elements

from periplus.formats import feed, robots
from periplus.urls import canonical, whatwg
from periplus_lab import Answer, Request, World, traps

DAY = 86_400.0


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=7, sites=90, pages=4000)


def get(world: World, url: str, at: float, agent: str = "periplus") -> Answer:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return world.answer(Request("GET", parts.netloc, target, (("user-agent", agent),), at))


def bytes_of(answer: Answer) -> bytes:
    return answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)


def test_robots_mean_what_the_truth_says(world: World) -> None:
    """`allowed`, which has a matcher of its own, agrees with our reader of robots.txt on every kind of file."""
    kinds = set()
    for site in world.sites():
        answer = get(world, f"http://{site.host}/robots.txt", world.epoch)
        kinds.add(site.robots)
        assert answer.status == (404 if site.robots == "missing" else 200)
        rules = robots.parse(bytes_of(answer) if answer.status == 200 else b"")
        urls = list(world.urls(site.host, world.epoch))
        urls = urls[:: max(len(urls) // 10, 1)]
        urls += [url.replace(site.host, f"{site.host}/print", 1) for url in urls]
        urls += [
            f"http://{site.host}{path}" for path in ("/find?title=x", "/~private/a", "/%7eprivate/a", "/a?x=1&sid=2")
        ]
        for url in urls:
            for agent in ("periplus", "GoogleBot", "badbot", "otherbot", "bot-ak", "unheard-of"):
                assert rules.allows(agent, canonical(url) or "") == world.allowed(agent, url), (site.robots, agent, url)
    assert len(kinds) >= 11


def test_robots_forbid_something_and_not_everything(world: World) -> None:
    """Rules touch real pages, or they would test nothing."""
    judged = [world.allowed("periplus", url) for site in world.sites() for url in world.urls(site.host, world.epoch)]
    assert 0.01 < judged.count(False) / len(judged) < 0.4


def test_delays_and_sitemap_lines(world: World) -> None:
    """Crawl-delay where the kind says so; the sitemap is announced wherever there are both file and sitemap."""
    for site in world.sites():
        if site.robots in ("missing", "empty"):
            continue
        rules = robots.parse(bytes_of(get(world, f"http://{site.host}/robots.txt", world.epoch)))
        assert rules.crawl_delay("periplus") == (2.0 if site.robots == "delay" else None)
        assert bool(rules.sitemaps) == (site.profile.value != "none")


@pytest.mark.parametrize("kind", ["rss", "atom"])
def test_feeds_tell_the_newest(world: World, kind: str) -> None:
    """A feed lists pages that are alive, the newest first, each with the time of its birth; and moves with time."""
    site = max((site for site in world.sites() if site.feed == kind), key=lambda site: site.size)
    at = world.epoch + 3 * DAY
    answer = get(world, f"http://{site.host}/feed.xml", at)
    told = feed.read(bytes_of(answer), url=f"http://{site.host}/feed.xml")
    assert told.problems == ()
    assert told.kind is feed.FeedKind(kind)
    assert told.items
    dates = [item.published.at for item in told.items if item.published]
    assert dates == sorted(dates, reverse=True)
    for item, date in zip(told.items, dates, strict=True):
        assert not world.exists(item.url, date - 1)
        assert world.exists(item.url, date) or get(world, item.url, date).status >= 400
    assert b"/feed.xml" in world.content(site.url, at)
    assert bytes_of(get(world, f"http://{site.host}/feed.xml", at + 60 * DAY)) != bytes_of(answer)


# -- forms


@pytest.fixture(scope="module")
def library(world: World) -> str:
    return next(site.host for site in world.sites() if site.records)


def links_of(world: World, url: str) -> list[str]:
    hrefs = elements(bytes_of(get(world, url, world.epoch)), "//a/@href")
    return [whatwg(href, url) or "" for href in hrefs]


def results(world: World, host: str, **fields: str) -> list[str]:
    """All records that a query shows, page by page."""
    waiting = deque([f"http://{host}/find?{urlencode(fields)}"])
    found: list[str] = []
    while waiting:
        for link in links_of(world, waiting.popleft()):
            (found if "/record/" in link else waiting).append(link)
    return found


def test_a_form_opens_a_database(world: World, library: str) -> None:
    """Title, author and year find the records that have them, ten a page, a hundred at most."""
    (form,) = elements(bytes_of(get(world, f"http://{library}/search", world.epoch)), "//form")
    assert form.get("action") == "/find"
    assert form.xpath(".//input/@name | .//select/@name") == ["title", "author", "year"]
    records = world.records(library)
    for record in records[:20]:
        word = record.title.split()[0].lower()
        truth = [f"http://{library}{r.path}" for r in records if word in r.title.lower().split()]
        assert results(world, library, title=word) == truth[:100]
        family = record.author.split()[1]
        found = results(world, library, author=family, year=str(record.year))
        assert f"http://{library}{record.path}" in found
        page = get(world, f"http://{library}{record.path}", world.epoch)
        assert record.title.encode() in bytes_of(page)


@pytest.mark.slow
def test_a_year_at_a_time_shows_every_record_that_fits(world: World, library: str) -> None:
    """The select field alone enumerates the database, as far as the cap on results lets it."""
    years = [str(year) for year in range(1960, 2026)]
    found = [link for year in years for link in results(world, library, year=year)]
    assert len(found) == len(set(found)) == len(world.records(library))


def test_records_are_reachable_no_other_way(world: World, library: str) -> None:
    """No page and no sitemap of the site names a record."""
    for url in world.urls(library, world.epoch):
        assert not [link for link in world.links(url, world.epoch) if "/record/" in link or "/find" in link]
    assert not [entry.url for _, entry in world.listed(library, world.epoch) if "/record/" in entry.url]
    assert results(world, library) == []
    assert results(world, library, title="no-such-word") == []
    assert get(world, f"http://{library}/record/999999", world.epoch).status == 404


# -- traps


def wander(world: World, start: str, steps: int) -> set[str]:
    """Follow links, newest first, as a crawler without any sense would."""
    waiting, seen = [start], {start}
    for step in range(steps):
        if not waiting:
            break
        url = waiting.pop()
        for link in links_at(world, url, world.epoch + step):
            if link not in seen:
                seen.add(link)
                waiting.append(link)
    return seen


def links_at(world: World, url: str, at: float) -> list[str]:
    answer = get(world, url, at)
    if answer.status != 200:
        return []
    return [whatwg(href, url) or "" for href in elements(bytes_of(answer), "//a/@href")]


@pytest.mark.parametrize("host", [traps.CALENDAR, traps.SESSIONS, traps.DOUBLING, traps.FARM[0]])
def test_a_trap_has_no_end(world: World, host: str) -> None:
    """Every page names others that were never seen before."""
    few, many = wander(world, f"http://{host}/", 40), wander(world, f"http://{host}/", 80)
    assert len(few) < len(many) > 80


def test_facets_combine_in_any_order(world: World) -> None:
    """4 facets of 2 or 3 values: hundreds of orders of choosing, the same shirts behind them."""
    seen = wander(world, f"http://{traps.FACETS}/", 700)
    assert len(seen) > 500
    chosen = {frozenset(urlsplit(url).query.split("&")) for url in seen}
    assert len(chosen) < len(seen) / 2


def test_a_session_is_never_the_same(world: World) -> None:
    """The same page at two moments names two sessions, and is otherwise the same."""
    first, second = (links_at(world, f"http://{traps.SESSIONS}/", world.epoch + second) for second in (0, 1))
    assert first != second
    assert [url.partition("?")[0] for url in first] == [url.partition("?")[0] for url in second]


def test_a_farm_links_to_itself_alone(world: World) -> None:
    """Many hosts, nothing outside; no site of the world links to it or to any trap."""
    linked = {urlsplit(link).netloc for host in traps.FARM for link in links_at(world, f"http://{host}/", world.epoch)}
    assert linked <= set(traps.FARM)
    homes = {urlsplit(link).netloc for site in world.sites() for link in world.links(site.url, world.epoch)}
    assert not homes & set(traps.HOSTS)


def test_a_cloaker_has_two_faces(world: World) -> None:
    """Crawlers and people see different pages at the same URL."""
    url = f"http://{traps.CLOAKER}/"
    crawler = bytes_of(get(world, url, world.epoch, "Periplus/0.1"))
    person = bytes_of(get(world, url, world.epoch, "Mozilla/5.0 (X11; Linux) Firefox/140.0"))
    assert b"Encyclopedia" in crawler
    assert b"Casino" in person


@pytest.mark.parametrize("host", traps.HOSTS)
def test_traps_bound_what_they_are_asked(world: World, host: str) -> None:
    """No target makes a trap fail, and what it says is bounded."""
    for target in (
        "/",
        "/robots.txt",
        "/?" + "a=1&" * 100,
        "/" + "x/" * 5000,
        "/9999/12/",
        "/0001/01/",
        "/2026/13/",
        '/"><b>/',
    ):
        answer = world.answer(Request("GET", host, target, (), world.epoch))
        assert answer.status in (200, 404, 414)
        assert len(bytes_of(answer)) < 60_000
        assert b'"><b>' not in bytes_of(answer)

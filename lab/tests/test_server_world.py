"""The world through the server: what comes over HTTP is what the world says, for each profile and over weeks."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from itertools import islice

import pytest

from periplus.formats import robots, sitemap
from periplus.formats.dates import read_http
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import Profile, Validation

DAY = 86_400
PAGES_A_SITE = 6


class Client:
    """A crawler's eye: one connection, names by Host."""

    def __init__(self, lab: RunningLab) -> None:
        self._wire = HTTPConnection("127.0.0.1", lab.port, timeout=60)

    def get(self, url: str, **fields: str) -> tuple[int, HTTPMessage, bytes]:
        host, _, path = url.removeprefix("http://").partition("/")
        headers = {"Host": host, "User-Agent": "periplus"} | {name.replace("_", "-"): v for name, v in fields.items()}
        self._wire.request("GET", f"/{path}", headers=headers)
        response = self._wire.getresponse()
        return response.status, response.headers, response.read()

    def close(self) -> None:
        self._wire.close()


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=3, sites=18, pages=3000)


@pytest.fixture
def clock(world: World) -> SteppedClock:
    return SteppedClock(world.epoch)


@pytest.fixture
def client(world: World, clock: SteppedClock) -> Iterator[Client]:
    with RunningLab(Server(world, clock)) as lab:
        client = Client(lab)
        yield client
        client.close()


def some_urls(world: World, at: float) -> list[str]:
    return [url for site in world.sites() for url in islice(world.urls(site.host, at), PAGES_A_SITE)]


@pytest.mark.parametrize("days", [0, 3, 21])
def test_pages_are_the_worlds_bytes(world: World, clock: SteppedClock, client: Client, days: int) -> None:
    """Plain and compressed, on any day, the body is what the truth says it is."""
    clock.advance(days * DAY)
    for url in some_urls(world, clock.now()):
        truth = world.content(url, clock.now())
        assert client.get(url)[2] == truth
        status, fields, body = client.get(url, Accept_Encoding="gzip")
        assert status == 200
        assert (gzip.decompress(body) if fields["Content-Encoding"] == "gzip" else body) == truth
        assert read_http(fields["Date"]) == clock.now()


def test_validators_keep_their_promise_over_three_weeks(world: World, clock: SteppedClock, client: Client) -> None:
    """A 304 of an honest site means the same bytes, a 200 means others; the rest lie as their kind says."""
    first = {url: client.get(url) for url in some_urls(world, clock.now())}
    answers = {304: 0, 200: 0}
    for _ in range(3):
        clock.advance(7 * DAY)
        for url, (_, fields, seen) in first.items():
            conditions = {"If_None_Match": fields["ETag"]} if fields["ETag"] else {}
            if not conditions and fields["Last-Modified"]:
                conditions = {"If_Modified_Since": fields["Last-Modified"]}
            status = client.get(url, **conditions)[0]
            kind = world.site(url.split("/")[2]).validation
            if kind is Validation.HONEST and status in answers:
                answers[status] += 1
                assert (status == 304) is (world.content(url, clock.now()) == seen), url
            elif kind in (Validation.MISSING, Validation.RANDOM):
                assert status != 304
    assert min(answers.values()) > 5


QUICK = (Profile.SHOP, Profile.NEWS, Profile.DIRTY, Profile.NONE)


@pytest.mark.parametrize(
    "profile", [*QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in Profile if each not in QUICK)]
)
def test_sitemaps_list_over_http_what_the_world_lists(
    world: World, clock: SteppedClock, client: Client, profile: Profile
) -> None:
    """Every entry that the truth has is served by the sitemap it stands in, and no other."""
    for site in [site for site in world.sites() if site.profile is profile][:1]:
        for day in (0, 9):
            clock.move_to(max(world.epoch + day * DAY, clock.now()))
            listed: dict[str, list[str]] = {}
            for file, entry in world.listed(site.host, clock.now()):
                listed.setdefault(file, []).append(entry.url)
            for file, urls in islice(listed.items(), 4):
                status, _, body = client.get(file)
                assert status == 200
                served = [item.url for item in sitemap.read([body], url=file) if isinstance(item, sitemap.Entry)]
                assert served == urls, file
        assert listed or profile is Profile.NONE


def test_robots_over_http_allow_what_the_world_allows(world: World, client: Client) -> None:
    """The rules as served and as read by our own reader agree with the truth, for us and for others."""
    for site in world.sites():
        status, _, body = client.get(f"http://{site.host}/robots.txt")
        rules = robots.parse(body if status == 200 else b"")
        for url in islice(world.urls(site.host, world.epoch), 20):
            for agent in ("periplus", "googlebot"):
                assert rules.allows(agent, url) == world.allowed(agent, url), (url, agent)

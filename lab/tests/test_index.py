"""The front page and what lies beside it: for people, for programs, and every host under a path."""

from __future__ import annotations

import re
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import msgspec
import pytest

from periplus_lab.hostile import REGISTRY
from periplus_lab.http import Answer
from periplus_lab.index import PROFILES, lead_back
from periplus_lab.log import Visit
from periplus_lab.server import RunningLab
from periplus_lab.sites import Profile

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "lab.md"
pytest_plugins = ["periplus_lab.pytest_plugin"]


def get(lab: RunningLab, target: str, host: str | None = None) -> tuple[HTTPResponse, bytes]:
    client = HTTPConnection("127.0.0.1", lab.port, timeout=60)
    client.request("GET", target, headers={"Host": host or f"127.0.0.1:{lab.port}", "User-Agent": "reader"})
    response = client.getresponse()
    body = response.read()
    client.close()
    return response, body


def test_the_front_page_shows_every_site_and_hostile_host(lab: RunningLab) -> None:
    """A person finds all there is, with a link that a browser can follow."""
    response, body = get(lab, "/")
    text = body.decode()
    assert response.status == 200
    for site in lab.world.sites():
        assert f'<a href="/~{site.host}/">{site.host}</a>' in text
    for one in REGISTRY.values():
        assert f'<a href="/~{one.host}/">{one.name}</a>' in text
    assert f"127.0.0.1:{lab.port}" in text


def test_every_profile_has_its_words() -> None:
    """No profile of the world is left unexplained, and none is explained that is not there."""
    assert set(PROFILES) == {profile.value for profile in Profile}


def test_the_documentation_has_a_line_for_every_profile_and_hostile_host() -> None:
    """Who reads docs/lab.md learns of all of them."""
    rows = {line.split("|")[1].strip(" `") for line in GUIDE.read_text().splitlines() if line.startswith("|")}
    assert sorted((PROFILES.keys() | REGISTRY.keys()) - rows) == []


def test_a_host_under_a_path_is_the_host(lab: RunningLab) -> None:
    """The same status and, but for its links, the same page."""
    host = lab.world.sites()[0].host
    own, page = get(lab, "/", host)
    through, seen = get(lab, f"/~{host}/")
    assert (own.status, through.status) == (200, 200)
    title = re.compile(rb"<title>.*?</title>")
    assert title.findall(page) == title.findall(seen)
    assert not re.search(rb'href="(?:http://[\w.]+lab\.test|/[^~"])', seen)


def test_links_redirects_and_forms_are_led_back() -> None:
    """A person who walks stays inside."""
    page = (
        b'<a href="/a">1</a><a href="http://b.lab.test/c?d">2</a><a href=\'https://e.lab.test\'>3</a>'
        b'<form action="/f"><a href="g">4</a><a href="//h/">5</a><a href="http://elsewhere.test/">6</a>'
    )
    answer = lead_back(Answer(200, (("content-type", "text/html"), ("Location", "/x")), page), "s.lab.test")
    assert answer.body == (
        b'<a href="/~s.lab.test/a">1</a><a href="/~b.lab.test/c?d">2</a><a href=\'/~e.lab.test\'>3</a>'
        b'<form action="/~s.lab.test/f"><a href="g">4</a><a href="//h/">5</a><a href="http://elsewhere.test/">6</a>'
    )
    assert dict(answer.headers)["Location"] == "/~s.lab.test/x"
    other = lead_back(Answer(302, (("location", "http://t.lab.test/y"),), b""), "s.lab.test")
    assert other.headers == (("location", "/~t.lab.test/y"),)


def test_a_host_without_its_slash_gets_one(lab: RunningLab) -> None:
    """Relative links of a home page resolve only below it."""
    response, _ = get(lab, "/~a.lab.test")
    assert (response.status, response.headers["Location"]) == (308, "/~a.lab.test/")


def test_hostile_hosts_under_a_path_are_hostile(lab: RunningLab) -> None:
    """Also what no ordinary server would send comes through."""
    response, body = get(lab, "/~length-too-short.hostile.lab.test/")
    assert response.status == 200
    assert len(body) == int(response.headers["Content-Length"])


def test_lists_for_programs(lab: RunningLab) -> None:
    """Seeds, names with addresses, the clock and the log."""
    seeds = get(lab, "/seeds.txt")[1].decode().split()
    assert seeds == [f"http://{site.host}/" for site in lab.world.sites()]
    lines = [line.split("\t") for line in get(lab, "/hosts.txt")[1].decode().splitlines()]
    assert {host: address for address, host in lines} == dict(lab.resolver)
    assert float(get(lab, "/clock")[1]) == lab.world.epoch
    visits = [msgspec.json.decode(line, type=Visit) for line in get(lab, "/visits.jsonl")[1].splitlines()]
    assert [visit.target for visit in visits] == ["/seeds.txt", "/hosts.txt", "/clock"]


@pytest.mark.parametrize("target", ["/nothing", "/ca.pem", "/~nobody.lab.test/", "/~", "/~%00/", "/~localhost" * 999])
def test_what_is_not_there(lab: RunningLab, target: str) -> None:
    """Nothing here ends in a fault of ours."""
    assert get(lab, target)[0].status in (308, 404, 421)

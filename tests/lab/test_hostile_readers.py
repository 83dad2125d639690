"""What the readers of the house make of hostile bodies: the other half of each behaviour's docstring."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from periplus.content import decode_body, read_page
from periplus.formats import robots, sitemap
from periplus.model import ParsedPage, Problem, Url
from periplus_lab import Answer, Request
from periplus_lab.hostile import DOMAIN, Script, perform

ENOUGH = 60_000


def body_of(name: str, target: str) -> Iterator[bytes]:
    """The body in pieces, without waits; of a script, what follows its head."""
    reply = perform(Request("GET", f"{name}.{DOMAIN}", target, (), 0.0))
    if isinstance(reply, Script):
        pieces = (action for action in reply.actions if isinstance(action, bytes))
        yield next(pieces).partition(b"\r\n\r\n")[2]
        yield from pieces
    elif isinstance(reply, Answer):
        yield from [reply.body] if isinstance(reply.body, bytes) else reply.body


def sitemap_of(name: str) -> Iterator[object]:
    return iter(sitemap.read(body_of(name, "/sitemap.xml"), url=f"http://{name}.{DOMAIN}/sitemap.xml"))


def urls(items: list[object]) -> list[str]:
    return [item.url for item in items if isinstance(item, sitemap.Entry)]


def page_of(name: str, target: str = "/") -> ParsedPage:
    """A page as a crawler reads it, with the type that the server claims."""
    reply = perform(Request("GET", f"{name}.{DOMAIN}", target, (), 0.0))
    assert isinstance(reply, Answer)
    assert isinstance(reply.body, bytes)
    return read_page(reply.body, Url(f"http://{name}.{DOMAIN}{target}"), dict(reply.headers)["Content-Type"])


def test_a_large_robots_file_is_read_as_far_as_it_must_be() -> None:
    """What stands in the first 500 KiB is obeyed (RFC 9309 section 2.5)."""
    rules = robots.parse(b"".join(body_of("robots-large", "/robots.txt")))
    assert not rules.allows("periplus", f"http://robots-large.{DOMAIN}/private/")
    assert rules.allows("periplus", f"http://robots-large.{DOMAIN}/public")


def test_many_rules_are_obeyed() -> None:
    """However many there are."""
    rules = robots.parse(b"".join(body_of("robots-many-rules", "/robots.txt")))
    decisions = [rules.allows("periplus", f"http://robots-many-rules.{DOMAIN}{path}") for path in ("/private/", "/p/")]
    assert decisions == [False, True]
    assert not rules.allows("periplus", f"http://robots-many-rules.{DOMAIN}/p/000007")


def test_a_page_is_not_a_robots_file() -> None:
    """No rules and no sitemaps out of HTML."""
    rules = robots.parse(b"".join(body_of("robots-home", "/")))
    assert list(rules.sitemaps) == []
    assert rules.allows("periplus", f"http://robots-home.{DOMAIN}/private/")


@pytest.mark.parametrize("name", ["xml-bomb", "xxe"])
def test_entities_neither_grow_nor_reach_out(name: str) -> None:
    """The honest entry is read, the trouble is told, and nothing of a file or another URL is in what was read."""
    items = list(sitemap_of(name))
    assert f"http://{name}.{DOMAIN}/plain" in urls(items)
    assert any(isinstance(item, Problem) for item in items)
    assert max(len(url) for url in urls(items)) < 1000
    assert not any("root:" in url for url in urls(items))


def test_an_endless_sitemap_comes_in_a_stream() -> None:
    """The first entries are there long before the last, which never is."""
    found = urls(list(islice(sitemap_of("endless-sitemap"), ENOUGH)))
    assert len(found) >= 50_000
    assert found[0] == f"http://endless-sitemap.{DOMAIN}/p/0"


@pytest.mark.parametrize(
    ("name", "coding"), [pytest.param("gzip-bomb", "gzip", marks=pytest.mark.slow), ("brotli-bomb", "br")]
)
def test_bombs_do_not_go_off(name: str, coding: str) -> None:
    """Inflated to a bound and no further, and told."""
    body = b"".join(body_of(name, "/"))
    inflated, problems = decode_body(body, coding, max_size=16 << 20)
    assert len(inflated) <= 16 << 20
    assert problems


def test_deep_pages_are_read_to_the_bottom() -> None:
    """What stands in a hundred thousand nested elements is read."""
    page = page_of("deep-html")
    assert (page.title, page.links.urls) == ("Deep", [f"http://deep-html.{DOMAIN}/bottom"])
    assert not page.problems


@pytest.mark.parametrize("target", ["/meta", "/bom"])
def test_the_charset_is_found_as_browsers_find_it(target: str) -> None:
    """A BOM wins over the header, and the header over the meta element."""
    assert page_of("wrong-charset", target).title == "Песня"


@pytest.mark.parametrize("target", ["/", "/unknown"])
def test_a_lie_about_the_charset_loses_letters_and_no_links(target: str) -> None:
    """What cannot be known is replaced, never raised."""
    assert len(page_of("wrong-charset", target).links) == 3


def test_noise_is_not_a_page() -> None:
    """No links out of random bytes, whatever they are called."""
    assert not page_of("binary-as-html").links

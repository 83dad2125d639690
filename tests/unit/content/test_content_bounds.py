"""Hostile pages: bounded in time and memory, and never an exception."""

from __future__ import annotations

import time

import pytest

from periplus.content import read_page
from periplus.content.forms import MAX_FIELDS, MAX_FORMS, MAX_OPTIONS
from periplus.content.links import MAX_ANCHOR, MAX_LINKS, MAX_RESOURCES
from periplus.content.text import MAX_TEXT
from periplus.model import Page

SECONDS = 10
"""Generous: the machine may be busy. Without bounds, the worst of these take minutes or gigabytes."""


def read(body: bytes) -> Page:
    started = time.process_time()
    page = read_page(body, "http://hostile.example/", "text/html; charset=utf-8")
    assert time.process_time() - started < SECONDS
    return page


def reasons(page: Page) -> list[str]:
    return [problem.reason for problem in page.problems]


DISTINCT = b"".join(b"<b id=%d>" % number for number in range(5000))
HOSTILE = {
    "nested divs": (b"<div>" * 100_000, "too-deep"),
    "nested divs, closed": (b"<div>" * 100_000 + b"</div>" * 100_000, "too-deep"),
    "nested lists": (b"<ul><li>" * 50_000, "too-deep"),
    "formatting left open": (b"<p>" + DISTINCT + b"<p>x" * 20_000, "too-deep"),
    "end tags on a deep stack": (b"<font>" * 30_000 + b"</p>" * 30_000, "too-deep"),
    "attributes": (b"<a " + b" ".join(b"a%d=1" % number for number in range(50_000)) + b">", "too-many-attributes"),
    "attributes with tags in them": (
        b"<a " + b" ".join(b'a%d="<"' % number for number in range(50_000)) + b">",
        "too-many-attributes",
    ),
    "tags in tags": ((b"<a " * 90 + b">") * 5000 + b"<p>x" * 50_000 + b"<" * 500_000, "too-many-tags"),
    "signs": (b"<" * 2_000_000, "too-many-tags"),
    "one line": (b"x" * 10_000_000, "text-cut"),
    "many words": (b"word " * 2_000_000, "text-cut"),
    "zeros": (b"\0" * 1_000_000, "binary"),
    "links": (b"<a href=x>t</a>" * (MAX_LINKS + 10), "too-many-links"),
    "pictures": (b"<img src=x>" * (MAX_RESOURCES + 10), "too-many-resources"),
    "forms": (b"<form></form>" * (MAX_FORMS + 1), "too-many-forms"),
    "fields": (b"<form>" + b"<input name=a>" * (MAX_FIELDS + 1), "too-many-fields"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_bounds(name: str) -> None:
    """Each way to go too far is cut off, and told."""
    body, reason = HOSTILE[name]
    assert reason in reasons(read(body))


def test_what_comes_before_the_cut_is_read() -> None:
    """A page that goes too far at its end is read up to there."""
    page = read(b"<title>T</title><a href=/a>a</a>" + b"<div>" * 100_000 + b"<a href=/b>b</a>")
    assert (page.title, [link.url for link in page.links]) == ("T", ["http://hostile.example/a"])


def test_lists_in_lists() -> None:
    """Blocks of links in blocks of links do not add up beyond a bound."""
    links = b"<a href=1>1</a><a href=2>2</a><a href=3>3</a>"
    page = read(b"<p>" + b"word " * 100_000 + (b"<div>" + links + b"word " * 100) * 3000)
    assert len(page.links) == 9000


def test_large_values_are_not_many_attributes() -> None:
    """A picture inside its own tag is long, but one attribute."""
    page = read(
        b"<img src='data:image/png;base64," + b"A" * 1_000_000 + b"'><a href=x>x</a>" + b"<p title='a b'>" * 200
    )
    assert page.problems == ()
    assert len(page.links) == 1


def test_drawings_are_not_deep() -> None:
    """Shapes close themselves, however many there are."""
    page = read(b"<svg>" + b'<path d="M0 0"/><circle r=1 />' * 5000 + b"</svg><p>after")
    assert page.problems == ()
    assert page.text == "after"


def test_lengths() -> None:
    """Texts, anchors, titles and options have an end."""
    page = read(
        b"<title>" + b"t " * 10_000 + b"</title><a href=x>" + b"a " * 10_000 + b"</a><form><select name=s>"
        b"" + b"<option>o" * (MAX_OPTIONS + 10) + b"</select></form>"
    )
    assert len(page.title) <= 1000
    assert len(page.links[0].anchor) <= MAX_ANCHOR
    assert len(page.forms[0].fields[0].options) == MAX_OPTIONS
    assert len(read("é".encode() * MAX_TEXT).text.encode()) <= MAX_TEXT


@pytest.mark.parametrize(
    "body",
    [
        b"<",
        b"<a",
        b"<a href",
        b"<a href=",
        b"</",
        b"<!--",
        b"<!doctype",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"&#0;",
        b"\0<p>",
    ],
)
def test_scraps(body: bytes) -> None:
    """Any beginning of a page is a page."""
    read(body)


@pytest.mark.parametrize("label", ["utf-7", "x-user-defined", "replacement", "iso-2022-kr", "base64", "nonsense", "hz"])
def test_odd_encodings(label: str) -> None:
    """A page may name what it likes."""
    read_page(b"<p>a\xe9b", "http://hostile.example/", f"text/html; charset={label}")
    read(f"<meta charset={label}><p>a".encode() + b"\xe9")

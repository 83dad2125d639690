"""Hostile pages: bounded in time and memory, and never an exception."""

from __future__ import annotations

import time
from functools import cache

from tests.each_case import each_case

from periplus.content import read_page
from periplus.content.forms import MAX_FIELDS, MAX_OPTIONS
from periplus.content.html import MAX_BODY
from periplus.content.scan.columns import MAX_ANCHOR, MAX_FORMS, MAX_LINKS, MAX_MEDIA, MAX_TEXT
from periplus.model import ParsedPage

URL, CONTENT_TYPE = "http://hostile.example/", "text/html; charset=utf-8"
ORDINARY = b"<p>Some text with <a href=/page>a link</a> in it, and <b>some more</b>.</p>\n" * 4_000
FACTOR = 100
"""How much more CPU time a hostile page may take than an ordinary one of its size. Without bounds it is thousands."""


@cache
def ordinary_seconds() -> float:
    """CPU seconds for an ordinary page: the least of three, since other work only adds to it."""
    return min(timed(ORDINARY)[1] for _ in range(3))


def timed(body: bytes) -> tuple[ParsedPage, float]:
    started = time.process_time()
    page = read_page(body, URL, CONTENT_TYPE)
    return page, time.process_time() - started


def read(body: bytes) -> ParsedPage:
    page, seconds = timed(body)
    assert seconds < FACTOR * ordinary_seconds() * max(1.0, len(body) / len(ORDINARY))
    return page


def reasons(page: ParsedPage) -> list[str]:
    return [problem.reason for problem in page.problems]


DISTINCT = b"".join(b"<b id=%d>" % number for number in range(5000))
DEEP = {
    "nested divs": b"<div>" * 100_000,
    "nested divs, closed": b"<div>" * 100_000 + b"</div>" * 100_000,
    "nested lists": b"<ul><li>" * 50_000,
    "nested tables": b"<table><tr><td>" * 50_000,
    "formatting left open": b"<p>" + DISTINCT + b"<p>x" * 20_000,
    "end tags on a deep stack": b"<font>" * 30_000 + b"</p>" * 30_000,
    "attributes": b"<i " + b" ".join(b"a%d=1" % number for number in range(50_000)) + b">",
    "attributes with tags in them": b"<i " + b" ".join(b'a%d="<"' % number for number in range(50_000)) + b">",
    "tags in tags": (b"<i " * 90 + b">") * 5000 + b"<p>x" * 50_000,
    "signs": b"<" * 900_000,
    "references": b"&" * 400_000 + b"&amp" * 300_000,
    "one large value": b"<img src='data:image/png;base64," + b"A" * 1_000_000 + b"'>",
    "labels in labels": b"<label>x" * 100_000,
    "shapes": b"<svg>" + b'<path d="M0 0"/><circle r=1 />' * 5000 + b"</svg>",
}


@each_case("name", DEEP)
def test_what_comes_after_a_hostile_part_is_read(name: str) -> None:
    """However deep or odd the beginning of a page, what follows is read."""
    page = read(b"<title>T</title>" + DEEP[name] + b"<a href=/b>last</a>")
    assert (page.title, page.links.urls, page.links.anchors) == ("T", ["http://hostile.example/b"], ["last"])
    assert page.text.endswith("last")
    assert not page.problems


HOSTILE = {
    "one line": (b"x" * 10_000_000, "text-cut"),
    "many words": (b"word " * 2_000_000, "text-cut"),
    "zeros": (b"\0" * 1_000_000, "binary"),
    "links": (b"<a href=x>t</a>" * (MAX_LINKS + 10), "too-many-links"),
    "pictures": (b"<img src=x>" * (MAX_MEDIA + 10), "too-many-resources"),
    "forms": (b"<form></form>" * (MAX_FORMS + 1), "too-many-forms"),
    "fields": (b"<form>" + b"<input name=a>" * (MAX_FIELDS + 1), "too-many-fields"),
    "bytes": (b"<p>x</p>" + b" " * MAX_BODY, "too-large"),
}


@each_case("name", HOSTILE)
def test_bounds(name: str) -> None:
    """Each way to go too far is cut off, and reported."""
    body, reason = HOSTILE[name]
    page = read(body)
    assert reason in reasons(page)
    assert len(page.links) <= MAX_LINKS
    assert len(page.resources) <= MAX_MEDIA
    assert len(page.forms) <= MAX_FORMS
    assert all(len(form.fields) <= MAX_FIELDS for form in page.forms)


def test_links_to_the_page_itself_leave_room_for_others() -> None:
    """A table of contents of any length does not push out the links to other pages."""
    contents = b"<a href=#x>x</a>" * (MAX_LINKS + 10)
    page = read(contents + b"<a href=y rel=nofollow>y</a>" * 3 + contents + b"<a href=z>z</a>")
    others = page.links.to_others()
    assert others.urls == ["http://hostile.example/y"] * 3 + ["http://hostile.example/z"]
    assert others.rels == dict.fromkeys(range(3), "nofollow")
    assert len(page.links) == MAX_LINKS + 4
    assert not page.problems


def test_links_in_links() -> None:
    """Texts of links that are never closed do not add up beyond a bound."""
    page = read(b"<p>" + b"word " * 100_000 + b"<div><object><a href=1>1" * 3000)
    assert len(page.links) == 3000
    assert sum(map(len, page.links.anchors)) <= 3000 * MAX_ANCHOR


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


@each_case(
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


@each_case("label", ["utf-7", "x-user-defined", "replacement", "iso-2022-kr", "base64", "nonsense", "hz"])
def test_odd_encodings(label: str) -> None:
    """A page may name what it likes."""
    read_page(b"<p>a\xe9b", "http://hostile.example/", f"text/html; charset={label}")
    read(f"<meta charset={label}><p>a".encode() + b"\xe9")

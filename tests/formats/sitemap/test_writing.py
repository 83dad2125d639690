"""Writing sitemaps: the shape of the documents and their names. That they are read again is a property."""

from __future__ import annotations

import gzip

import pytest
from tests.each_case import each_case
from tests.reference.sitemap_writing import write

from periplus.formats.sitemap import TITLE_NS, Child, Entry, in_scope, read
from periplus.formats.sitemap.values import PROTOCOL_URLS
from periplus.model import ChangeFreq, Granularity, Lastmod

BASE = "https://example.com/"


def entries(number: int) -> list[Entry]:
    return [Entry(f"https://example.com/{n}", Lastmod(n * 86400.0, Granularity.DAY)) for n in range(number)]


def test_one_document_has_the_plain_name() -> None:
    """What fits into one sitemap needs no index."""
    entry = Entry("https://example.com/?a&b", None, ChangeFreq.DAILY, 1e-7, "A <title>")
    [(name, body)] = write([entry], base=BASE)
    assert name == "sitemap.xml"
    assert body.decode().splitlines()[2] == (
        "<url><loc>https://example.com/?a&amp;b</loc><changefreq>daily</changefreq><priority>0.0000001</priority>"
        "<title:title>A &lt;title&gt;</title:title></url>"
    )
    assert f'xmlns:title="{TITLE_NS}"' in body.decode()


def test_no_entries_are_a_document_too() -> None:
    """An empty site has an empty sitemap."""
    [(name, body)] = write([], base=BASE)
    assert (name, list(read(body))) == ("sitemap.xml", [])


def test_documents_split_at_the_protocols_bound() -> None:
    """The last document is an index of those before it, with the latest date of each."""
    documents = dict(write(entries(PROTOCOL_URLS + 1), base="https://example.com", name="map", gzip=True))
    assert list(documents) == ["map-1.xml.gz", "map-2.xml.gz", "map.xml.gz"]
    assert list(read(documents["map.xml.gz"])) == [
        Child("https://example.com/map-1.xml.gz", Lastmod((PROTOCOL_URLS - 1) * 86400.0, Granularity.DAY)),
        Child("https://example.com/map-2.xml.gz", Lastmod(PROTOCOL_URLS * 86400.0, Granularity.DAY)),
    ]


def test_documents_split_at_the_bound_of_size() -> None:
    """No document is larger than allowed, before compression."""
    documents = list(write(entries(100), base=BASE, max_bytes=2000))
    assert len(documents) > 5
    assert all(len(body) <= 2000 for _, body in documents)


def test_indexes_split_too() -> None:
    """More sitemaps than an index may name get indexes below the one to announce."""
    names = [name for name, _ in write(entries(20), base=BASE, max_urls=3)]
    assert names[7:] == ["sitemap-index-1.xml", "sitemap-index-2.xml", "sitemap-index-3.xml", "sitemap.xml"]


def test_bytes_are_deterministic() -> None:
    """The same entries are the same bytes: nothing depends on the clock."""
    first, again = (list(write(entries(10), base=BASE, gzip=True)) for _ in range(2))
    assert first == again
    assert gzip.decompress(first[0][1]).startswith(b"<?xml")


def test_characters_that_xml_cannot_hold_are_left_out() -> None:
    """Control characters and lone surrogates cannot be written in any way."""
    [(_, body)] = write([Entry("https://example.com/", title="a\x00b\x0bc\ud800d\tx\re")], base=BASE)
    assert list(read(body)) == [Entry("https://example.com/", title="abcd\tx\re")]


@each_case("entry", [Entry(BASE, priority=1.5), Entry(BASE, Lastmod(1e15, Granularity.DAY)), Entry(BASE + "a" * 3000)])
def test_what_no_sitemap_can_hold_is_our_mistake(entry: Entry) -> None:
    """An impossible entry is an error of the caller, not a problem of the web."""
    with pytest.raises(ValueError):
        list(write([entry], base=BASE, max_bytes=2000))
    with pytest.raises(ValueError):
        list(write([], base=BASE, max_urls=1))


@each_case(
    ("sitemap", "url", "expected"),
    [
        ("http://e.com/a/sitemap.xml", "http://e.com/a/b", True),
        ("http://e.com/a/sitemap.xml", "http://e.com/ab", False),
        ("http://e.com/a/sitemap.xml", "http://E.com:80/a/../a/b", True),
        ("http://e.com/a/sitemap.xml", "http://e.com/a/../b", False),
        ("http://e.com/sitemap.xml", "http://e.com.evil.example/", False),
        ("http://e.com/sitemap.xml", "http://e.com:8080/", False),
        ("http://e.com/sitemap.xml", "no url", False),
    ],
)
def test_location_rule(sitemap: str, url: str, expected: bool) -> None:
    """A sitemap speaks for the folder it is in, compared as a browser would understand both."""
    assert in_scope(sitemap, url) is expected

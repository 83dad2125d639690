"""Links, refreshes, bases and compressed bodies, against what Scrapy, StormCrawler, w3lib and browsers make of them."""

from __future__ import annotations

import base64
import json
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.markup import elements

from periplus.content import decode_body, read_page, read_refresh
from periplus.content.facts import base_of
from periplus.content.scan import scan
from periplus.model import LinkKind
from periplus.urls import canonical, whatwg

pytestmark = pytest.mark.corpus

# Each named by test and URL, with what we do instead.
SCRAPY_DIFFERENCES = {
    "test_urls_type http://example.com/index": (
        "an area's text is its alt; fragments are cut, so sample3.html#foo is sample3.html; repeated links are kept"
    ),
    "test_ignored_extensions http://example.org/": "which file extensions to follow is for policy to say",
    "test_ftp_links http://www.example.com/index.html": "we crawl over HTTP only",
}

REFRESH_DIFFERENCES = {
    '<meta http-equiv="refresh" content="5;url=newpage"': "HTML: a tag cut off by the end of the page is not a tag",
    '<meta http-equiv="refresh" content="5" />': "a refresh without a URL is one: the page reloads itself",
    '<meta http-equiv="refresh" content=".1;URL=index.html" />': "HTML: fractions of seconds are ignored",
    '<meta http-equiv="refresh" content="3.1;URL=index.html" />': "HTML: fractions of seconds are ignored",
    "javascript_required ignoring nothing": "a refresh in noscript never counts",
    "foobar_required ignoring nothing": "a refresh in a script is text",
}


def test_scrapy(corpus: Path) -> None:
    """The link extractor's cases with default options: the same URLs, texts and nofollow, in the same order."""
    cases = json.loads((corpus / "html_links" / "scrapy" / "cases.json").read_text())["cases"]
    plain = [case for case in cases if not case["opts"] and not case["pos_opts"]]
    assert len(plain) == 11
    wrong = set()
    for case in plain:
        page = read_page(case["html"].encode(), case["url"], "text/html; charset=utf-8")
        ours = [(link.url, link.anchor, "nofollow" in link.rel.split()) for link in page.links]
        theirs = [(link["url"], link["text"], link["nofollow"]) for link in case["links"]]
        if ours != theirs:
            wrong.add(f"{case['test'].rpartition('::')[2]} {case['url']}")
    assert wrong == set(SCRAPY_DIFFERENCES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linkextractor.html", "sample1 sample2 sample3 sample3 sample3 sample3 innertag page%204"),
        ("linkextractor_no_href.html", "author/Albert-Einstein page/1/ page/3/ page/4/"),
    ],
)
def test_scrapy_files(corpus: Path, name: str, expected: str) -> None:
    """The extractor's sample files give their pages, in order."""
    body = (corpus / "html_links" / "scrapy" / "link_extractor" / name).read_bytes()
    page = read_page(body, "http://example.com/index", "text/html")
    own = [link.url for link in page.links if link.url.startswith("http://example.com/")]
    found = [url.removeprefix("http://example.com/").removesuffix(".html") for url in own]
    assert [name for name in found if name] == expected.split()


def test_scrapy_latin1(corpus: Path) -> None:
    """Paths are in UTF-8 whatever the page is in, and queries in the page's encoding."""
    text = (corpus / "html_links" / "scrapy" / "link_extractor" / "linkextractor_latin1.html").read_text("utf-8")
    page = read_page(text.encode("latin-1"), "http://example.com/", "text/html")
    assert page.charset == "windows-1252"
    assert [link.url for link in page.links] == [
        "http://example.com/sample_%C3%B1.html",
        "http://example.com/sample_%C3%A1.html",
        "http://example.com/sample_%C3%B6.html?price=%A332&%B5=unit",
    ]
    assert [resource.url for resource in page.resources] == [
        "http://example.com/sample2.jpg",
        "http://example.com/sample3.jpg",
    ]


def test_stormcrawler(corpus: Path) -> None:
    """StormCrawler's pages: repeated links, script links, a refresh, a real site, and one that broke a stack."""
    folder = corpus / "html_links" / "stormcrawler"

    def links(name: str) -> list[str]:
        return [link.url for link in read_page((folder / name).read_bytes(), "http://www.example.com/x", None).links]

    assert links("duplicateLinks.html") == ["http://stormcrawler.net/", "http://stormcrawler.net/"]
    assert links("javascriptLinks.html") == ["http://www.example.com/mylink"]
    assert len(links("stormcrawler.apache.org.html")) > 20
    assert len(links("stackexception.html")) == 33
    refresh = read_page((folder / "redir.html").read_bytes(), "http://www.example.com/x", None).refresh
    assert refresh is not None
    assert (refresh.delay, refresh.url) == (0, "http://www.somesite.com/site")


def test_refresh_of_the_standard(corpus: Path) -> None:
    """Every case of web-platform-tests; the URL is compared as a browser would resolve it."""
    cases = json.loads((corpus / "html_links" / "wpt_meta_refresh.json").read_text())["cases"]
    assert len(cases) == 73
    for case in cases:
        ours, theirs = read_refresh(case["content"]), case["expected"]
        assert (ours is None) == (theirs is None), case
        if ours is not None:
            assert ours[0] == theirs[0], case
            assert (ours[1] is None) == (theirs[1] is None), case
            if ours[1] is not None:
                assert whatwg(ours[1], "http://h/") == whatwg(theirs[1], "http://h/"), case


@pytest.mark.parametrize(
    ("step", "least"), [(12, 4_000), pytest.param(1, 50_000, marks=pytest.mark.slow)], ids=["some pages", "all pages"]
)
def test_recall_of_links(corpus: Path, step: int, least: int) -> None:
    """Of the links that libxml2 finds on 690 real pages, and of those that Scrapy expects, at least .995 are found."""
    wanted = found = 0
    for name, url, body in islice(real_pages(corpus), 0, None, step):
        page = read_page(body, url, "text/html; charset=utf-8")
        links = set(page.links.urls)
        hrefs = elements(body, "//a[not(ancestor::template)]/@href")
        theirs = {canonical(href, page.base) for href in hrefs} - {None}
        wanted += len(theirs)
        found += len(theirs & links)
        assert len(theirs - links) <= max(2, len(theirs) / 10), name
    cases = json.loads((corpus / "html_links" / "scrapy" / "cases.json").read_text())["cases"]
    for case in [case for case in cases if not case["opts"] and not case["pos_opts"]]:
        theirs = {canonical(link["url"]) for link in case["links"]} - {None}
        links = set(read_page(case["html"].encode(), case["url"], "text/html; charset=utf-8").links.urls)
        wanted += len(theirs)
        found += len(theirs & links)
    assert wanted > least
    assert found >= 0.995 * wanted


def real_pages(corpus: Path) -> Iterator[tuple[str, str, bytes]]:
    """Name, URL and body of the pages with annotated forms or texts."""
    for folder, listed in (("forms_formasaurus", "annotations.json"), ("text_segments", "segments.json")):
        facts = json.loads((corpus / folder / listed).read_text())
        urls = {Path(fact["page"]).name: fact["url"] for fact in facts}
        with tarfile.open(corpus / folder / "pages.tar.gz") as pages:
            for member in pages:
                file = pages.extractfile(member)
                if file is not None:
                    yield member.name, urls[Path(member.name).name], file.read()


def value(fact: Any) -> Any:
    if isinstance(fact, dict):
        return base64.b64decode(fact["b64"]) if "b64" in fact else fact["bytes"].encode()
    return fact


def w3lib_facts(folder: Path, function: str) -> list[dict[str, Any]]:
    facts = json.loads((folder / "urls_w3lib" / "cases.json").read_text())["cases"]
    return [fact for fact in facts if fact["fn"] == function and "result" in fact]


def text_of(fact: Any) -> str:
    found = value(fact)
    return found.decode("latin-1") if isinstance(found, bytes) else str(found)


def test_w3lib_refresh(corpus: Path) -> None:
    """The refresh of a page, resolved."""
    outcomes = {}
    for fact in w3lib_facts(corpus, "get_meta_refresh"):
        args = fact["args"]
        encoding = args[2] if len(args) > 2 else "utf-8"
        body = value(args[0])
        body = body if isinstance(body, bytes) else body.encode(encoding)
        refresh = read_page(body, text_of(args[1]), f"text/html; charset={encoding}").refresh
        ours = [refresh.delay, refresh.url] if refresh else [None, None]
        name = body.decode("latin-1")
        if fact["kwargs"].get("ignore_tags") == []:
            name = f"{name.partition('example.org/')[2].partition(chr(34))[0]} ignoring nothing"
        outcomes[name] = ours == fact["result"]
    assert {name for name, holds in outcomes.items() if not holds} == set(REFRESH_DIFFERENCES)


def test_w3lib_base(corpus: Path) -> None:
    """What links are relative to."""
    wrong = []
    for fact in w3lib_facts(corpus, "get_base_url"):
        args = fact["args"]
        html, url = text_of(args[0]).encode(), text_of(args[1]) if len(args) > 1 else "http://default.example/"
        base = base_of(scan(html, url).head, url)
        if base not in (fact["result"] or url, whatwg(fact["result"])):
            wrong.append(html)
    assert wrong == []


COMPRESSED = {
    "html-br.bin": "br",
    "html-gzip.bin": "gzip",
    "html-gzip-deflate.bin": "gzip, deflate",
    "html-gzip-deflate-gzip.bin": "gzip, deflate, gzip",
    "html-rawdeflate.bin": "deflate",
    "html-zlibdeflate.bin": "deflate",
    "html-zstd-static-content-size.bin": "zstd",
    "html-zstd-static-no-content-size.bin": "zstd",
    "html-zstd-streaming-no-content-size.bin": "zstd",
}


@pytest.mark.parametrize(("name", "coding"), COMPRESSED.items())
def test_compressed(corpus: Path, name: str, coding: str) -> None:
    """Every coding, alone and chained, gives the page."""
    body = (corpus / "html_links" / "scrapy" / "compressed" / name).read_bytes()
    decoded, problems = decode_body(body, coding)
    assert problems == ()
    assert decoded.startswith(b"<!DOCTYPE HTML>")
    assert len(decoded) in (74837, 74840)


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip", "zstd"])
def test_bombs(corpus: Path, coding: str) -> None:
    """A bomb gives what its bound allows, and is called one."""
    body = (corpus / "html_links" / "scrapy" / "compressed" / f"bomb-{coding}.bin").read_bytes()
    decoded, problems = decode_body(body, coding, max_size=1 << 20)
    assert len(decoded) == 1 << 20
    assert [problem.reason for problem in problems] == ["too-large"]
    decoded, problems = decode_body(body, coding, max_size=1 << 30, max_ratio=10)
    assert len(decoded) <= max(1 << 20, 10 * len(body))
    assert [problem.reason for problem in problems] == ["bomb"]


def test_truncated(corpus: Path) -> None:
    """What came before the cut is kept."""
    folder = corpus / "html_links" / "scrapy" / "compressed"
    decoded, problems = decode_body((folder / "unexpected-eof.gz").read_bytes(), "gzip")
    assert [problem.reason for problem in problems] == ["truncated"]
    assert decoded.decode("cp1252") == (folder / "unexpected-eof-output.txt").read_text(encoding="utf-8")
    for name in ("truncated-crc-error.gz", "truncated-crc-error-short.gz"):
        decoded, problems = decode_body((folder / name).read_bytes(), "gzip")
        assert [problem.reason for problem in problems] == ["truncated"]
        assert b"</body>" in decoded, name


def test_frames_are_links(corpus: Path) -> None:
    """What a page shows in frames is where it leads."""
    page = read_page(b"<frameset><frame src=a title=A><frame src=b></frameset>", "http://h/", "text/html")
    assert [(link.url, link.anchor, link.kind) for link in page.links] == [
        ("http://h/a", "A", LinkKind.FRAME),
        ("http://h/b", "", LinkKind.FRAME),
    ]

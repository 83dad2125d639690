"""Lists of URLs as other programs export them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.formats.linear_time import assert_linear

from periplus.collection.seeds import read_seeds
from periplus.formats.url_lists import read_urls
from periplus.model import UsageError

URLS = ["https://example.org/", "http://example.org/a?b=1&c=2"]

PLAIN = "# mine\n\nhttps://example.org/\n  http://example.org/a?b=1&c=2  \n"
SCREAMING_FROG = """\
\ufeff"Address","Content Type","Status Code","Title 1"
"https://example.org/","text/html; charset=utf-8","200","Home, sweet"
"http://example.org/a?b=1&c=2","text/html","301",""
"mailto:me@example.org","","",""
"""
SCRAPY = """\
{"url": "https://example.org/", "title": "Home"}
{"title": "no URL"}
not JSON
{"url": "http://example.org/a?b=1&c=2"}
"""
BOOKMARKS = """\
<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<DL><p>
    <DT><H3 ADD_DATE="1">Folder</H3>
    <DL><p>
        <DT><A HREF="https://example.org/" ADD_DATE="1">Home</A>
        <DT><A ADD_DATE="1" HREF="http://example.org/a?b=1&amp;c=2">A</A>
        <DT><A HREF="javascript:alert(1)">No page</A>
        <DT><A HREF="place:sort=8">Recent</A>
    </DL><p>
</DL><p>
"""
OPML = """\
<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Feeds</title></head><body>
<outline text="Folder"><outline type="rss" text="Home" xmlUrl="https://example.org/feed" htmlUrl="https://example.org/"/>
<outline type="rss" text="A" xmlUrl="http://example.org/a?b=1&amp;c=2"/></outline></body></opml>
"""


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        SCREAMING_FROG,
        SCRAPY,
        BOOKMARKS,
        OPML,
        '["https://example.org/", {"link": "http://example.org/a?b=1&c=2"}, 3]',
        "URL\nhttps://example.org/\nhttp://example.org/a?b=1&c=2\n",
        "title,loc\nHome,https://example.org/\nA,http://example.org/a?b=1&c=2\n",
    ],
    ids=["text", "screaming-frog", "scrapy", "bookmarks", "opml", "json", "csv-one-column", "csv"],
)
def test_every_form_has_the_same_urls(text: str, tmp_path: Path) -> None:
    """From lines, from a file, and from a compressed one."""
    assert list(read_urls(text.splitlines())) == URLS
    (tmp_path / "list").write_text(text, encoding="utf-8")
    (tmp_path / "list.gz").write_bytes(gzip.compress(text.encode()))
    assert read_seeds(tmp_path / "list") == URLS
    assert read_seeds(str(tmp_path / "list.gz")) == URLS


def test_hosts_without_a_scheme_are_for_text_only() -> None:
    """A line `example.org` is a seed; a cell is not."""
    assert list(read_urls(["example.org", "other.example/a,b"])) == ["example.org", "other.example/a,b"]
    assert list(read_urls(["url,n", "example.org,1"])) == []
    assert list(read_urls(["[::1]:8080/a"])) == ["[::1]:8080/a"]
    assert list(read_urls([])) == []


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file, damaged gzip, and bytes that are not UTF-8."""
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"https://example.org/\n" * 9)[:-9])
    (tmp_path / "latin").write_bytes(b"https://example.org/\xe4\n")
    for name in ("absent", "cut.gz", "latin"):
        with pytest.raises(UsageError, match=name):
            read_seeds(tmp_path / name)


@pytest.mark.parametrize(("head", "piece"), [("<!DOCTYPE NETSCAPE-Bookmark-file-1>", "<a "), ("<opml>", "<outline ")])
def test_lists_take_linear_time(head: str, piece: str) -> None:
    """Whatever begins in them and does not end."""
    assert_linear(lambda size: list(read_urls([head + piece * (size // len(piece))])), 60_000)

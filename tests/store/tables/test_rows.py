"""What an event says is what its row says, whatever it says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from periplus.content import read_page
from periplus.model import (
    ChangeFreq,
    ChangeLevel,
    ChangeSeen,
    Discovery,
    EntryColumns,
    Event,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Granularity,
    Hints,
    Lane,
    Lastmod,
    Link,
    LinkKind,
    Links,
    Located,
    NotModified,
    PageRead,
    ParsedPage,
    Problem,
    Purpose,
    Redirected,
    Refused,
    Site,
    SitemapEntriesRead,
    SitemapEntry,
    SitemapRead,
    SitemapVisited,
    Source,
    Stored,
    Url,
    UrlDiscovered,
)
from periplus.store import Tables, TableSettings
from periplus.store.tables import SCHEMAS, read
from periplus.store.tables.columns import MAX_TEXT

NOW = 1_700_000_000.25
NOON = datetime.fromtimestamp(NOW, UTC)
URL = Url("https://www.example.co.uk:8443/a?b=c")
SITE = "www.example.co.uk:8443"
TASK = FetchTask(URL, Site(SITE), Purpose.PAGE, Lane.DISCOVERY, NOW + 60, None, 2, "192.0.2.1", Source.SITEMAP, 3, 1)
HEADERS = (("content-type", "text/plain"), ("Content-Type", "text/html; charset=utf-8"))
PAGE = b"""<html lang=de><title>T</title><link rel=canonical href=/canon><meta name=robots content=noindex>
<p>Some text <a href=/x rel=NoFollow>X</a> <a href=https://other.example/>Y</a><iframe src=/frame></iframe>"""

Write = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Events in, the rows of all tables out, by way of Parquet."""
    tables = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)

    def rows_of(*events: Event) -> dict[str, list[dict[str, Any]]]:
        tables.record(events)
        tables.settle()
        return {name: read(tmp_path / "tables", name).to_pylist() for name in SCHEMAS}

    yield rows_of
    tables.close()


def fetch_row(write: Write, outcome: FetchOutcome, stored: Stored | None = None) -> dict[str, Any]:
    [row] = write(FetchEnded(outcome, NOW + 2, stored))["fetches"]
    return row


def test_discovery_is_a_row_with_its_hints(write: Write) -> None:
    """Everything a source said of a URL can be asked for."""
    hints = Hints(Lastmod(NOW, Granularity.DAY), ChangeFreq.DAILY, 0.5, "anchor", "title")
    found = Discovery(URL, Source.SITEMAP, NOW, 2, Url("https://example.org/sitemap.xml"), hints, 1)
    [row] = write(UrlDiscovered(found, True))["discoveries"]
    assert row == {
        "url": URL, "site": SITE, "source": "sitemap", "found_at": NOON, "depth": 2, "redirects": 1,
        "referrer": "https://example.org/sitemap.xml", "is_new": True, "lastmod": NOON, "lastmod_granularity": "day",
        "changefreq": "daily", "priority": 0.5, "anchor": "anchor", "title": "title", "refused": None, "rule": None,
    }  # fmt: skip


def test_refusal_is_a_row_with_its_rule(write: Write) -> None:
    """A rejection is a row with a reason, never silence."""
    plain = Discovery(Url("http://me:secret@example.org/"), Source.LINK, NOW)
    first, second = write(UrlDiscovered(plain, False), Refused(plain, "out-of-scope", "domain"))["discoveries"]
    assert (first["refused"], first["is_new"], first["site"]) == (None, False, "example.org")
    assert (second["refused"], second["rule"], second["is_new"]) == ("out-of-scope", "domain", None)


def test_fetched_is_a_row_with_its_place(write: Write) -> None:
    """From a row one finds the answer in the archive."""
    stored = Stored("a.warc.gz", 10, 20, "sha256:x", True)
    row = fetch_row(write, Fetched(TASK, 404, HEADERS, b"12345", NOW, 1.5, "192.0.2.1", True), stored)
    assert row == {
        "url": URL, "site": SITE, "domain": "example.co.uk", "purpose": "page", "lane": "discovery",
        "source": "sitemap", "outcome": "fetched", "status": 404, "reason": None, "rule": None,
        "detail": None, "started_at": NOON,
        "ended_at": datetime.fromtimestamp(NOW + 2, UTC), "duration": 1.5, "bytes": 5,
        "content_type": "text/html; charset=utf-8", "ip": "192.0.2.1", "target": None, "depth": 3, "attempt": 2,
        "redirects": 1, "is_truncated": True, "digest": "sha256:x", "warc_file": "a.warc.gz", "warc_offset": 10,
        "warc_length": 20, "is_revisit": True, "width": None, "height": None,
        "signed": False, "signing_key": None,
        "price_scheme": None, "price_amount": None, "price_currency": None,
    }  # fmt: skip


def test_price_of_a_response(write: Write) -> None:
    """What is asked to be paid, and what a server claims that was."""
    asked = Fetched(TASK, 402, (("crawler-price", "USD 0.01"),), b"", NOW, 1.5, "192.0.2.1")
    charged = Fetched(TASK, 200, (("Crawler-Charged", "EUR 2"),), b"", NOW, 1.5, "192.0.2.1")
    rows = write(FetchEnded(asked, NOW + 2), FetchEnded(charged, NOW + 2))["fetches"]
    assert [(row["price_scheme"], row["price_amount"], row["price_currency"]) for row in rows] == [
        ("crawler-price", "0.01", "USD"),
        ("crawler-price", "2", "EUR"),
    ]


def test_picture_has_its_size(write: Write) -> None:
    """Only of what the server sends as an image."""
    picture = b"GIF89a\x03\x00\x02\x00\x00\x00\x00"
    answers = [Fetched(TASK, 200, (("Content-Type", mime),), picture, NOW, 1.5) for mime in ("image/gif", "text/html")]
    rows = write(*(FetchEnded(answer, NOW) for answer in answers))["fetches"]
    assert [(row["width"], row["height"]) for row in rows] == [(3, 2), (None, None)]


def test_other_outcomes_say_what_they_are(write: Write) -> None:
    """Each outcome keeps its own facts, and where nothing was stored nothing is said."""
    rows = write(
        FetchEnded(NotModified(TASK, (), NOW, 0.1, "192.0.2.1"), NOW),
        FetchEnded(Redirected(TASK, 301, Url("https://e.example/"), (), NOW, 0.1), NOW),
        FetchEnded(Failed(TASK, "timeout", NOW, 0.1, None, "no answer"), NOW),
        FetchEnded(Excluded(TASK, "robots", "/private"), NOW),
        FetchEnded(Located(TASK, "192.0.2.1", NOW), NOW),
    )["fetches"]
    told = [(row["outcome"], row["status"], row["reason"], row["rule"], row["target"]) for row in rows]
    assert told == [
        ("not-modified", 304, None, None, None),
        ("redirected", 301, None, None, "https://e.example/"),
        ("failed", None, "timeout", None, None),
        ("excluded", None, "robots", "/private", None),
    ]
    assert {row["warc_file"] for row in rows} == {None}
    assert rows[3]["started_at"] == NOON


def test_page_is_a_row_and_its_links_are_rows(write: Write) -> None:
    """A page's links are rows in the order of the page, internal where the site is the same."""
    page = read_page(PAGE, URL, "text/html")
    page = replace(page, problems=(Problem("text-cut"), Problem("bad-characters")))
    empty = read_page(b"", "http://example.org/", "text/html")
    rows = write(PageRead(page, NOW), PageRead(empty, NOW))
    first, second = rows["pages"]
    assert (first["title"], first["language"], first["noindex"], first["links"]) == ("T", "de", True, len(page.links))
    assert first["canonical"] == "https://www.example.co.uk:8443/canon"
    assert first["raw_digest"] == page.digests.raw
    assert first["sketch"] == page.sketch
    assert first["problems"] == ["text-cut", "bad-characters"]
    assert (second["sketch"], second["problems"], second["links"]) == (None, ["empty"], 0)
    base = "https://www.example.co.uk:8443"
    told = [(row["target"], row["anchor"], row["rel"], row["kind"], row["is_internal"]) for row in rows["links"]]
    assert sorted(told) == [
        ("https://other.example/", "Y", "", "a", False),
        (f"{base}/frame", "", "", "iframe", True),
        (f"{base}/x", "X", "nofollow", "a", True),
    ]
    assert [row["target"] for row in rows["links"]] == [link.url for link in page.links]
    assert {(row["page"], row["site"], row["read_at"]) for row in rows["links"]} == {(URL, SITE, NOON)}
    assert {row["target_site"] for row in rows["links"]} == {SITE, "other.example"}


def test_links_of_several_pages_keep_to_their_pages(write: Write) -> None:
    """Runs of dictionary indices do not slip: every link is beside its own page, site and relation."""
    pages = [
        with_links(f"http://s{number % 3}.example/{number}", number % 5, rel="ugc" if number % 2 else "")
        for number in range(40)
    ]
    rows = write(*(PageRead(page, NOW + number) for number, page in enumerate(pages)))["links"]
    wanted = [
        (page.url, link.url, link.anchor, link.rel, link.kind.value, NOW + number, page.url[7:17] == link.url[7:17])
        for number, page in enumerate(pages)
        for link in page.links
    ]
    found = [
        (row["page"], row["target"], row["anchor"], row["rel"], row["kind"], row["read_at"].timestamp(),
         row["is_internal"])
        for row in rows
    ]  # fmt: skip
    assert found == wanted


def test_links_within_a_page_have_no_row(write: Write) -> None:
    """By a fragment or an empty href: what remains keeps its text and rel, and the count agrees."""
    html = b"<a href=#a>a</a><a href=/x rel=ugc>b</a><a href=''>c</a><iframe src=/f></iframe>"
    rows = write(PageRead(read_page(html, "http://a.example/own", "text/html"), NOW))
    told = [(row["target"], row["anchor"], row["rel"], row["kind"]) for row in rows["links"]]
    assert told == [("http://a.example/x", "b", "ugc", "a"), ("http://a.example/f", "", "", "iframe")]
    assert [row["links"] for row in rows["pages"]] == [2]


def with_links(url: str, count: int, rel: str) -> ParsedPage:
    kinds = list(LinkKind)
    links = Links.of(
        Link(Url(f"http://s{place % 2}.example/{place}"), f"{url} {place}", rel, kinds[place % 4])
        for place in range(count)
    )
    return replace(read_page(b"<p>x", url, "text/html"), links=links)


def test_sitemap_entries_and_their_summary(write: Write) -> None:
    """What a site says of its pages, what its indexes name, and one row on the whole."""
    sitemap = Url("https://example.org/sitemap.xml")
    entry = SitemapEntry("https://example.org/a", Lastmod(NOW, Granularity.SECOND), ChangeFreq.NEVER, 1.0, "A")
    child = SitemapEntry("https://example.org/more.xml", is_sitemap=True)
    rows = write(
        SitemapEntriesRead(sitemap, NOW, (entry, child)),
        SitemapRead(sitemap, NOW, 1, 1, None, (Problem("bad-markup"),)),
    )["sitemap_entries"]
    assert [row["kind"] for row in rows] == ["page", "sitemap", "summary"]
    assert {(row["sitemap"], row["site"], row["read_at"]) for row in rows} == {(sitemap, "example.org", NOON)}
    assert [rows[0][name] for name in ("url", "lastmod", "changefreq", "priority", "title")] == [
        "https://example.org/a", NOON, "never", 1.0, "A",
    ]  # fmt: skip
    assert [rows[2][name] for name in ("url", "entries", "children", "problems")] == [sitemap, 1, 1, ["bad-markup"]]


def test_columns_of_entries_are_the_rows_of_entries(write: Write) -> None:
    """It does not show in a table how entries came, nor what came before and after them."""
    dated = SitemapEntry("https://example.org/a", Lastmod(NOW, Granularity.YEAR), None, 0.0)
    often = SitemapEntry("https://example.org/b", None, ChangeFreq.ALWAYS, None)
    titled = SitemapEntry("https://example.org/c", title="C")
    some = dated, often, SitemapEntry("https://example.org/d")
    columns = EntryColumns.of(some)
    kinds = [(titled,), columns, (), (titled, dated), columns[:1]]
    by_columns = write(*(SitemapEntriesRead(URL, NOW, entries) for entries in kinds))["sitemap_entries"]
    one_by_one = write(*(SitemapEntriesRead(URL, NOW, tuple(entries)) for entries in kinds))["sitemap_entries"]
    assert by_columns == one_by_one[-len(by_columns) :]
    assert [row["lastmod_granularity"] for row in by_columns[1:4]] == ["year", None, None]
    assert [row["changefreq"] for row in by_columns[1:4]] == [None, "always", None]
    assert [row["priority"] for row in by_columns[1:4]] == [0.0, None, None]


def test_what_became_of_a_file(write: Write) -> None:
    """Its place in the forest, what the last reading was like, and when it is visited next, if ever."""
    tree, parent = Url("https://example.org/index.xml"), Url("https://example.org/more.xml")
    problems = (("bad-date", 3), ("not-a-url", 1))
    visited = SitemapVisited(
        URL, NOW, tree, parent, "robots", 2, "urlset", "", 200, 7, 0, 99, problems, Lastmod(NOW, Granularity.DAY),
        NOW, NOW, math.inf, 4, 1, 0, "",
    )  # fmt: skip
    failed = replace(visited, outcome="http-404", status=404, read_at=None, due_at=None, failures=3, retired="gone")
    first, second = write(visited, failed)["sitemaps"]
    assert [first[name] for name in ("url", "site", "tree", "parent", "origin", "depth", "kind")] == [
        URL, SITE, tree, parent, "robots", 2, "urlset",
    ]  # fmt: skip
    assert [first[name] for name in ("outcome", "retired", "due_at", "problems", "problem_count", "lastmod")] == [
        None, None, None, ["bad-date", "not-a-url"], 4, NOON,
    ]  # fmt: skip
    assert [second[name] for name in ("outcome", "status", "read_at", "failures", "retired")] == [
        "http-404", 404, None, 3, "gone",
    ]  # fmt: skip


def test_changes_count_from_major_on(write: Write) -> None:
    """The level is a word, and whether it counts is a claim."""
    rows = write(*(ChangeSeen(URL, NOW, level) for level in ChangeLevel))["changes"]
    assert [(row["level"], row["is_change"]) for row in rows] == [
        ("same", False), ("raw-only", False), ("template", False), ("elsewhere", False),
        ("minor", False), ("major", True),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["\ud800 lone", "nul \0 inside", "x" * (MAX_TEXT + 9), "\U0001f600" * MAX_TEXT, ""])
def test_no_text_of_the_web_can_break_a_batch(write: Write, text: str) -> None:
    """Half a surrogate pair, a zero byte, endless text: the row is written, its neighbours are whole."""
    links = Links.of([Link(Url(f"{URL}/x"), text, text)])
    page = replace(read_page(PAGE, URL, "text/html"), title=text, language=text, links=links)
    good = read_page(PAGE, URL, "text/html")
    rows = write(PageRead(page, NOW), PageRead(good, NOW))
    wanted = text.encode("utf-8", "replace").decode()[:MAX_TEXT]
    assert rows["pages"][0]["title"] == wanted
    assert rows["links"][0]["anchor"] == wanted
    assert rows["links"][0]["rel"] == wanted
    assert [row["title"] for row in rows["pages"][1:]] == ["T"]


@pytest.mark.parametrize("at", [math.nan, math.inf, -math.inf, 1e300, -1e13, 4e11])
def test_times_that_no_calendar_has_are_null(write: Write, at: float) -> None:
    """A sitemap may write any date; a column of times holds those of the years 1 to 9999."""
    entry = SitemapEntry("https://example.org/a", Lastmod(at, Granularity.DAY))
    [row] = write(SitemapEntriesRead(URL, NOW, (entry,)))["sitemap_entries"]
    assert row["lastmod"] is None


def test_numbers_that_fit_nowhere_are_null(write: Write) -> None:
    """A status or a count out of range does not take the batch with it."""
    events = [FetchEnded(Fetched(TASK, status, (), b"", NOW, 0.1), NOW) for status in (200, 10**30)]
    assert [row["status"] for row in write(*events)["fetches"]] == [200, None]


def test_what_waits_in_memory_is_bounded(tmp_path: Path) -> None:
    """Without checkpoints rows go to the spool on their own; they are removed as well if there is no commit."""
    small = TableSettings(bytes_in_memory=100_000)
    tables = Tables(tmp_path / "tables", tmp_path / "spool", small, shard=0, mark=None)
    for number in range(1000):
        tables.record([ChangeSeen(Url(f"http://example.org/{number}"), NOW, ChangeLevel.SAME)])
    [spool] = (tmp_path / "spool").glob("changes-*")
    assert spool.stat().st_size > 10_000
    tables.close()
    Tables(tmp_path / "tables", tmp_path / "spool", small, shard=0, mark=None).close()
    assert spool.stat().st_size == 0

"""crawler-commons' and StormCrawler's sitemaps: every case is read as they read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from periplus.formats.dates import read_w3c
from periplus.formats.sitemap import Child, Entry, Kind, in_scope, read
from periplus.model import Lastmod, Problem

pytestmark = pytest.mark.corpus

DIFFERENCES: dict[str, str] = {}
"""Cases that do not hold, by name, with the reason. All hold."""

STORMCRAWLER = {
    "stormcrawler.rss": (Kind.RSS, 6),
    "stormcrawler.sitemap.extensions.all.xml": (Kind.URLSET, 7),
    "stormcrawler.sitemap.extensions.image.xml": (Kind.URLSET, 7),
    "stormcrawler.sitemap.extensions.links.xml": (Kind.URLSET, 6),
    "stormcrawler.sitemap.extensions.mobile.xml": (Kind.URLSET, 6),
    "stormcrawler.sitemap.extensions.news.xml": (Kind.URLSET, 6),
    "stormcrawler.sitemap.extensions.video.xml": (Kind.URLSET, 6),
    "stormcrawler.sitemap.index.xml": (Kind.INDEX, 4),
    "stormcrawler.sitemap.xml": (Kind.URLSET, 6),
    "stormcrawler.sitemap.xml.gz": (Kind.URLSET, 6),
}


class Outcome:
    """What one case was read as."""

    def __init__(self, body: bytes, url: str) -> None:
        reading = read(body, url)
        self.values = list(reading)
        self.kind = reading.kind
        self.lastmod = reading.lastmod
        self.records = [value for value in self.values if not isinstance(value, Problem)]
        self.entries = [value for value in self.values if isinstance(value, Entry)]
        self.urls = [value.url for value in self.records]


def date(text: str | None) -> Lastmod | None:
    return None if text is None else read_w3c(text)


def check_records(outcome: Outcome, expected: list[dict[str, Any]]) -> None:
    assert outcome.urls == [record["loc"] for record in expected]
    for value, record in zip(outcome.records, expected, strict=True):
        if "lastmod" in record:
            assert value.lastmod == date(record["lastmod"])
        if "changefreq" in record:
            assert isinstance(value, Entry)
            assert (value.changefreq and value.changefreq.value) == record["changefreq"]
        if "priority" in record:
            assert isinstance(value, Entry)
            assert value.priority == record["priority"]


def check_video(outcome: Outcome, expected: dict[str, Any]) -> None:
    video = outcome.entries[0].videos[0]
    for name, value in expected.items():
        wanted = date(value) if name.endswith("_date") else tuple(value) if name == "tags" else value
        assert getattr(video, name) == wanted, name


def check_news(outcome: Outcome, expected: list[dict[str, Any]]) -> None:
    for entry, article in zip(outcome.entries, expected, strict=True):
        for name, value in article.items():
            wanted = date(value) if name.endswith("_date") else tuple(value) if name == "keywords" else value
            assert getattr(entry.news[0], name) == wanted, name


def check_alternates(outcome: Outcome, expected: list[list[str]]) -> None:
    for entry in outcome.entries:
        assert [[alternate.href, alternate.hreflang] for alternate in entry.alternates] == expected


def check_kind(outcome: Outcome, expected: str) -> None:
    if expected == "index":
        assert outcome.kind is Kind.INDEX
        assert all(isinstance(record, Child) for record in outcome.records)
    elif expected == "urlset":
        assert outcome.kind in (Kind.URLSET, Kind.TEXT, Kind.RSS, Kind.ATOM)
        assert len(outcome.entries) == len(outcome.records)
    elif expected == "error_or_empty":
        assert not outcome.records
        assert outcome.values
    else:
        assert expected == "error_or_partial"
        assert outcome.urls == ["http://cs.harding.edu/fmccown/sitemaps/something.html"]


def check(case: dict[str, Any], outcome: Outcome) -> None:  # noqa: C901 - one line for each thing a case may expect
    for name, wanted in case["expect"].items():
        match name:
            case "kind":
                check_kind(outcome, wanted)
            case "urls" | "sitemaps":
                check_records(outcome, wanted)
            case "count" | "lenient_count":
                assert len(outcome.records) == wanted
            case "strict_location_count":
                assert sum(in_scope(case["url"], url) for url in outcome.urls) == wanted
            case "contains":
                assert set(wanted) <= set(outcome.urls)
            case "first":
                freq = outcome.entries[0].changefreq
                assert freq is not None
                assert freq.value == wanted["changefreq"]
            case "must_not_contain":
                assert wanted not in repr(outcome.values)
            case "urls_at_most":
                assert set(outcome.urls) <= set(wanted)
            case "sitemap_without_lastmod":
                assert [record.url for record in outcome.records if record.lastmod is None] == [wanted]
            case "channel_lastmod":
                assert outcome.lastmod == date(wanted)
            case "first_video":
                check_video(outcome, wanted)
            case "images":
                assert [image.loc for image in outcome.entries[0].images] == wanted
            case "alternates_of_every_url":
                check_alternates(outcome, wanted)
            case "news":
                check_news(outcome, wanted)
            case "news_years":
                assert [years(entry) for entry in outcome.entries] == wanted
            case unknown:
                pytest.fail(f"the corpus expects something new: {unknown}")


def years(entry: Entry) -> int:
    published = entry.news[0].publication_date
    assert published is not None
    return 1970 + int(published.at // (365.2425 * 86400))


def test_crawlercommons(corpus: Path) -> None:
    """Every case holds, but for those listed with their reason; and those do not."""
    folder = corpus / "sitemaps_crawlercommons"
    cases = json.loads((folder / "cases.json").read_text())["cases"]
    assert len(cases) == 42
    failed = {}
    for case in cases:
        body = (folder / case["file"]).read_bytes() if "file" in case else case["content"].encode()
        try:
            check(case, Outcome(body, case["url"]))
        except AssertionError as error:
            failed[case["test"]] = str(error)
    assert {name: text for name, text in failed.items() if name not in DIFFERENCES} == {}
    assert set(DIFFERENCES) <= set(failed)


def test_location_rule(corpus: Path) -> None:
    """A sitemap speaks for its own folder, host and scheme."""
    rules = json.loads((corpus / "sitemaps_crawlercommons" / "cases.json").read_text())["location_rule"]
    assert [in_scope(sitemap, url) for sitemap, url, _ in rules] == [is_in for _, _, is_in in rules]


def test_other_files_of_crawlercommons(corpus: Path) -> None:
    """Files that no case names are read too."""
    folder = corpus / "sitemaps_crawlercommons" / "sitemaps"
    times = Outcome((folder / "extension" / "hebdenbridgetimes-articles-sitemap.xml").read_bytes(), "")
    assert len(times.entries) == len(times.values) == 74
    assert all(entry.lastmod is not None for entry in times.entries)
    pages = Outcome((folder / "extension" / "pagemaps-sitemap.xml").read_bytes(), "")
    assert pages.values == [Entry("http://www.example.com/foo"), Entry("http://www.example.com/bar")]
    mobile = Outcome((folder / "extension" / "sitemap-mobile.xml").read_bytes(), "")
    assert len(mobile.entries) == len(mobile.values) == 3
    bom = Outcome((folder / "sitemap-with-bom.txt").read_bytes(), "")
    assert bom.urls == ["http://www.domain.com/page1.html", "http://www.domain.com/page2.html"]


@pytest.mark.parametrize("name", STORMCRAWLER)
def test_stormcrawler(corpus: Path, name: str) -> None:
    """Files of the shape that a crawler meets are read without complaint."""
    outcome = Outcome((corpus / "sitemaps_stormcrawler" / name).read_bytes(), f"https://example.com/{name}")
    assert (outcome.kind, len(outcome.records)) == STORMCRAWLER[name]
    assert outcome.records == outcome.values
    assert all(record.lastmod is not None for record in outcome.records)

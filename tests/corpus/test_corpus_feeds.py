"""Feeds among the sitemap cases of crawler-commons and StormCrawler: entries equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from periplus.formats import dates, feed

pytestmark = pytest.mark.corpus

CASES = ("testAtomFormat", "testRSSFormat", "testRSS10", "testRSSPubDate")

# case: why what we read is not what is expected
KNOWN_DIFFERENCES: dict[str, str] = {}


def load(corpus: Path, name: str) -> tuple[bytes, dict[str, Any]]:
    folder = corpus / "sitemaps_crawlercommons"
    case = next(case for case in json.loads((folder / "cases.json").read_text())["cases"] if case["test"] == name)
    return (folder / case["file"]).read_bytes() if "file" in case else case["content"].encode(), case


def moment(text: str | None) -> float | None:
    read = dates.read_w3c(text) if text else None
    return None if read is None else read.at


@pytest.mark.parametrize("name", CASES)
def test_entries_are_equal(corpus: Path, name: str) -> None:
    """The same addresses in the same order, with the same dates where the case has any."""
    body, case = load(corpus, name)
    read = feed.read(body, case["url"])
    expected = [(entry["loc"], moment(entry.get("lastmod"))) for entry in case["expect"]["urls"]]
    found = [(item.url, item.lastmod.at if item.lastmod else None) for item in read.items]
    assert (found == expected) != (name in KNOWN_DIFFERENCES)


def test_channel_date(corpus: Path) -> None:
    """The date of the channel is told apart from those of the items."""
    body, case = load(corpus, "testRSSPubDate")
    updated = feed.read(body, case["url"]).updated
    assert updated is not None
    assert updated.at == moment(case["expect"]["channel_lastmod"])


def test_every_feed_of_the_cases_is_told_from_a_sitemap(corpus: Path) -> None:
    """What is not a feed gives no items, and says why."""
    folder = corpus / "sitemaps_crawlercommons"
    for case in json.loads((folder / "cases.json").read_text())["cases"]:
        body = (folder / case["file"]).read_bytes() if "file" in case else case["content"].encode()
        read = feed.read(body, case["url"])
        assert (read.kind is not None) == (case["test"] in CASES), case["test"]
        assert read.kind is not None or read.problems


def test_stormcrawler(corpus: Path) -> None:
    """A real-shaped feed reads without a problem."""
    read = feed.read((corpus / "sitemaps_stormcrawler" / "stormcrawler.rss").read_bytes())
    assert (len(read.items), read.problems) == (6, ())
    assert read.items[2].url == "https://stormcrawler.apache.org/download/index.html"
    assert all(item.published is not None for item in read.items)


def test_scrapy_feeds(corpus: Path) -> None:
    """A shop's RSS reads without a problem, and a shop's own XML is not a feed."""
    folder = corpus / "html_links" / "scrapy" / "feeds"
    shop = feed.read((folder / "feed-sample2.xml").read_bytes(), "http://www.example.com/feed")
    assert (shop.kind, shop.problems) == (feed.FeedKind.RSS, ())
    assert shop.items[0].url == "http://www.example.com/product.asp?P_ID=1602"
    assert shop.items[0].summary.startswith("Price shown per linear metre Minimum purchase 3 linear metres")
    other = feed.read((folder / "feed-sample1.xml").read_bytes())
    assert (other.kind, [problem.reason for problem in other.problems]) == (None, ["not-a-feed"])

"""A collection of one's own site as a source: which pages, and when they changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.insight.asked_collection import NOW, Made, at

from periplus.model import UsageError
from periplus_sites.publish import Published, Publisher, PublishSettings
from periplus_sites.publish.collections import collection_rows, inventories
from periplus_sites.publish.settings import SiteSettings, SourceSettings

BASE = "http://a.test/"
DAY = 86_400
TYPES = ("text/html",)


def collection(folder: Path) -> Made:
    """Four pages: one has changed, one is a copy, one is not to be indexed, one is another site's."""
    made = Made(folder)
    for number, (path, text) in enumerate((("", 1), ("changed", 2), ("copy?of=home", 1), ("hidden", 4))):
        url = f"{BASE}{path}"
        made.told(url, "link", number)
        made.got(url, text, when=100 + number, title=f"Title of {path}", noindex=path == "hidden")
    made.told("http://b.test/", "link")
    made.got("http://b.test/", 9)
    _change(made, 5, DAY)
    (folder / "periplus.toml").write_text("")
    made.write()
    return made


def _change(made: Made, text: int, when: float) -> None:
    url = f"{BASE}changed"
    made.got(url, text, when=when, title="Title of changed")
    made.rows["changes"].append(
        {"url": url, "site": "a.test", "seen_at": at(when + 1), "level": "major", "is_change": True}
    )


def scanned(folder: Path, out: Path, now: float) -> Published:
    settings = PublishSettings(SiteSettings(BASE), SourceSettings(folder=str(folder)))
    with Publisher(out, settings, clock=lambda: now) as publisher, inventories(publisher, settings) as sources:
        return publisher.scan(sources)


def test_indexable_representatives_are_published_and_observed_changes_have_a_date(tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    folder.mkdir()
    made = collection(folder)
    rows = {str(row["url"]): row for row in collection_rows(folder, BASE, TYPES)}
    assert sorted(rows) == [BASE, f"{BASE}changed"]
    assert rows[BASE]["updated_at"] is None
    seen = NOW.timestamp() + DAY + 1
    assert (rows[f"{BASE}changed"]["updated_at"], rows[f"{BASE}changed"]["title"]) == (seen, "Title of changed")
    first = scanned(folder, tmp_path / "out", seen + DAY)
    assert (first.scan.new, first.scan.resources) == (2, 2)
    sitemap = (tmp_path / "out" / "sitemap.xml").read_text()
    assert "<loc>http://a.test/changed</loc><lastmod>2026-01-06T00:00:01Z</lastmod>" in sitemap
    assert "<url><loc>http://a.test/</loc></url>" in sitemap
    made.got(f"{BASE}", 1, when=2 * DAY)
    _change(made, 6, 2 * DAY)
    made.write()
    again = scanned(folder, tmp_path / "out", seen + 3 * DAY)
    assert (again.scan.changed, again.scan.new, again.scan.gone) == (1, 0, 0)
    sitemap = (tmp_path / "out" / "sitemap.xml").read_text()
    assert "<loc>http://a.test/changed</loc><lastmod>2026-01-07T00:00:01Z</lastmod>" in sitemap


def test_a_collection_of_another_site_is_refused(tmp_path: Path) -> None:
    collection(tmp_path)
    with pytest.raises(UsageError, match=r"no page below https://www\.example\.org/"):
        list(collection_rows(tmp_path, "https://www.example.org/", TYPES))


def test_plain_text_is_not_a_page(tmp_path: Path) -> None:
    made = collection(tmp_path)
    made.told(f"{BASE}_sources/a.txt", "link", 7)
    made.got(f"{BASE}_sources/a.txt", 12, when=120, mime="text/plain")
    made.write()
    urls = {row["url"] for row in collection_rows(tmp_path, BASE, (*TYPES, "text/plain"))}
    assert urls - {row["url"] for row in collection_rows(tmp_path, BASE, TYPES)} == {f"{BASE}_sources/a.txt"}

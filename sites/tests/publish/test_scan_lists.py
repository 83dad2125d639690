"""Published lists are lists of pages: not of compressed copies, and not of the sources of pages."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.published.small_site import BASE, Site

from periplus.formats import feed, sitemap
from periplus_sites.publish import AsgiInventory, WsgiInventory, settings_for
from periplus_sites.publish.collections import inventories
from periplus_sites.publish.publisher import Publisher
from periplus_sites.publish.settings import SourceSettings


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path, 30)
    (site.root / "_sources").mkdir()
    (site.root / "changelog.html.gz").write_bytes(gzip.compress(b"<p>All changes of all versions</p>"))
    (site.root / "notes.pdf").write_bytes(b"%PDF-1.4 notes")
    (site.root / "logo.png").write_bytes(b"\x89PNG")
    for number in range(30):
        (site.root / "_sources" / f"page{number}.rst.txt").write_text(f"Page {number}\n======\n")
    return site


def feed_of(site: Site) -> feed.FeedDocument:
    return feed.read((site.out / "changes.atom").read_bytes(), BASE)


def test_compressed_copies_and_sources_are_not_listed(site: Site) -> None:
    chosen = structs.replace(settings_for(BASE), source=SourceSettings(folder=str(site.root)))
    with site.publisher(chosen) as publisher, inventories(publisher, chosen) as sources:
        assert publisher.scan(sources).scan.resources == 33
    listed = {
        entry.url for entry in sitemap.read((site.out / "sitemap.xml").read_bytes()) if isinstance(entry, sitemap.Entry)
    }
    assert listed == {f"{BASE}page{number}.html" for number in range(30)} | {f"{BASE}notes.pdf"}


def test_the_feed_has_pages_that_changed_after_the_first_scan(site: Site) -> None:
    site.scan()
    assert feed_of(site).items == ()
    site.next_day()
    site.edit(3)
    (site.root / "logo.png").write_bytes(b"\x89PNG another")
    (site.root / "notes.pdf").write_bytes(b"%PDF-1.4 other notes")
    site.scan()
    assert [(item.title, item.url) for item in feed_of(site).items] == [
        ("Page 3", f"{BASE}page3.html"),
        ("notes.pdf", f"{BASE}notes.pdf"),
    ]


def test_what_is_reported_before_the_first_scan_is_in_the_feed(tmp_path: Path) -> None:
    site = Site(tmp_path, 1)
    with site.publisher() as publisher:
        publisher.changed("/news/1", title="News")
        publisher.write()
    assert [item.title for item in feed_of(site).items] == ["News"]


def test_dates_of_an_application_are_those_of_last_modified(tmp_path: Path) -> None:
    def wsgi(_: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [("Content-Type", "text/html"), ("Last-Modified", "Tue, 14 Nov 2023 23:03:20 GMT")])
        return [b"<p>A page of an application</p>"]

    async def asgi(_: Any, __: Any, send: Any) -> None:
        fields = [(b"content-type", b"text/html"), (b"last-modified", b"Tue, 14 Nov 2023 23:03:20 GMT")]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": b"<p>Another page</p>"})

    with Publisher(tmp_path, settings_for(BASE)) as publisher:
        publisher.scan([WsgiInventory(wsgi, ["/a"], BASE), AsgiInventory(asgi, ["/b"], BASE)])
        dates = dict(publisher.ledger.db.execute("select url, lastmod from resources"))
    assert dates == {f"{BASE}a": 1_700_003_000.0, f"{BASE}b": 1_700_003_000.0}

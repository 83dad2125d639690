"""ResourceSync documents: from the well-known address to every resource and every change."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree
from tests.published.small_site import BASE, Site

from periplus.formats.resourcesync import RS_NS
from periplus.formats.sitemap.values import SITEMAP_NS
from periplus_sites.publish import PublishSettings, archives
from periplus_sites.publish.settings import ResyncSettings, SiteSettings
from periplus_sites.publish.trial_server import folder_app

SETTINGS = PublishSettings(SiteSettings(BASE), resync=ResyncSettings(enabled=True))
NAMES = {"s": SITEMAP_NS, "rs": RS_NS}


def document(site: Site, url: str) -> etree._Element:
    return etree.fromstring((site.out / url.removeprefix(BASE)).read_bytes())


def entries(found: etree._Element) -> list[tuple[str, dict[str, str]]]:
    """Addresses, each with what `rs:md` says of it."""
    found_entries = []
    for url in found.iterfind("s:url", NAMES):
        md = url.find("rs:md", NAMES)
        assert md is not None
        about = {str(name): str(value) for name, value in md.items()}
        found_entries.append((str(url.findtext("s:loc", namespaces=NAMES)), about))
    return found_entries


def test_a_harvester_finds_all_resources_and_changes(tmp_path: Path) -> None:
    site = Site(tmp_path, 5)
    site.scan(SETTINGS)
    site.next_day()
    site.edit(1)
    site.path(2).unlink()
    site.scan(SETTINGS)
    [(capabilities, told)] = entries(document(site, f"{BASE}.well-known/resourcesync"))
    assert told == {"capability": "capabilitylist"}
    lists = {each["capability"]: url for url, each in entries(document(site, capabilities))}
    resources = document(site, lists["resourcelist"])
    md = resources.find("rs:md", NAMES)
    assert md is not None
    assert (md.get("capability"), md.get("at")) == ("resourcelist", "2025-06-16T15:06:40Z")
    assert [url for url, _ in entries(resources)] == [f"{BASE}page{number}.html" for number in (0, 1, 3, 4)]
    size = site.path(1).stat().st_size
    assert dict(entries(resources))[f"{BASE}page1.html"] == {"length": str(size), "type": "text/html"}
    changes = [(url.removeprefix(BASE), each["change"]) for url, each in entries(document(site, lists["changelist"]))]
    assert changes == [*((f"page{number}.html", "created") for number in range(5)), *CHANGED]


CHANGED = [("page1.html", "updated"), ("page2.html", "deleted")]


def test_a_scan_without_a_change_writes_the_same_bytes(tmp_path: Path) -> None:
    site = Site(tmp_path, 3)
    site.scan(SETTINGS)
    before = {path: path.stat().st_mtime_ns for path in (site.out / archives.RESYNC_FOLDER).iterdir()}
    site.next_day()
    site.build()
    site.scan(SETTINGS)
    assert len(before) == 3
    assert {path: path.stat().st_mtime_ns for path in (site.out / archives.RESYNC_FOLDER).iterdir()} == before


def test_large_sites_have_an_index_of_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "PER_LIST", 2)
    site = Site(tmp_path, 5)
    site.scan(SETTINGS)
    index = document(site, f"{BASE}{archives.RESOURCES}")
    lists = [str(loc.text) for loc in index.iterfind("s:sitemap/s:loc", NAMES)]
    assert len(lists) == 3
    assert sum(len(entries(document(site, url))) for url in lists) == 5
    site.path(4).unlink()
    site.path(3).unlink()
    site.path(2).unlink()
    site.path(1).unlink()
    site.scan(SETTINGS, allows_removals=True)
    assert sorted(path.name for path in (site.out / archives.RESYNC_FOLDER).iterdir()) == [
        "capabilitylist.xml",
        "changelist.xml",
        "resourcelist.xml",
    ]


def test_the_middleware_serves_them(tmp_path: Path) -> None:
    site = Site(tmp_path, 3)
    site.scan(SETTINGS)
    heads: list[tuple[str, dict[str, str]]] = []
    with site.publisher(SETTINGS) as publisher:
        app = publisher.wsgi(folder_app([site.root]))
        for path in ("/.well-known/resourcesync", f"/{archives.RESOURCES}"):
            environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": ""}
            body = b"".join(app(environ, lambda status, headers, *_: heads.append((status, dict(headers)))))
            assert b"openarchives.org" in body
    assert [(status, headers["Content-Type"]) for status, headers in heads] == [("200 OK", "application/xml")] * 2

"""Crawls for images: from archives and from image sitemaps without a page, else from pages; and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.published_site import PublishedSite, crawl_images
from tests.lab.scripted_web import ScriptedWeb

import periplus
from periplus.apps.mapping.cost import estimate
from periplus.collection.collection import existing, planned
from periplus.collection.importing import import_archives
from periplus.store.export.exporting import Committed
from periplus.store.export.wacz import PackageFacts, export_wacz
from periplus.store.warc import WarcRecord, read_records

FILES = 60
IMAGES = 20
LOOPBACK = ["127.0.0.1"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedSite]:
    """A site with archives, which robots.txt names by their list, as it does if there are more than twenty."""
    with PublishedSite(tmp_path_factory.mktemp("media") / "site", FILES) as site:
        robots = site.folder / "robots.txt"
        lines = [line for line in robots.read_text().splitlines() if not line.startswith("Metadata-archive")]
        robots.write_text("\n".join([*lines, f"Metadata-archive: {site.base}metadata/archives.txt"]) + "\n")
        yield site


def sizes(site: PublishedSite) -> list[int]:
    return [path.stat().st_size for path in sorted((site.folder / "img").iterdir())]


def test_archives_lead_to_every_image_without_a_page(site: PublishedSite, tmp_path: Path) -> None:
    site.sent.clear()
    found, summary = crawl_images(site, tmp_path / "pics")
    assert (found.images, found.html_requests) == (IMAGES, 0)
    assert found.metadata_bytes < 1500
    assert (summary.ended, summary.sources, summary.files) == ("complete", {"archive": IMAGES}, 2)
    assert summary.media is not None
    assert (summary.media.files, summary.media.bytes, summary.media.request_share) == (IMAGES, sum(sizes(site)), 0.0)
    collection = periplus.open(tmp_path / "pics")
    media = collection.query("select url, content_type, bytes, width, height from media order by url").fetchall()
    assert media == [
        (f"{site.base}img/{number:05}.png", "image/png", size, number + 1, 600)
        for number, size in enumerate(sizes(site))
    ]
    others = "select (select count(*) from pages), count(warc_file) from fetches where purpose = 'page'"
    assert collection.query(others).fetchall() == [(0, IMAGES)]
    kinds = collection.query("select kind from sitemap_files order by kind").fetchall()
    assert kinds == [("archive",), ("archive-list",)]


@pytest.mark.proof
def test_cost_is_known_before_the_first_file(site: PublishedSite, tmp_path: Path) -> None:
    site.sent.clear()
    total = sum(sizes(site))
    options = {"media.types": ["image/*"], "wire.allow_private": LOOPBACK, "crawl.max_bytes": total // 2}
    options |= {"politeness.delay": 0.25, "politeness.slow_factor": 0.0}
    cost = estimate(planned(tmp_path / "pics", typed=[site.base], options=options))
    assert (cost.urls, cost.sized, cost.bytes) == (IMAGES, IMAGES, total)
    assert cost.seconds == IMAGES * 0.25
    assert cost.within is not None
    assert 0 < cost.within < IMAGES
    assert not (tmp_path / "pics").exists()
    listed = periplus.map(site.base, media="image/*", allow_private=LOOPBACK, delay=0.25)
    assert sum(each.size or 0 for each in listed) == total
    assert {each.reason for each in listed} == {""}
    assert not any(sent.mime in ("image/png", "text/html") for sent in site.sent)


def test_a_crawl_ends_at_its_maximum_of_bytes_and_continues_without(site: PublishedSite, tmp_path: Path) -> None:
    site.sent.clear()
    settings = tmp_path / "settings.toml"
    settings.write_text("[politeness]\ndelay = 0.0\nslow_factor = 0.0\n")
    out = tmp_path / "pics"
    crawl = periplus.crawl(
        site.base, out=out, media="image/*", max_bytes="60kB", config=settings, allow_private=LOOPBACK
    )
    summary = crawl.run()
    assert summary.ended == "bytes"
    assert 60_000 <= summary.bytes < sum(sizes(site))
    assert 0 < summary.pages < IMAGES
    summary = periplus.crawl(out=out, max_bytes=0).run()
    assert (summary.ended, summary.pages) == ("complete", IMAGES)
    assert sorted(sent.size for sent in site.sent if sent.mime == "image/png") == sorted(sizes(site))
    assert not any(sent.mime == "text/html" for sent in site.sent)


def test_a_package_of_cut_files_is_imported_as_it_was(site: PublishedSite, tmp_path: Path) -> None:
    """A round trip through WACZ: every fetch, also of files that were cut, and nothing else."""
    settings = tmp_path / "settings.toml"
    settings.write_text(
        "[politeness]\ndelay = 0.0\nslow_factor = 0.0\n[media]\nmax_file_bytes = 1000\n[wire]\nmax_page_bytes = 1000\n"
    )
    periplus.crawl(site.base, out=tmp_path / "pics", media="image/*", config=settings, allow_private=LOOPBACK).run()
    before = existing(tmp_path / "pics")
    with (tmp_path / "pics.wacz").open("wb") as out:
        export_wacz(before.layout.folder, out, Committed(), PackageFacts("pics", "test", before.seeds))
    done = import_archives(tmp_path / "again", [tmp_path / "pics.wacz"])
    assert done.problems == {}
    sql = """
        select url, purpose, lane, source, outcome, status, started_at, duration, bytes, content_type, ip, depth,
            attempt, redirects, is_truncated, digest, is_revisit, width, height
        from fetches where warc_file is not null order by url, started_at
    """
    fetches = periplus.open(tmp_path / "pics").query(sql).fetchall()
    assert periplus.open(tmp_path / "again").query(sql).fetchall() == fetches
    assert sum(fetch[14] for fetch in fetches) == sum(size > 1000 for size in sizes(site)) > 0
    pages = [periplus.open(tmp_path / name).query("select url from pages").fetchall() for name in ("pics", "again")]
    assert pages[0] == pages[1]
    records = [_records(folder / "warc") for folder in (tmp_path / "pics", tmp_path / "again")]
    assert records[0] == records[1]


def _records(folder: Path) -> dict[str, tuple[bytes, bytes]]:
    """All records but the first of each file, by identifier: their fields and blocks as written."""
    found = (record for path in folder.glob("*.warc.gz") for record in read_records(path))
    return {
        record.id: (record.head, record.block)
        for record in found
        if isinstance(record, WarcRecord) and record.type != "warcinfo"
    }


def test_image_sitemaps_lead_to_every_image_without_a_page_and_else_pages_do(tmp_path: Path) -> None:
    with PublishedSite(tmp_path / "site", FILES, archives=False) as site:
        found, summary = crawl_images(site, tmp_path / "listed")
        assert (found.images, found.html_requests, summary.sources) == (IMAGES, 0, {"sitemap": IMAGES})
        for name in ("robots.txt", "sitemap.xml"):
            (site.folder / name).unlink()
        site.sent.clear()
        found, summary = crawl_images(site, tmp_path / "embedded")
    assert (found.images, found.html_requests) == (IMAGES, FILES - IMAGES)
    assert summary.media is not None
    assert summary.media.files == IMAGES
    assert summary.media.request_share == pytest.approx((FILES - IMAGES) / FILES, abs=1e-4)
    assert 0 < summary.media.byte_share < 0.5


def test_pictures_that_are_loaded_later_are_found(tmp_path: Path) -> None:
    """Those that scripts put in their place, and backgrounds of styles; files of other types are not asked for."""
    seed = "http://site.test/"
    page = """<title>Gallery</title><img src=blank.gif data-src=a.png data-srcset="b.png 2x"><img data-original=c.png>
    <img data-lazy-src=/d><p style="background-image: url('e.jpg')">text</p><script src=app.js></script>
    <table background=f.png></table><object data=tour.swf></object>"""
    names = ["a.png", "b.png", "blank.gif", "c.png", "d", "e.jpg", "f.png"]
    pictures: dict[str, str | bytes] = {f"{seed}{name}": f"GIF89a {name}".encode() for name in names}
    with ScriptedWeb({seed: page, **pictures}) as web:
        web.headers.update({url: {"Content-Type": "image/gif"} for url in pictures})
        periplus.crawl(seed, out=tmp_path / "c", media="image/*", settings=web.settings).run()
        asked = [url.removeprefix(seed) for url in web.asked]
    found = periplus.open(tmp_path / "c").query("select url from media order by url").fetchall()
    assert [url.removeprefix(seed) for (url,) in found] == names
    assert not {"app.js", "tour.swf"} & set(asked)

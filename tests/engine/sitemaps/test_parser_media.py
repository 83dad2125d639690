"""What a crawl for files takes from sitemaps, archives and lists of archives."""

from __future__ import annotations

from periplus.engine.sitemaps.parser import IncrementalSitemapParser
from periplus.formats import metadata_archive
from periplus.formats.metadata_archive import ArchiveEntry, lists_named
from periplus.formats.sitemap import Child, Entry
from periplus.model import EntryColumns
from periplus.policy.filters import MediaSettings, MediaTypes

IMAGES = MediaTypes(MediaSettings(types=("image/*",)))
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
<url><loc>https://a.test/page</loc><image:image><image:loc>https://a.test/1.jpg</image:loc></image:image>
<image:image><image:loc>https://a.test/get?id=2</image:loc></image:image></url>
<url><loc>https://a.test/3.png</loc><lastmod>2026-01-02</lastmod></url>
<url><loc>https://a.test/film</loc><video:video><video:thumbnail_loc>https://a.test/4.webp</video:thumbnail_loc>
<video:title>t</video:title><video:description>d</video:description>
<video:content_loc>https://a.test/5.mp4</video:content_loc></video:video></url></urlset>"""
NAMES = ("20250101T000000Z-20250201T000000Z.image_png.gz", "20250101T000000Z-20250201T000000Z.text_html.gz")
OTHER = "20250101T000000Z-20250201T000000Z.other.gz"


def values(url: str, body: bytes, media: MediaTypes | None) -> list[object]:
    parser = IncrementalSitemapParser(url, body, media=media)
    found: list[object] = []
    while not parser.is_over:
        found += parser.take(1000)
    return found


def test_images_of_a_sitemap() -> None:
    found = values("https://a.test/sitemap.xml", SITEMAP, IMAGES)
    urls = [each.url for each in found if isinstance(each, Entry)]
    assert urls == ["https://a.test/1.jpg", "https://a.test/get?id=2", "https://a.test/3.png", "https://a.test/4.webp"]
    films = values("https://a.test/sitemap.xml", SITEMAP, MediaTypes(MediaSettings(types=("video/mp4",))))
    assert [each.url for each in films if isinstance(each, Entry)] == ["https://a.test/5.mp4"]


def test_archives_of_a_list_by_type() -> None:
    body = "\n".join((*NAMES, OTHER)).encode()
    for media, wanted in ((IMAGES, (NAMES[0], OTHER)), (None, (NAMES[1], OTHER))):
        found = values("https://a.test/meta/archives.txt", body, media)
        assert found == [Child(f"https://a.test/meta/{name}") for name in wanted]


def test_entries_of_a_mixed_archive_by_type_with_their_size() -> None:
    entries = [
        ArchiveEntry(f"p/{n}", 1_750_000_000.0 + n, 100 * n, kind) for n, kind in enumerate(("image/png", "text/html"))
    ]
    [archive] = metadata_archive.write(entries)
    for media, path, size in ((IMAGES, "/p/0", 0.0), (None, "/p/1", 100.0)):
        [columns] = values(f"https://a.test/meta/{archive.name}", archive.body, media)
        assert isinstance(columns, EntryColumns)
        assert (list(columns.urls), columns.stated_sizes().tolist()) == ([path], [size])


def test_lists_that_robots_names() -> None:
    body = f"Sitemap: /s.xml\nMetadata-archive: /m/archives.txt # all\nmetadata-archive: /m/{NAMES[0]}\n".encode()
    assert lists_named(body, "https://a.test/robots.txt") == ["https://a.test/m/archives.txt"]
    assert lists_named(b"") == []

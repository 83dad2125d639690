"""What is written is valid by the schemas of the protocol and its extensions."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from lxml import etree
from tests.published.sitemap_schemas import sitemap_schema
from tests.published.small_site import BASE, Site

from periplus.formats.sitemap import Alternate, Entry, Image, News, Video
from periplus.formats.sitemap.values import Restriction
from periplus.formats.sitemap.writing import url_record, write_urlset
from periplus.model import ChangeFreq, Granularity, Lastmod
from periplus_sites.publish import PublishSettings, RowInventory
from periplus_sites.publish.settings import NewsSettings, SitemapSettings, SiteSettings

AT = Lastmod(1_750_000_000.0, Granularity.SECOND)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> etree.XMLSchema:
    return sitemap_schema(tmp_path_factory.mktemp("schemas"))


def faults(schema: etree.XMLSchema, body: bytes) -> list[str]:
    is_valid = schema.validate(etree.fromstring(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))
    return [] if is_valid else str(schema.error_log).splitlines()


@pytest.mark.parametrize("layout", ["single", "log"])
def test_a_published_site_with_news_images_and_languages(tmp_path: Path, schema: etree.XMLSchema, layout: str) -> None:
    site = Site(tmp_path, 0)
    settings = PublishSettings(
        SiteSettings(BASE),
        sitemap=SitemapSettings(layout=layout, urls_per_file=10, images=True),
        news=NewsSettings("The <Daily> & Example"),
    )
    for number, (own, other) in enumerate((("en", "de"), ("de", "en"))):
        links = f'<link rel="alternate" hreflang="{other}" href="/page{1 - number}.html">'
        text = f'<html lang="{own}"><head><title>Tom &amp; Jerry {number}</title>{links}</head>'
        (site.root / f"page{number}.html").write_text(
            f'{text}<body><p>{own * 300}</p><img src="/a?b&amp;c.png"></body>'
        )
    (site.root / "r\u00e9sum\u00e9 & more.html").write_text(site_page("three"))
    for number in range(30):
        (site.root / f"more{number}.html").write_text(site_page(f"number {number}"))
    site.scan(settings)
    site.next_day()
    (site.root / "more1.html").write_text(site_page("another text"))
    site.scan(settings)
    files = sorted(site.out.glob("sitemap*"))
    assert len(files) >= (5 if layout == "log" else 2)
    for file in files:
        assert faults(schema, file.read_bytes()) == [], file.name
    told = b"".join(gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in files)
    assert all(word in told for word in (b"<image:image>", b"<xhtml:link", b"<news:news>", b"<lastmod>"))


def site_page(words: str) -> str:
    return f"<html><head><title>{words}</title></head><body><p>{words * 50}</p></body></html>"


def test_rows_with_priorities_and_odd_addresses(tmp_path: Path, schema: etree.XMLSchema) -> None:
    site = Site(tmp_path, 0)
    rows = [{"url": f"/a b/\u00fc?q={number}&x=<y>", "updated_at": number, "images": "/i.png"} for number in range(5)]
    with site.publisher() as publisher:
        publisher.scan([RowInventory(rows, BASE)])
    assert faults(schema, (site.out / "sitemap.xml").read_bytes()) == []


def test_every_element_that_can_be_written(schema: etree.XMLSchema) -> None:
    video = Video(
        thumbnail_loc=f"{BASE}t.png", title="A title", description="Words", content_loc=f"{BASE}v.mp4",
        player_loc=f"{BASE}p", duration=60, expiration_date=AT, rating=4.5, view_count=7, publication_date=AT,
        tags=("a", "b"), category="c", family_friendly=True, restriction=Restriction(True, ("DE",)),
        platform=Restriction(False, ("web",)), requires_subscription=False, uploader="me", live=False,
    )  # fmt: skip
    entry = Entry(
        f"{BASE}a", AT, ChangeFreq.DAILY, 1e-7,
        images=(Image(f"{BASE}i.png", "caption", "here", "title", f"{BASE}license"),), videos=(video,),
        news=(News("Paper", "en", AT, "Title", access="Subscription", genres=("Blog",), keywords=("a", "b"),
                   stock_tickers=("X:Y",)),),
        alternates=(Alternate(f"{BASE}de", "de"),),
    )  # fmt: skip
    body = write_urlset([url_record(entry)], gzip=False, prefixes=("image", "video", "news", "xhtml"))
    assert faults(schema, body) == []
    assert faults(schema, body.replace(b"<priority>0.0000001", b"<priority>2")) != []
    assert faults(schema, body.replace(b"video:uploader", b"video:downloader")) != []

"""The contents of a sitemap as values: entries, children, their extensions, and the bounds of a reading.

Field names follow the elements of the protocols (https://www.sitemaps.org/protocol.html and the image, video and news
extensions). Texts are as written, entity-decoded, without white space around
them. URLs are absolute but not canonical: what a site wrote is what a survey counts, and policy decides the rest.

`gc=False`: these hold other values but can form no cycle, and millions of them are made.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from periplus.model import ChangeFreq, Lastmod
from periplus.urls import whatwg

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGE_NS = "http://www.google.com/schemas/sitemap-image/1.1"
VIDEO_NS = "http://www.google.com/schemas/sitemap-video/1.1"
NEWS_NS = "http://www.google.com/schemas/sitemap-news/0.9"
XHTML_NS = "http://www.w3.org/1999/xhtml"
TITLE_NS = "urn:periplus:sitemap-title:1"
"""Our own extension, one `title` a URL: text for a link to the page (proposed in "Web site metadata", 2008)."""

PROTOCOL_URLS = 50_000
PROTOCOL_BYTES = 50 * 1024 * 1024
"""Maximum contents of a file by the protocol, uncompressed.

Readers report more and continue; the writer begins another file.
"""


class Kind(Enum):
    """The detected kind of content, whatever its name and type claim."""

    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    HTML = "html"
    UNKNOWN = "unknown"


class Alternate(Struct, frozen=True, gc=False):
    """The same page for other readers (`xhtml:link rel="alternate"`)."""

    href: str
    hreflang: str = ""
    media: str = ""


class Image(Struct, frozen=True, gc=False):
    """An image on the page."""

    loc: str
    caption: str | None = None
    title: str | None = None
    geo_location: str | None = None
    license: str | None = None


class Restriction(Struct, frozen=True, gc=False):
    """Where (countries) or on what (platforms) a video may be shown, or may not."""

    allows: bool
    items: tuple[str, ...]


class Video(Struct, frozen=True, gc=False):
    """A video on the page. `duration` is in seconds; what Google has retired (price, TV show, gallery) is not read."""

    thumbnail_loc: str | None = None
    title: str | None = None
    description: str | None = None
    content_loc: str | None = None
    player_loc: str | None = None
    duration: int | None = None
    expiration_date: Lastmod | None = None
    rating: float | None = None
    view_count: int | None = None
    publication_date: Lastmod | None = None
    family_friendly: bool | None = None
    restriction: Restriction | None = None
    platform: Restriction | None = None
    requires_subscription: bool | None = None
    uploader: str | None = None
    live: bool | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()


class News(Struct, frozen=True, gc=False):
    """The page as an article of a publication (`name`, `language`)."""

    name: str | None = None
    language: str | None = None
    publication_date: Lastmod | None = None
    title: str | None = None
    keywords: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    stock_tickers: tuple[str, ...] = ()
    access: str | None = None


class Entry(Struct, frozen=True, gc=False):
    """A page with its metadata."""

    url: str
    lastmod: Lastmod | None = None
    changefreq: ChangeFreq | None = None
    priority: float | None = None
    title: str | None = None
    images: tuple[Image, ...] = ()
    videos: tuple[Video, ...] = ()
    news: tuple[News, ...] = ()
    alternates: tuple[Alternate, ...] = ()


class Child(Struct, frozen=True, gc=False):
    """A sitemap that an index names."""

    url: str
    lastmod: Lastmod | None = None


class Limits(Struct, frozen=True):
    """The limits at which a reading ends. Each but the last three ends it with a `Problem`.

    The defaults let a file of 5 million URLs pass, a hundred times what the protocol allows.
    """

    size: int = 4 * 1024**3
    """Bytes after decompression ("size-limit")."""
    urls: int = 10_000_000
    """Entries and children ("url-limit")."""
    ratio: int = 400
    """Decoded bytes for one byte of gzip, once `ratio_from` bytes are decoded ("ratio-limit"). Real sitemaps stay
    below 60, deflate cannot pass 1,032."""
    ratio_from: int = 16 * 1024**2
    gzip_layers: int = 3
    """How often the file may be gzipped ("gzip-nested")."""
    text: int = 32_768
    """Characters of one field. Longer URLs are dropped, longer texts are cut ("too-long")."""
    items: int = 1_000
    """Images, videos, articles and alternates of one entry, each ("too-many-items"); Google's bound for images.
    Together they may hold 1 MiB of text (the same reason)."""
    problems: int = 100
    """Problems of one reason that are reported one by one; the others are counted in a last one ("more-problems")."""


def in_scope(sitemap_url: str, url: str) -> bool:
    """Whether `url` lies under the directory of the sitemap, on the same host, port and scheme.

    A robots.txt that names the sitemap lifts the rule for its own host; that is for the caller to know.
    """
    sitemap, page = whatwg(sitemap_url), whatwg(url)
    if sitemap is None or page is None:
        return False
    path = sitemap.partition("#")[0].partition("?")[0]
    return page.startswith(path[: path.rfind("/") + 1])

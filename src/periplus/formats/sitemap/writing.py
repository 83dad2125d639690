"""Writes sitemaps: records in, one document out, the same bytes for the same records.

`plain_records` is the fast path for entries of an address and a date; `url_record` writes all others. Texts are escaped
for XML, without the characters that XML 1.0 cannot hold. A value that a sitemap cannot represent (a priority outside 0
to 1, a date outside the calendar) raises `ValueError`. The caller decides which entries belong in which document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from math import floor

from isal import isal_zlib

from periplus.model import Granularity, Lastmod

from ..dates import write_w3c
from .values import (
    IMAGE_NS,
    NEWS_NS,
    SITEMAP_NS,
    TITLE_NS,
    VIDEO_NS,
    XHTML_NS,
    Child,
    Entry,
    Image,
    News,
    Restriction,
    Video,
)

_PREFIXES = {"image": IMAGE_NS, "video": VIDEO_NS, "news": NEWS_NS, "xhtml": XHTML_NS, "title": TITLE_NS}


def urlset_head(prefixes: Iterable[str]) -> str:
    """The beginning of a sitemap that uses these extensions."""
    named = "".join(f' xmlns:{prefix}="{_PREFIXES[prefix]}"' for prefix in prefixes)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP_NS}"{named}>\n'


URLSET = urlset_head(_PREFIXES)
INDEX = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{SITEMAP_NS}">\n'
URLSET_END = "</urlset>\n"
INDEX_END = "</sitemapindex>\n"

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_TO_ESCAPE = re.compile('[&<>"\r]')


def url_record(entry: Entry) -> str:
    """The `<url>` of an entry, in the order of the schema, extensions last."""
    return f"<url>{''.join(_url_parts(entry))}</url>\n"


def sitemap_record(child: Child) -> str:
    """The `<sitemap>` of a child."""
    return f"<sitemap>{_element('loc', child.url)}{_dated('lastmod', child.lastmod)}</sitemap>\n"


def _url_parts(entry: Entry) -> Iterator[str]:
    yield _element("loc", entry.url)
    yield _dated("lastmod", entry.lastmod)
    if entry.changefreq is not None:
        yield _element("changefreq", entry.changefreq.value)
    if entry.priority is not None:
        if not 0 <= entry.priority <= 1:
            raise ValueError(f"a priority of {entry.priority} for {entry.url}")
        yield _element("priority", _decimal(entry.priority))
    yield _element("title:title", entry.title)
    for alternate in entry.alternates:
        hreflang = f' hreflang="{escaped(alternate.hreflang)}"' if alternate.hreflang else ""
        media = f' media="{escaped(alternate.media)}"' if alternate.media else ""
        yield f'<xhtml:link rel="alternate"{hreflang}{media} href="{escaped(alternate.href)}"/>'
    yield from map(_image, entry.images)
    yield from map(_video, entry.videos)
    yield from map(_news, entry.news)


def _image(image: Image) -> str:
    names = ("loc", "caption", "geo_location", "title", "license")
    inside = "".join(_element(f"image:{name}", getattr(image, name)) for name in names)
    return f"<image:image>{inside}</image:image>"


def _video(video: Video) -> str:
    parts = [
        _element("video:thumbnail_loc", video.thumbnail_loc),
        _element("video:title", video.title),
        _element("video:description", video.description),
        _element("video:content_loc", video.content_loc),
        _element("video:player_loc", video.player_loc),
        _number("video:duration", video.duration),
        _dated("video:expiration_date", video.expiration_date),
        _number("video:rating", video.rating),
        _number("video:view_count", video.view_count),
        _dated("video:publication_date", video.publication_date),
        *(_element("video:tag", tag) for tag in video.tags),
        _element("video:category", video.category),
        _flag("video:family_friendly", video.family_friendly),
        _restriction("video:restriction", video.restriction),
        _flag("video:requires_subscription", video.requires_subscription),
        _element("video:uploader", video.uploader),
        _restriction("video:platform", video.platform),
        _flag("video:live", video.live),
    ]
    return f"<video:video>{''.join(parts)}</video:video>"


def _news(news: News) -> str:
    publication = _element("news:name", news.name) + _element("news:language", news.language)
    parts = [
        f"<news:publication>{publication}</news:publication>",
        _element("news:access", news.access),
        _element("news:genres", ", ".join(news.genres)),
        _dated("news:publication_date", news.publication_date),
        _element("news:title", news.title),
        _element("news:keywords", ", ".join(news.keywords)),
        _element("news:stock_tickers", ", ".join(news.stock_tickers)),
    ]
    return f"<news:news>{''.join(parts)}</news:news>"


def _element(name: str, text: str | None) -> str:
    return f"<{name}>{escaped(text)}</{name}>" if text else ""


def _dated(name: str, date: Lastmod | None) -> str:
    return "" if date is None else _element(name, write_w3c(date))


def _number(name: str, number: float | None) -> str:
    return "" if number is None else _element(name, _decimal(number))


def _flag(name: str, flag: bool | None) -> str:
    return "" if flag is None else _element(name, "yes" if flag else "no")


def _restriction(name: str, restriction: Restriction | None) -> str:
    if restriction is None:
        return ""
    relationship = "allow" if restriction.allows else "deny"
    return f'<{name} relationship="{relationship}">{escaped(" ".join(restriction.items))}</{name}>'


def _decimal(number: float) -> str:
    """Without an exponent, which the schemas do not allow, and exact when read again."""
    return format(Decimal(repr(number)), "f")


def escaped(text: str) -> str:
    """A text as XML holds it."""
    if text.isalnum():
        return text
    return _TO_ESCAPE.sub(lambda match: _ESCAPES[match[0]], _UNWRITABLE.sub("", text))


_DAY = 86_400
_TIMES = tuple(f"T{minute // 60:02}:{minute % 60:02}:" for minute in range(_DAY // 60))
_SECONDS = tuple(f"{second:02}Z" for second in range(60))


def plain_records(entries: Sequence[tuple[str, float | None]]) -> Iterator[str]:
    """The `<url>` of addresses, each with the time of its last change, to the second, if that is known."""
    if _needs_escapes("".join([url for url, _ in entries])):
        entries = [(escaped(url), at) for url, at in entries]
    for url, at in entries:
        if at is None:
            yield f"<url><loc>{url}</loc></url>\n"
        else:
            yield f"<url><loc>{url}</loc><lastmod>{moment(at)}</lastmod></url>\n"


def moment(at: float) -> str:
    """A time in UTC to the second, as `lastmod` wants it."""
    day, second = divmod(floor(at), _DAY)
    return _date(day) + _TIMES[second // 60] + _SECONDS[second % 60]


def _needs_escapes(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) or any(character in text for character in '&<>"')


def write_urlset(records: Iterable[str], *, gzip: bool, prefixes: Iterable[str] = ()) -> bytes:
    """A sitemap of `<url>` records; `prefixes` are those of the extensions that they use (`image`, `news`, ...)."""
    return _document(urlset_head(prefixes), records, URLSET_END, gzip=gzip)


def write_index(children: Iterable[Child], *, gzip: bool = False) -> bytes:
    """A sitemap index."""
    return _document(INDEX, map(sitemap_record, children), INDEX_END, gzip=gzip)


def _document(head: str, records: Iterable[str], end: str, *, gzip: bool) -> bytes:
    document = "".join((head, *records, end)).encode()
    if not gzip:
        return document
    deflater = isal_zlib.compressobj(3, wbits=31)  # a header without time or name: the same bytes every time
    return deflater.compress(document) + deflater.flush()


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    return write_w3c(Lastmod(day * float(_DAY), Granularity.DAY))

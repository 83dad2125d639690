"""A `FeedDocument` as RSS 2.0 or Atom 1.0 (RFC 4287), with its WebSub links.

RDF feeds are written as RSS 2.0, which replaced them. What a format has no place for (an item's `updated` and
`content` in RSS) is written in Atom's namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape as escape_html
from xml.sax.saxutils import escape, quoteattr

from periplus.model import Granularity, Lastmod

from .. import dates
from .values import FeedDocument, FeedKind, Item, plain

_ATOM = "http://www.w3.org/2005/Atom"
_TOMBSTONES = "http://purl.org/atompub/tombstones/1.0"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def write(feed: FeedDocument) -> bytes:
    """UTF-8, one element a line. Atom asks for an id and a date everywhere: the URL and the latest date stand in."""
    lines = _atom(feed) if feed.kind is FeedKind.ATOM else _rss(feed)
    return "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', *lines, "")).encode()


def _rss(feed: FeedDocument) -> Iterator[str]:
    yield f'<rss version="2.0" xmlns:atom="{_ATOM}">'
    yield "<channel>"
    yield f"<title>{_rss_text(feed.title)}</title>"
    yield f"<link>{_text(feed.link)}</link>"
    yield f"<description>{_rss_text(feed.title)}</description>"
    yield from _author("atom:", feed)
    yield from _links("atom:link", feed)
    if feed.updated is not None:
        yield f"<lastBuildDate>{dates.write_http(feed.updated.at)}</lastBuildDate>"
    if feed.ttl is not None:
        yield f"<ttl>{round(feed.ttl / 60)}</ttl>"
    for item in feed.items:
        yield from _rss_item(item)
    yield "</channel>"
    yield "</rss>"


def _rss_item(item: Item) -> Iterator[str]:
    yield "<item>"
    yield from _filled("title", _rss_text(item.title))
    yield from _filled("link", _text(item.url))
    if item.id:
        is_link = "true" if item.id == item.url else "false"
        yield f'<guid isPermaLink="{is_link}">{_text(item.id)}</guid>'
    if item.published is not None:
        yield f"<pubDate>{dates.write_http(item.published.at)}</pubDate>"
    if item.updated is not None:
        yield f"<atom:updated>{_moment(item.updated)}</atom:updated>"
    yield from _filled("description", _rss_text(item.summary))
    yield from _content("atom:content", item)
    yield "</item>"


def _atom(feed: FeedDocument) -> Iterator[str]:
    named = f' xmlns:at="{_TOMBSTONES}"' if feed.tombstones else ""
    yield f'<feed xmlns="{_ATOM}"{named}>'
    yield f"<title>{_text(feed.title)}</title>"
    yield from _filled("id", _text(feed.id or feed.url or feed.link))
    yield from _author("", feed)
    if feed.link:
        yield f'<link rel="alternate" href={_attribute(feed.link)}/>'
    yield from _links("link", feed)
    updated = feed.updated or max((item.lastmod for item in feed.items if item.lastmod), key=_at, default=None)
    if updated is not None:
        yield f"<updated>{_moment(updated)}</updated>"
    for item in feed.items:
        yield from _atom_entry(item, updated)
    for gone in feed.tombstones:
        yield f'<at:deleted-entry ref={_attribute(gone.ref)} when="{_moment(gone.at)}"/>'
    yield "</feed>"


def _atom_entry(item: Item, latest: Lastmod | None) -> Iterator[str]:
    yield "<entry>"
    yield f"<title>{_text(item.title)}</title>"
    yield from _filled("id", _text(item.id or item.url))
    if item.url:
        yield f'<link rel="alternate" href={_attribute(item.url)}/>'
    if item.published is not None:
        yield f"<published>{_moment(item.published)}</published>"
    updated = item.lastmod or latest
    if updated is not None:
        yield f"<updated>{_moment(updated)}</updated>"
    yield from _filled("summary", _text(item.summary))
    yield from _content("content", item)
    yield "</entry>"


def _links(tag: str, feed: FeedDocument) -> Iterator[str]:
    if feed.url:
        yield f'<{tag} rel="self" href={_attribute(feed.url)}/>'
    for hub in feed.hubs:
        yield f'<{tag} rel="hub" href={_attribute(hub)}/>'


def _author(prefix: str, feed: FeedDocument) -> Iterator[str]:
    if feed.author:
        yield f"<{prefix}author><{prefix}name>{_text(feed.author)}</{prefix}name></{prefix}author>"


def _content(tag: str, item: Item) -> Iterator[str]:
    """HTML is text to XML: escaped as a whole (RFC 4287 section 4.1.3.3)."""
    if item.content:
        yield f'<{tag} type="html">{_text(item.content)}</{tag}>'


def _filled(tag: str, text: str) -> Iterator[str]:
    if text:
        yield f"<{tag}>{text}</{tag}>"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub(" ", text))


def _rss_text(text: str) -> str:
    """Readers of RSS take text for HTML where it looks like it; such text is escaped once more."""
    return _text(text if plain(text, len(text)) == text else escape_html(text, quote=False))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub(" ", text))


def _at(lastmod: Lastmod) -> float:
    return lastmod.at


def _moment(lastmod: Lastmod) -> str:
    """Atom's dates are at least as fine as a second (RFC 3339)."""
    return dates.write_w3c(Lastmod(lastmod.at, max(lastmod.granularity, Granularity.SECOND)))

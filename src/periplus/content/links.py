"""Extracts the links of a page with their texts, its resources, and its relations (canonical, next, feeds, alternates).

Links are `<a>`, `<area>`, `<iframe>` and `<frame>`; resources are pictures, sound and video. All are resolved against
the page's base. A link within the page (an empty `href` or a bare fragment) has the URL of the page and is marked
(`Links.own`). URLs that cannot be fetched over HTTP (`javascript:`, `mailto:`, `data:`) are left out.

Reasons of the problems: `too-many-links`, `too-many-resources`: the rest was left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from periplus.formats.headers import read_links as read_link_headers
from periplus.model import AlternateLink, EmbeddedResource, LinkKind, Links, Problem, Relations, Url
from periplus.urls import resolve_all

from .facts import folded
from .scan.columns import MAX_ANCHOR, MAX_LINKS, MAX_MEDIA, Columns, HeadElement, Medium

_KINDS: Final = tuple(LinkKind)
# A URL runs to the next space, and commas at its end end it all; else descriptors run to a comma outside brackets.
_SRCSET_URL: Final = re.compile(r"[\s,]*+(\S++)")
_SRCSET_DESCRIPTORS: Final = re.compile(r"[^,(]*+(?:\([^)]*+\)?[^,(]*+)*,?")

Urls = list[Url | None]
"""URLs made canonical by `urls.resolve_all`, aligned with how they were written; `None` for what is not fetched."""


def links_of(columns: Columns, resolved: Urls, *, has_base: bool) -> tuple[Links, list[Problem]]:
    """The links of a page, given the targets of its unresolved links. With another base, none are within the page."""
    urls = cast("Urls", columns.urls)
    for (position, _), url in zip(columns.unresolved, resolved, strict=True):
        urls[position] = url
    rels = {position: rel for position, value in columns.rels.items() if (rel := _rel(value))} if columns.rels else {}
    kinds = {position: _KINDS[number] for position, number in columns.kinds.items()}
    links = Links(cast("list[Url]", urls), columns.anchors, rels, kinds, [] if has_base else columns.own)
    is_cut = len(urls) - len(columns.own) > MAX_LINKS
    if is_cut or None in resolved:
        kept = [position for position, url in enumerate(urls) if url is not None]
        beyond = [position for position in kept if position not in {*columns.own}][MAX_LINKS:] if is_cut else []
        links = links.at([position for position in kept if position not in beyond])
    return links, [Problem("too-many-links")] if is_cut else []


@lru_cache(maxsize=1024)
def _rel(value: str) -> str:
    """A `rel` attribute in lower case, one space between words. The web uses few different ones."""
    return " ".join(value.lower().split())


class Sources(NamedTuple):
    """Where pictures, sound and video are, as written, in columns of equal length."""

    hrefs: list[str]
    tags: list[str]
    texts: list[str]


def read_sources(media: Sequence[Medium]) -> Sources:
    """Pictures, sound and video, with what a `srcset` offers: each URL once an element, and a bounded number."""
    sources = Sources([], [], [])
    for tag, src, poster, srcset, alt in media:
        hrefs = [src.strip()]
        if poster or srcset:
            hrefs = list(dict.fromkeys([href.strip() for href in (src, poster, *srcset_urls(srcset))]))
        for href in hrefs:
            if href:
                sources.hrefs.append(href)
                sources.tags.append(tag)
                sources.texts.append(folded(alt, MAX_ANCHOR))
        if len(sources.hrefs) > MAX_MEDIA:
            break
    return sources


def resources_of(sources: Sources, urls: Urls) -> tuple[tuple[EmbeddedResource, ...], list[Problem]]:
    """The resources of a page, in document order."""
    columns = zip(urls[:MAX_MEDIA], sources.tags, sources.texts, strict=False)
    problems = [Problem("too-many-resources")] if len(urls) > MAX_MEDIA else []
    return tuple([EmbeddedResource(url, tag, text) for url, tag, text in columns if url is not None]), problems


def srcset_urls(srcset: str) -> list[str]:
    """The URLs of a `srcset`, as "parsing a srcset attribute" of the HTML Standard finds them."""
    urls: list[str] = []
    at = 0
    while at < len(srcset) and len(urls) < MAX_MEDIA:
        found = _SRCSET_URL.match(srcset, at)
        if found is None:
            break
        url = found[1].rstrip(",")
        at = found.end()
        if url == found[1] and (descriptors := _SRCSET_DESCRIPTORS.match(srcset, at)):
            at = descriptors.end()
        if url:
            urls.append(url)
    return urls


MAX_RELATIONS: Final = 2_000
_FEED_TYPES: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "text/rss+xml"}
)
_PREV: Final = {"previous": "prev"}
_NO_WORDS: Final = frozenset[str]()
_OURS: Final = frozenset({"canonical", "next", "prev", "previous", "amphtml", "alternate", "feed"})
_NONE: Final = Relations()
_MAX_WORD: Final = 256


class Relative(NamedTuple):
    """One relative of a page, as written."""

    rel: frozenset[str]
    href: str
    hreflang: str
    type: str
    media: str
    title: str


def read_relatives(elements: Sequence[HeadElement]) -> list[Relative]:
    """The relations in the `<link>` elements of a page."""
    relatives = []
    for _, attributes, _, _ in elements:
        if (rel := _ours(attributes.get("rel") or "")) and (href := attributes.get("href")):
            hreflang, type_, media, title = (
                (attributes.get(name) or "").strip()[:_MAX_WORD] for name in ("hreflang", "type", "media", "title")
            )
            relatives.append(Relative(rel, href, hreflang, type_.lower(), media, title))
    return relatives


def read_relations(relatives: list[Relative], urls: Urls, link_headers: Sequence[str], url: str) -> Relations:
    """The relations of a page, from its `<link>` elements, resolved, and the values of its `Link` headers (RFC 8288).

    The first target that can be resolved counts, elements before headers. An alternate with the type of a feed is a
    feed, an alternate stylesheet is ignored, and any other is a version of the page for other readers.
    """
    if link_headers:
        from_headers = _of_headers(link_headers, url)
        relatives = relatives + from_headers
        urls = urls + resolve_all([relative.href for relative in from_headers], url)
    if not relatives:
        return _NONE
    first: dict[str, Url] = {}
    alternates, feeds = [], []
    for relative, target in zip(relatives, urls, strict=True):
        if target is None:
            continue
        for word in relative.rel:
            first.setdefault(_PREV.get(word, word), target)
        if _is_feed(relative):
            feeds.append(_alternate(relative, target))
        elif "alternate" in relative.rel and "stylesheet" not in relative.rel:
            alternates.append(_alternate(relative, target))
    return Relations(
        canonical=first.get("canonical"),
        next=first.get("next"),
        prev=first.get("prev"),
        amphtml=first.get("amphtml"),
        alternates=tuple(alternates),
        feeds=tuple(feeds),
    )


@lru_cache(maxsize=1024)
def _ours(rel: str) -> frozenset[str]:
    """The words of a `rel`, if one of them is read here. The web uses few different ones."""
    words = frozenset(rel.lower().split())
    return _NO_WORDS if words.isdisjoint(_OURS) else words


def _of_headers(values: Sequence[str], url: str) -> list[Relative]:
    links = [link for link in read_link_headers(values, url) if link.anchor in ("", url)]
    return [
        Relative(frozenset(link.rel), link.url, hreflang, link.type.lower(), link.media, link.title)
        for link in links[:MAX_RELATIONS]
        for hreflang in link.hreflang or ("",)
    ]


def _is_feed(relative: Relative) -> bool:
    return "feed" in relative.rel or (
        "alternate" in relative.rel and relative.type.partition(";")[0].strip() in _FEED_TYPES
    )


def _alternate(relative: Relative, target: Url) -> AlternateLink:
    return AlternateLink(target, relative.hreflang, relative.type, relative.title, relative.media)

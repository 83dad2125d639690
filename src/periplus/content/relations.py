"""A page's relatives: what `<link>` elements and `Link` headers (RFC 8288) name as canonical, next, a feed, ...

The first that can be resolved counts, elements before headers. An alternate is a feed if its type is one, ignored if it
is a stylesheet, and otherwise the same page for other readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ..formats.headers import read_links as read_link_headers
from ..model import Alternate, Relations, Url
from ..urls import resolve_all
from .links import Urls
from .scan.columns import HeadElement

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
    """The relations of a page, from its `<link>` elements, resolved, and the values of its `Link` headers."""
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


def _alternate(relative: Relative, target: Url) -> Alternate:
    return Alternate(target, relative.hreflang, relative.type, relative.title, relative.media)

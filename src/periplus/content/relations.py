"""A page's relatives: what `<link>` elements and `Link` headers (RFC 8288) say is canonical, next, a feed, ...

The first that can be resolved counts, the page's own word before its server's. An alternate is a feed if its type is
one, a stylesheet if it says so (and then nothing to us), and the same page for other readers otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from ..formats.headers import read_links as read_link_headers
from ..model import Alternate, Relations, Url
from ..urls import resolve_all
from .links import Resolve

MAX_RELATIONS: Final = 2_000
_FEED_TYPES: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "text/rss+xml"}
)
_PREV: Final = frozenset({"prev", "previous"})
_OURS: Final = frozenset({"canonical", "next", "prev", "previous", "amphtml", "alternate", "feed"})
_NONE: Final = Relations()
_MAX_WORD: Final = 256


class _Said(NamedTuple):
    rel: frozenset[str]
    href: str
    hreflang: str
    type: str
    media: str
    title: str


def read_relations(nodes: Sequence[LexborNode], link_headers: Sequence[str], url: str, resolve: Resolve) -> Relations:
    """The relations of a page, from its `<link>` elements and the values of its `Link` headers."""
    said = [row for node in nodes[:MAX_RELATIONS] if (row := _of_element(node))]
    urls = resolve([row.href for row in said]) if said else []
    if link_headers:
        from_headers = _of_headers(link_headers, url)
        urls += resolve_all([row.href for row in from_headers], url)
        said += from_headers
    if not said:
        return _NONE
    rows = [(row, target) for row, target in zip(said, urls, strict=True) if target is not None]
    alternates = [(row, target) for row, target in rows if "alternate" in row.rel and "stylesheet" not in row.rel]
    return Relations(
        canonical=_first(rows, frozenset({"canonical"})),
        next=_first(rows, frozenset({"next"})),
        prev=_first(rows, _PREV),
        amphtml=_first(rows, frozenset({"amphtml"})),
        alternates=_alternates((row, target) for row, target in alternates if not _is_feed(row)),
        feeds=_alternates((row, target) for row, target in rows if _is_feed(row)),
    )


def _of_element(node: LexborNode) -> _Said | None:
    attributes = node.attributes
    said, href = attributes.get("rel"), attributes.get("href")
    if not said or not href or said == "stylesheet":
        return None
    rel = frozenset(said.lower().split())
    if rel.isdisjoint(_OURS):
        return None
    hreflang, type_, media, title = (
        (attributes.get(name) or "").strip()[:_MAX_WORD] for name in ("hreflang", "type", "media", "title")
    )
    return _Said(rel, href, hreflang, type_.lower(), media, title)


def _of_headers(values: Sequence[str], url: str) -> list[_Said]:
    links = [link for link in read_link_headers(values, url) if not link.anchor]
    return [
        _Said(frozenset(link.rel), link.url, hreflang, link.type.lower(), link.media, link.title)
        for link in links[:MAX_RELATIONS]
        for hreflang in link.hreflang or ("",)
    ]


def _first(rows: Iterable[tuple[_Said, Url]], rel: frozenset[str]) -> Url | None:
    return next((target for row, target in rows if not rel.isdisjoint(row.rel)), None)


def _is_feed(row: _Said) -> bool:
    return "feed" in row.rel or ("alternate" in row.rel and row.type.partition(";")[0].strip() in _FEED_TYPES)


def _alternates(rows: Iterable[tuple[_Said, Url]]) -> tuple[Alternate, ...]:
    return tuple(Alternate(target, row.hreflang, row.type, row.title, row.media) for row, target in rows)

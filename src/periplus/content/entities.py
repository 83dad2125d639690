"""What a page is about in the words of its structured data: JSON-LD, microdata, RDFa and Open Graph as `Entity` values.

An entity is an item that is not a property of another one, or is the `mainEntity` or `breadcrumb` of one. The tags of
Open Graph are one entity. Whatever a page writes, time grows with its length alone, and there are at most
`MAX_ENTITIES`; references between items of JSON-LD (`@id`) are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final

from msgspec import Struct

from periplus.formats.dates import read_w3c
from periplus.urls import resolve_all

from .structured_data import BAD_JSON, Item, json_items, marked_items, types_of

JSON_LD, MICRODATA, RDFA, OPEN_GRAPH = "json-ld", "microdata", "rdfa", "open-graph"
MAX_ENTITIES: Final = 200
"""Entities of a page; the rest is not read."""
_MAX_BLOCKS: Final = 100
_MAX_TEXT: Final = 500
_MAX_CRUMBS: Final = 20
_MAX_TAG: Final = 4000
"""Bytes of a tag that is looked at."""
_MAX_TAGS: Final = 2000
_NESTED: Final = ("mainEntity", "breadcrumb")
_NAMES: Final = ("name", "headline", "title")
_PUBLISHED: Final = ("datePublished", "uploadDate", "datePosted")
_SCRIPT: Final = re.compile(rb"<script\b[^<>]*\bld\+json\b", re.IGNORECASE)
_SCRIPT_END: Final = re.compile(rb"</script", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    rb"""(?<![\w:-])(property|name|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE
)
_GRAPH_NAMES: Final = frozenset(
    {"og:type", "og:title", "og:url", "og:updated_time", "article:published_time", "article:modified_time"}
)


class Entity(Struct, frozen=True):
    """Something that a page describes. Dates are POSIX times; `breadcrumbs` are names, from the site's root down."""

    syntax: str
    type: str
    name: str = ""
    url: str = ""
    published_at: float | None = None
    modified_at: float | None = None
    breadcrumbs: tuple[str, ...] = ()


def entities_of(html: bytes, url: str, *, wants_markup: bool = True) -> list[Entity]:
    """The entities of a page in UTF-8, those of JSON-LD first; without `wants_markup`, no microdata and RDFa.

    A page without any costs a search for the words that they need.
    """
    found = [*_of_scripts(html), *(_of_markup(html) if wants_markup else ()), *_of_graph(html)][:MAX_ENTITIES]
    targets = resolve_all([entity.url or "" for entity in found], url) if found else []
    return [
        Entity(
            each.syntax,
            each.type,
            each.name,
            (target or "") if each.url else "",
            each.published_at,
            each.modified_at,
            each.breadcrumbs,
        )
        for each, target in zip(found, targets, strict=True)
    ]


class PageSummary(Struct, frozen=True):
    """What a page says of itself as a whole: its path in the site, and when it was last modified."""

    breadcrumbs: tuple[str, ...] = ()
    modified_at: float | None = None

    def modified_before(self, fetched_at: float) -> float | None:
        """When it was last modified, unless that is after it was fetched."""
        return None if self.modified_at is None or self.modified_at > fetched_at else self.modified_at


def summary_of(html: bytes, url: str) -> PageSummary:
    """The path and the date of a page; markup is read only where it has a path that JSON-LD does not have."""
    found = entities_of(html, url, wants_markup=False)
    breadcrumbs = _longest(found)
    if not breadcrumbs and b"schema.org/BreadcrumbList" in html:
        found = entities_of(html, url)
        breadcrumbs = _longest(found)
    dates = [entity.modified_at for entity in found if entity.modified_at is not None]
    return PageSummary(breadcrumbs, max(dates, default=None))


def _longest(entities: list[Entity]) -> tuple[str, ...]:
    return max((entity.breadcrumbs for entity in entities), key=len, default=())


def _of_scripts(html: bytes) -> Iterator[Entity]:
    at = html.find(b"ld+json")
    for _ in range(_MAX_BLOCKS):
        tag = _SCRIPT.search(html, max(0, html.rfind(b"<", 0, at))) if at >= 0 else None
        start = html.find(b">", tag.end(), tag.end() + _MAX_TAG) + 1 if tag else 0
        end = _SCRIPT_END.search(html, start) if start else None
        if end is None:
            return
        try:
            for item, _ in json_items(html[start : end.start()]):
                yield from _entities(item, JSON_LD)
        except BAD_JSON:
            pass
        at = html.find(b"ld+json", end.end())


def _of_markup(html: bytes) -> Iterator[Entity]:
    if b"itemscope" in html or (b"typeof" in html and b"schema.org" in html):
        found = marked_items(html)
        for syntax, items in ((MICRODATA, found.microdata), (RDFA, found.rdfa)):
            for item in items:
                yield from _entities(item, syntax)


def _entities(item: Item, syntax: str, depth: int = 0) -> Iterator[Entity]:
    if any(not key.startswith("@") for key in item):
        written = item.get("@type")
        types = [name for name in types_of(item) if name] or [_text(written)]
        yield Entity(
            syntax,
            types[0][:_MAX_TEXT],
            next(filter(None, (_text(item.get(key)) for key in _NAMES)), ""),
            _address(item),
            next(filter(None, (_date(item.get(key)) for key in _PUBLISHED)), None),
            _date(item.get("dateModified")),
            _crumbs(item) if "BreadcrumbList" in types else (),
        )
    if depth < len(_NESTED):
        for key in _NESTED:
            for value in _listed(item.get(key)):
                if isinstance(value, dict):
                    yield from _entities(value, syntax, depth + 1)


def _of_graph(html: bytes) -> Iterator[Entity]:
    """The tags of Open Graph in the head of a page, as one entity."""
    if b"og:" not in html:
        return
    values: dict[str, str] = {}
    end = html.find(b"</head")
    for tag in (html[:end] if end >= 0 else html).split(b"<meta")[1:_MAX_TAGS]:
        if b"og:" in tag or b"article:" in tag:
            name, content = _meta(tag[:_MAX_TAG].partition(b">")[0])
            if name in _GRAPH_NAMES and content:
                values.setdefault(name, content)
    if any(name.startswith("og:") for name in values):
        published, modified = values.get("article:published_time"), values.get("article:modified_time")
        yield Entity(
            OPEN_GRAPH,
            values.get("og:type", ""),
            values.get("og:title", ""),
            values.get("og:url", ""),
            _date(published),
            _date(modified or values.get("og:updated_time")),
        )


def _meta(tag: bytes) -> tuple[str, str]:
    """The name and the content of a `<meta>` tag."""
    written = {found[1].lower(): found[2] or found[3] or found[4] or b"" for found in _ATTRIBUTE.finditer(tag)}
    name = (written.get(b"property") or written.get(b"name") or b"").strip().lower().decode("utf-8", "replace")
    return name, _text(unescape(written.get(b"content", b"").decode("utf-8", "replace")))


def _listed(value: Any) -> list[Any]:
    return value[:MAX_ENTITIES] if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    """A value as text: the first of several, and the text of a language."""
    for _ in range(3):
        if isinstance(value, list):
            value = value[0] if value else ""
        elif isinstance(value, dict):
            value = value.get("@value") or value.get("name") or ""
    return " ".join(value[: 4 * _MAX_TEXT].split())[:_MAX_TEXT] if isinstance(value, str) else ""


def _address(item: Item) -> str:
    written = item.get("url") or item.get("@id")
    value = written[0] if isinstance(written, list) and written else written
    if isinstance(value, dict):
        value = value.get("@id") or value.get("url")
    return value if isinstance(value, str) and len(value) <= _MAX_TAG and not value.startswith(("#", "_:")) else ""


def _date(value: Any) -> float | None:
    found = read_w3c(_text(value))
    return None if found is None else found.at


def _crumbs(item: Item) -> tuple[str, ...]:
    """The names of a list of breadcrumbs, in the order of their positions, where they have those."""
    found = []
    for number, each in enumerate(_listed(item.get("itemListElement"))[:_MAX_CRUMBS]):
        if isinstance(each, dict):
            inner = _listed(each.get("item"))[0] if each.get("item") else None
            name = _text(each.get("name")) or (_text(inner.get("name")) if isinstance(inner, dict) else "")
            if name:
                found.append((_position(each.get("position"), number), number, name))
    return tuple(name for _, _, name in sorted(found))


def _position(value: Any, number: int) -> float:
    if isinstance(value, list):
        value = value[0] if value else None
    try:
        at = float(value)
    except (TypeError, ValueError, OverflowError):
        return number
    return at if at == at else number

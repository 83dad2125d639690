"""Structured data of a page: JSON-LD, microdata and RDFa as one kind of items, dictionaries with lists of values.

Keys with `@` are those of JSON-LD, and `@line` is where an item of the markup begins. What is wrong with items is
judged by `apps.audit.structured_data`; what they say of a page is in `entities`. Memory and time are bounded by the
length of the page: a block of JSON-LD has at most `MAX_SCRIPT` bytes, and of its items `MAX_ITEMS` are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec
from lxml import etree

Item = dict[str, Any]

MAX_ITEMS: Final = 1000
"""Items of a page that are looked at."""
MAX_REFERENCES: Final = 50
"""References to properties elsewhere (`itemref`) that are followed, of a page."""
MAX_SCRIPT: Final = 1 << 20
"""Bytes of a block of JSON-LD."""
MAX_DEPTH: Final = 20
"""Items within items that are looked at."""
BAD_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `json_items` raises for a block that is not JSON."""
_MAX_VALUE: Final = 200
"""Characters of a text that is a value."""
_SCHEMA: Final = re.compile(r"https?://(?:www\.)?schema\.org/?(.*)", re.IGNORECASE)
_WRAPPERS: Final = re.compile(
    rb"^\s*(?:<!--|(?://|/\*)?\s*<!\[CDATA\[(?:\s*\*/)?)|(?:-->|(?://|/\*)?\s*\]\]>(?:\s*\*/)?)\s*$"
)
_LINKED: Final = {
    "a": "href", "area": "href", "link": "href", "img": "src", "audio": "src", "embed": "src", "iframe": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip


class MarkedItems(NamedTuple):
    """The items in the attributes of a page that are not a property of another one.

    `stray` is the line of the first `itemtype` that is not on an item.
    """

    microdata: list[Item]
    rdfa: list[Item]
    stray: int | None = None


def json_items(source: bytes) -> Iterator[tuple[Item, object]]:
    """The items of a block of JSON-LD, those of a graph one by one, each with its context; raises `BAD_JSON`."""
    text = source.strip()
    if not (text.startswith((b"{", b"[")) and text.endswith((b"}", b"]"))):
        text = _WRAPPERS.sub(b"", text).strip()
    if not text or len(text) > MAX_SCRIPT:
        return
    data = msgspec.json.decode(text)
    tops = [top for top in (data if isinstance(data, list) else [data]) if isinstance(top, dict)]
    for top in tops[:MAX_ITEMS]:
        graph = top.get("@graph")
        items = graph if isinstance(graph, list) and "@type" not in top else [top]
        for item in items[:MAX_ITEMS]:
            if isinstance(item, dict):
                yield item, item.get("@context", top.get("@context"))


def types_of(item: Mapping[str, Any]) -> list[str]:
    """The types of an item: names of schema.org; an empty name for a type of another vocabulary."""
    written = item.get("@type")
    names = written if isinstance(written, list) else [written] if written else []
    return [_short(str(name)) for name in names]


def _short(name: str) -> str:
    """The name of a type of schema.org; empty for types of other vocabularies."""
    found = _SCHEMA.fullmatch(name)
    name = found[1] if found else name.removeprefix("schema:")
    return "" if ":" in name or "/" in name else name


def marked_items(html: bytes) -> MarkedItems:
    """The microdata of a page in UTF-8, and its RDFa of schema.org."""
    try:
        parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
        root: Any = etree.fromstring(html, parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        return MarkedItems([], [])
    marked = root.xpath("//*[@itemscope or @itemtype or @itemprop or @typeof or @property]")
    strays = (each.sourceline for each in marked if each.get("itemtype") is not None and each.get("itemscope") is None)
    return MarkedItems(_microdata(marked), _rdfa(marked), next(strays, None))


def _microdata(marked: list[Any]) -> list[dict[str, Any]]:
    """The items that are not a property of another one, with the properties elsewhere that `itemref` names."""
    scopes = (each for each in marked if each.get("itemscope") is not None and each.get("itemprop") is None)
    tops = list(islice(scopes, MAX_ITEMS))
    references = islice(((name, top) for top in tops for name in str(top.get("itemref") or "").split()), MAX_REFERENCES)
    referring: dict[str, list[Any]] = {}
    for name, top in references:
        referring.setdefault(name, []).append(top)
    return _items(marked, tops, "itemscope", "itemprop", "itemtype", referring)


def _rdfa(marked: list[Any]) -> list[dict[str, Any]]:
    tops = []
    for element in [each for each in marked if each.get("typeof") is not None and each.get("property") is None][
        :MAX_ITEMS
    ]:
        vocabularies = [str(each.get("vocab")) for each in element.xpath("ancestor-or-self::*[@vocab]")]
        if vocabularies and "schema.org" in vocabularies[-1].lower():
            tops.append(element)
    return _items(marked, tops, "typeof", "property", "typeof")


def _items(
    marked: list[Any],
    tops: list[Any],
    marker: str,
    property_name: str,
    type_name: str,
    referring: Mapping[str, list[Any]] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The items of these elements, with the items in them.

    A property belongs to the nearest item around it, and to the items of `referring`, by the `id` that they refer to.
    These are not properties themselves, so that no item is within itself.
    """
    if not tops:
        return []
    scopes = {each: _new_item(each, type_name) for each in marked if each.get(marker) is not None}
    for element in marked:
        names = str(element.get(property_name) or "").split()
        owners = dict.fromkeys(_owners(element, scopes, referring)) if names else ()
        if owners:
            value = scopes[element] if element in scopes else _value(element)
            for owner in owners:
                for name in names:
                    scopes[owner].setdefault(name.removeprefix("schema:"), []).append(value)
    return [scopes[top] for top in tops]


def _owners(element: Any, scopes: Mapping[Any, Item], referring: Mapping[str, list[Any]]) -> Iterator[Any]:
    """The elements of the items that a property belongs to."""
    for place in chain([element], element.iterancestors()):
        if place is not element and place in scopes:
            yield place
            return
        if referring:
            yield from referring.get(place.get("id") or "", ())


def _new_item(scope: Any, type_name: str) -> dict[str, Any]:
    types = str(scope.get(type_name) or "").split()
    return {"@line": scope.sourceline, "@type": types} if types else {"@line": scope.sourceline}


def _value(element: Any) -> str:
    content = element.get("content")
    if content is None and (linked := element.get(_LINKED.get(str(element.tag), "resource"))) is not None:
        content = linked or "."
    if content is None and element.tag in ("time", "data", "meter"):
        content = element.get("datetime") or element.get("value")
    if content is not None:
        return str(content)
    text = ""
    for part in element.itertext():
        text = (text + str(part)).lstrip()
        if len(text) > _MAX_VALUE:
            break
    return text[:_MAX_VALUE].rstrip()
